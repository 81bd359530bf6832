#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "job/repair_job.hpp"
#include "job/verify/verify_result.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/run/manifest.hpp"
#include "support/job_support.hpp"

namespace bulksim::test {
namespace {

FileCalls& calls = system_file_calls();
Log& log() {
  static Log quiet({.level = LogLevel::kError});
  return quiet;
}

Verdict look(const std::string& path, VerifyDepth depth = VerifyDepth::kFull) {
  VerifyOptions options;
  options.path = path;
  options.depth = depth;
  options.threads = 2;
  return verify(calls, options, log());
}

/// Changes bytes of a published file in place.
void patch(const std::string& path, std::int64_t at, const std::string& bytes) {
  std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(at);
  file.write(bytes.data(), std::ssize(bytes));
}

std::uint64_t seed() {
  const char* given = std::getenv("BULKSIM_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261130;
}

class Verify : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(bench.run(), 0) << bench.sentence; }

  JobBench bench;
};

TEST_F(Verify, AnIntactResultIsCleanAndMatchesItsInputs) {
  VerifyOptions options;
  options.path = bench.config.output;
  options.against_items = bench.config.items;
  options.against_queries = bench.config.queries;

  const Verdict verdict = verify(calls, options, log());

  EXPECT_TRUE(verdict.damage.empty());
  EXPECT_EQ(verdict.tiles, 4 * 12);
  EXPECT_EQ(verdict.cells, 4 * 12 * 64);
}

TEST_F(Verify, ReportsTheFileOfAnyFlippedBitAndTheTileOfThoseInTiles) {
  const std::string version = bench.version();
  std::vector<std::string> names;
  for (const auto& [name, content] : bench.files())
    names.push_back(name);
  Random random(seed());
  for (int round = 0; round < 1'000; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", round " + std::to_string(round));
    const std::string& name = names[static_cast<std::size_t>(random.below(std::ssize(names)))];
    const std::string path = version + "/" + name;
    const auto at = random.below(static_cast<std::int64_t>(std::filesystem::file_size(path)));
    std::string byte(1, '\0');
    std::ifstream(path, std::ios::binary).seekg(at).read(byte.data(), 1);
    const std::string flipped(1, static_cast<char>(byte[0] ^ (1 << random.below(8))));

    patch(path, at, flipped);
    const Verdict verdict = look(bench.config.output);
    patch(path, at, byte);

    const auto named = std::find_if(verdict.damage.begin(), verdict.damage.end(),
                                    [&](const Damage& damage) { return damage.file == name; });
    ASSERT_NE(named, verdict.damage.end()) << name << " at " << at;
    if (name.starts_with("parts/") && at >= (1 << 20)) {
      ASSERT_EQ(verdict.damage.size(), 1U);
      ASSERT_TRUE(named->tile);
      ASSERT_LE(named->offset, at);
      ASSERT_LT(at, named->offset + 4 * 32 * 256);
    }
  }
  EXPECT_TRUE(look(bench.config.output).damage.empty());
}

TEST_F(Verify, FindsFilesThatAreMissingEmptyTruncatedTooLongUnexpectedOrLinks) {
  const std::string part = bench.version() + "/parts/part-00002.h5";
  const std::string whole = read_file(part);
  const auto found = [&] {
    for (const VerifyDepth depth : {VerifyDepth::kQuick, VerifyDepth::kFull}) {
      const Verdict verdict = look(bench.config.output, depth);
      if (verdict.damage.empty() || verdict.damage[0].file != "parts/part-00002.h5") return false;
    }
    return true;
  };
  const auto becomes = [&](const std::string& content) {
    std::filesystem::remove(part);
    std::ofstream(part, std::ios::binary) << content;
    return found();
  };

  EXPECT_TRUE(becomes(""));
  EXPECT_TRUE(becomes(whole.substr(0, whole.size() / 2)));
  EXPECT_TRUE(becomes(whole + "x"));
  EXPECT_TRUE(becomes(std::string(whole.size(), 'x')));
  EXPECT_TRUE(becomes(read_file(bench.version() + "/parts/part-00001.h5") + whole));
  std::filesystem::remove(part);
  EXPECT_TRUE(found());
  std::filesystem::create_symlink("part-00001.h5", part);
  EXPECT_TRUE(found());
  std::filesystem::remove(part);
  EXPECT_FALSE(becomes(whole));
  std::ofstream(bench.version() + "/parts/part-00009.h5") << "x";
  EXPECT_EQ(look(bench.config.output).damage.at(0).file, "parts/part-00009.h5");
}

TEST_F(Verify, InputsOfAnotherResultAreRefused) {
  VerifyOptions options;
  options.path = bench.config.output;
  options.against_items = bench.config.items;

  const auto check = [&] { verify(calls, options, log()); };

  expect_error(ExitCode::kDataError, {"items.csr", "does not contain the rows"}, check);
}

TEST_F(Verify, RepairRestoresTheSameBytesAndSharesIntactParts) {
  const auto before = bench.files();
  const std::string damaged = bench.version();
  patch(damaged + "/parts/part-00001.h5", (1 << 20) + 50'000, "damage");
  std::filesystem::remove(damaged + "/parts/part-00003.h5");
  JobConfig config = bench.config;
  config.items.clear();
  config.queries.clear();
  Log log({.level = LogLevel::kError});

  run_repair(config, {bench.mpi, calls, log});

  EXPECT_NE(bench.version(), damaged);
  EXPECT_EQ(bench.files(), before);
  EXPECT_TRUE(look(bench.config.output).damage.empty());
  EXPECT_EQ(std::filesystem::hard_link_count(bench.version() + "/parts/part-00000.h5"), 2U);
  EXPECT_EQ(std::filesystem::hard_link_count(bench.version() + "/parts/part-00001.h5"), 1U);
}

TEST_F(Verify, RepairFindsRelativeInputsFromAnotherFolder) {
  const auto before = bench.files();
  std::filesystem::remove_all(bench.config.output);
  const auto home = std::filesystem::current_path();
  std::filesystem::current_path(bench.folder.path());
  bench.config.items = "items.csr";
  bench.config.queries = "queries.csr";
  const int code = bench.run();
  std::filesystem::current_path(home);
  ASSERT_EQ(code, 0) << bench.sentence;
  std::filesystem::remove(bench.version() + "/parts/part-00003.h5");
  JobConfig config;
  config.output = bench.config.output;

  run_repair(config, {bench.mpi, calls, log()});

  EXPECT_EQ(bench.files(), before);
}

struct PairForm {
  const char* name;
  const char* output;
  PairFilterSpec filter;
};

class VerifyPairs : public testing::TestWithParam<PairForm> {
 protected:
  void SetUp() override {
    bench.config.output = bench.folder / GetParam().output;
    bench.config.filter = GetParam().filter;
    ASSERT_EQ(bench.run(), 0) << bench.sentence;
  }
  std::string file() const {
    const std::string& output = bench.config.output;
    return std::filesystem::is_directory(output) ? output + "/CURRENT/similarity.h5" : output;
  }
  bool is_text() const { return bench.config.output.ends_with(".tsv"); }
  Verdict hold_against_inputs() const {
    VerifyOptions options;
    options.path = bench.config.output;
    options.against_items = bench.config.items;
    options.against_queries = bench.config.queries;
    return verify(calls, options, log());
  }

  JobBench bench;
};

TEST_P(VerifyPairs, AnIntactResultIsCleanAndMatchesItsInputs) {
  const Verdict read = look(bench.config.output);
  EXPECT_TRUE(read.damage.empty());
  EXPECT_EQ(read.has_checksum, !is_text());

  const Verdict verdict = hold_against_inputs();
  EXPECT_TRUE(verdict.damage.empty());
  EXPECT_EQ(verdict.cells, 64 * 3'000);
}

TEST_P(VerifyPairs, OfATruncatedFileAreDamaged) {
  const std::string path = file();
  std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) * 9 / 10 + 1);

  EXPECT_FALSE(look(bench.config.output).damage.empty());
}

class RepairPairs : public VerifyPairs {};

TEST_P(RepairPairs, RepairTakesThePairsFromThePlanAndTheInputsFromTheReport) {
  const auto before = bench.files();
  const std::string damaged = bench.version();
  patch(damaged + "/similarity.h5", 3'000, "damage");
  JobConfig config;
  config.output = bench.config.output;
  config.threads = 2;

  run_repair(config, {bench.mpi, calls, log()});

  EXPECT_NE(bench.version(), damaged);
  EXPECT_EQ(bench.files(), before);
}

TEST_P(RepairPairs, RepairRefusesOtherInputs) {
  const std::string damaged = bench.version();
  patch(damaged + "/similarity.h5", 3'000, "damage");
  JobConfig config;
  config.output = bench.config.output;
  config.items = bench.config.queries;

  const auto repair = [&] { run_repair(config, {bench.mpi, calls, log()}); };

  expect_error(ExitCode::kDataError, {"queries.csr", "not the inputs"}, repair);
  EXPECT_EQ(bench.version(), damaged);
}

INSTANTIATE_TEST_SUITE_P(
    Folders, RepairPairs,
    testing::Values(PairForm{"Folder", "out", {.at_least = 0.4F}},
                    PairForm{"Nonzero", "out", {.nonzero_only = true}},
                    PairForm{"Best", "out", {.keep = Keep::kBest, .count = 7}},
                    PairForm{"Sample", "out", {.keep = Keep::kSample, .count = 5, .seed = 1}}),
    [](const auto& form) { return std::string(form.param.name); });

INSTANTIATE_TEST_SUITE_P(
    Forms, VerifyPairs,
    testing::Values(PairForm{"Folder", "out", {.at_least = 0.4F}},
                    PairForm{"File", "out.h5", {.at_least = 0.4F}},
                    PairForm{"Archive", "out.npz", {.at_least = 0.4F}},
                    PairForm{"Text", "out.tsv", {.at_least = 0.4F}},
                    PairForm{"Nonzero", "out", {.nonzero_only = true}},
                    PairForm{"Best", "out", {.keep = Keep::kBest, .count = 7}},
                    PairForm{"BestFile", "out.h5", {.keep = Keep::kBest, .count = 7}},
                    PairForm{"Sample", "out", {.keep = Keep::kSample, .count = 5, .seed = 1}}),
    [](const auto& form) { return std::string(form.param.name); });

TEST(VerifyPairFile, AWrongScoreIsFoundInASingleFile) {
  JobBench bench;
  bench.config.output = bench.folder / "out.h5";
  bench.config.filter = PairFilterSpec{.keep = Keep::kBest, .count = 7};
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  std::vector<std::int64_t> items;
  std::vector<float> scores;
  PairFileReader::open(calls, bench.config.output)->read({0, 1}, items, scores);
  const std::string first(reinterpret_cast<const char*>(scores.data()), 7 * sizeof(float));
  const auto at = read_file(bench.config.output).find(first);
  ASSERT_NE(at, std::string::npos);
  patch(bench.config.output, static_cast<std::int64_t>(at) + 4 * 6, std::string(2, '\0'));

  VerifyOptions options;
  options.path = bench.config.output;
  options.against_items = bench.config.items;
  options.against_queries = bench.config.queries;
  const Verdict verdict = verify(calls, options, log());

  ASSERT_EQ(verdict.damage.size(), 2U);
  EXPECT_NE(verdict.damage[0].what.find("'topk/scores' differs"), std::string::npos)
      << verdict.damage[0].what;
  EXPECT_NE(verdict.damage[1].what.find("query 0 has a wrong score"), std::string::npos)
      << verdict.damage[1].what;
}

TEST(VerifyFile, ReportsTheTileOfAFlippedBitInASingleFile) {
  JobBench bench;
  bench.config.output = bench.folder / "result.h5";
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  ASSERT_TRUE(look(bench.config.output).damage.empty());
  const std::string whole = read_file(bench.config.output);
  Random random(seed());

  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed()) + ", round " + std::to_string(round));
    const std::int64_t most = round % 2 == 0 ? std::ssize(whole) : 200'000;
    const auto at = static_cast<std::size_t>(random.below(most));
    const std::string flipped(1, static_cast<char>(whole[at] ^ (1 << random.below(8))));
    patch(bench.config.output, static_cast<std::int64_t>(at), flipped);
    const Verdict verdict = look(bench.config.output);
    patch(bench.config.output, static_cast<std::int64_t>(at), whole.substr(at, 1));
    ASSERT_EQ(verdict.damage.size(), 1U) << "byte " << at;
    ASSERT_EQ(verdict.damage[0].tile.has_value(), at >= (1 << 20)) << "byte " << at;
  }
}

}  // namespace
}  // namespace bulksim::test
