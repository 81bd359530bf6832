#include "storage/run/manifest.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/core/checksum.hpp"
#include "storage/parts/tile_index.hpp"
#include "support/storage_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::expect_error;
using test::TemporaryFolder;

Manifest example() {
  return {.plan = "0123456789abcdef0123456789abcdef",
          .files = {{"parts/part-00000.h5", 1048640, 1048576, {1, 2}},
                    {"similarity.h5", 5000, 5000, {3, 4}},
                    {"tiles.idx", 32, 32, {0, UINT64_MAX}}}};
}

/// The text of the example with `from` replaced by `to`.
std::string altered(const std::string& from, const std::string& to) {
  std::string text = example().to_json();
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Manifest, RoundTripsThroughText) {
  const Manifest manifest = example();

  EXPECT_EQ(Manifest::from_json(manifest.to_json()), manifest);
}

TEST(Manifest, TextDoesNotDependOnTheOrderOfFiles) {
  Manifest reversed = example();
  std::swap(reversed.files.front(), reversed.files.back());

  EXPECT_EQ(reversed.to_json(), example().to_json());
}

struct BadText {
  std::string name;
  std::string text;
};

void PrintTo(const BadText& bad, std::ostream* out) {
  *out << bad.name;
}

class BadManifest : public testing::TestWithParam<BadText> {};

TEST_P(BadManifest, IsRefusedAsDamaged) {
  const auto parse = [] { Manifest::from_json(GetParam().text); };

  expect_error(ExitCode::kDataError, {}, parse);
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryKind, BadManifest,
    testing::Values(BadText{"empty", ""}, BadText{"no_object", "[]\n"},
                    BadText{"truncated", example().to_json().substr(0, 200)},
                    BadText{"one_byte_more", example().to_json() + " "},
                    BadText{"no_plan", altered("\"plan\"", "\"plane\"")},
                    BadText{"plan_not_hex", altered("0123456789abcdef", "0123456789abcdeg")},
                    BadText{"format_2", altered("\"format\": 1", "\"format\": 2")},
                    BadText{"upwards", altered("similarity.h5", "../../etc/x")},
                    BadText{"absolute", altered("similarity.h5", "/etc/x")},
                    BadText{"hidden", altered("similarity.h5", ".similarity")},
                    BadText{"control_letter", altered("similarity.h5", "sim\\nilarity")},
                    BadText{"nul", altered("similarity.h5", "sim\\u0000x")},
                    BadText{"not_utf8", altered("similarity.h5", "sim\xff")},
                    BadText{"long_name", altered("similarity.h5", std::string(65, 'x'))},
                    BadText{"twice", altered("tiles.idx", "similarity.h5")},
                    BadText{"negative", altered("5000", "-5000")},
                    BadText{"fraction", altered("5000", "5000.5")},
                    BadText{"beyond_63_bits", altered("5000", "18446744073709551615")},
                    BadText{"digest_beyond_file", altered("1048576", "1048641")},
                    BadText{"another_key", altered("\"format\"", "\"extra\": 1,\n \"format\"")},
                    BadText{"deep", std::string(100000, '[')}),
    testing::PrintToStringParamName());

TEST(DescribeFile, ReturnsSizeAndDigestOfTheFirstBytes) {
  const TemporaryFolder folder;
  const std::string content(3000000, 'x');
  replace_file(system_file_calls(), folder / "f", content);

  const ManifestFile all = describe_file(system_file_calls(), folder.path(), "f");
  const ManifestFile head = describe_file(system_file_calls(), folder.path(), "f", 2000000);

  const auto digest = [&](std::size_t bytes) {
    return digest_of(std::as_bytes(std::span(content).first(bytes)));
  };
  EXPECT_EQ(all, (ManifestFile{"f", 3000000, 3000000, digest(3000000)}));
  EXPECT_EQ(head, (ManifestFile{"f", 3000000, 2000000, digest(2000000)}));
}

TEST(TileIndex, RoundTripsThroughBytes) {
  const std::vector<Digest> tiles{{1, 2}, {UINT64_MAX, 0}, {5, 6}};

  const std::string bytes = encode_tile_index(tiles);

  EXPECT_EQ(bytes.size(), 16U + 3 * 16);
  EXPECT_EQ(bytes.substr(0, 8), "BSTILES1");
  EXPECT_EQ(decode_tile_index(bytes), tiles);
  EXPECT_EQ(decode_tile_index(encode_tile_index({})), std::vector<Digest>{});
}

TEST(TileIndex, TruncatedForeignOrMiscountedBytesAreRefused) {
  const std::string good = encode_tile_index({{1, 2}, {3, 4}});
  std::string foreign = good;
  foreign[0] = 'X';
  std::string miscounted = good;
  miscounted[8] = 3;
  std::string huge = good;
  huge[15] = 0x7f;

  for (const std::string& bytes : {std::string(), good.substr(0, 10), good.substr(0, 40),
                                   good + "x", foreign, miscounted, huge}) {
    const auto decode = [&] { decode_tile_index(bytes); };
    expect_error(ExitCode::kDataError, {"tiles.idx"}, decode);
  }
}

}  // namespace
}  // namespace bulksim
