#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/npz_support.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

/// A file that must be refused: its name, its bytes and a part of the message.
struct BadInput {
  std::string name;
  std::string bytes;
  std::string says;
};

template <class T>
std::string with_number(std::string bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
  return bytes;
}

/// A file of 3 rows, 5 columns and 4 entries: header, offsets at 24, columns at 56, values at 72.
std::string good_spmat(const std::string& folder) {
  write_csr(folder + "/good.csr", matrix_of(5, {{{0, 1.0}, {4, 2.0}}, {{1, 3.0}}, {{2, 4.0}}}));
  return read_file(folder + "/good.csr");
}

std::string byte_swapped(std::string bytes) {
  for (std::size_t at = 0; at + 8 <= 56; at += 8)
    std::reverse(bytes.begin() + static_cast<long>(at), bytes.begin() + static_cast<long>(at) + 8);
  return bytes;
}

std::vector<BadInput> bad_spmats(const std::string& folder) {
  const std::string good = good_spmat(folder);
  const std::string far = "takes";
  return {
      {"short8.csr", good.substr(0, good.size() - 8), far},
      {"short1.csr", good.substr(0, good.size() - 1), far},
      {"long1.csr", good + "x", far},
      {"long8.csr", good + "12345678", far},
      {"gzip.csr", "\x1f\x8b" + good, "gzip"},
      {"rows_negative.csr", with_number<std::int64_t>(good, 0, -3), "-3"},
      {"nnz_negative.csr", with_number<std::int64_t>(good, 16, -4), "-4"},
      {"rows_huge.csr", with_number<std::int64_t>(good, 0, std::int64_t{1} << 60), "1152921504606"},
      {"nnz.csr", with_number<std::int64_t>(good, 16, std::int64_t{1} << 31), "2147483648"},
      {"first_offset.csr", with_number<std::int64_t>(good, 24, 1), "row"},
      {"decrease.csr", with_number<std::int64_t>(good, 32, 4), "not monotone at row 1"},
      {"wrapped_offsets.csr", with_number<std::int64_t>(good, 32, -2147483640),
       "not monotone at row 0"},
      {"last_offset.csr", with_number<std::int64_t>(good, 48, 3), "4"},
      {"column_5.csr", with_number<std::int32_t>(good, 60, 5), "row 0, entry 1"},
      {"column_minus_1.csr", with_number<std::int32_t>(good, 64, -1), "row 1, entry 0"},
      {"nan.csr", with_number<float>(good, 84, NAN), "row 2, entry 0"},
      {"swapped.csr", byte_swapped(good), "byte"},
      {"empty.csr", "", "header"},
  };
}

/// A csr archive with one member in place of its own, or without it.
std::string npz_with(const std::string& member, const std::string& content) {
  ZipWriter zip;
  const std::pair<std::string, std::string> members[] = {
      {"indices.npy", npy_of("<i4", std::vector<int>{0, 4, 1, 2})},
      {"indptr.npy", npy_of("<i4", std::vector<int>{0, 2, 3, 4})},
      {"format.npy", npy("|S3", "", "csr")},
      {"shape.npy", npy_of("<i8", std::vector<int>{3, 5})},
      {"data.npy", npy_of("<f4", std::vector<int>{1, 2, 3, 4})}};
  for (const auto& [name, own] : members) {
    const std::string& bytes = name == member ? content : own;
    if (!bytes.empty()) zip.add(name, bytes);
  }
  return zip.finish();
}

std::vector<BadInput> bad_npzs() {
  const std::string good = npz_with("", "");
  std::string unclosed = npy_of("<f4", std::vector<int>{1, 2, 3, 4});
  unclosed[unclosed.find('}')] = ' ';
  std::string damaged = good;
  damaged[damaged.find("data.npy") + 150] ^= 0x55;
  std::vector<BadInput> bad = {
      {"cut.npz", good.substr(0, good.size() / 2), ""},
      {"empty.npz", "", ""},
      {"crc.npz", damaged, "data.npy"},
      {"complex.npz", npz_with("data.npy", npy("<c8", "4,", std::string(32, '\0'))), "<c8"},
      {"pickle.npz", npz_with("data.npy", npy("|O", "4,", std::string(32, '\0'))), "pickle"},
      {"bsr.npz", npz_with("format.npy", npy("|S3", "", "bsr")), "bsr"},
      {"dia.npz", npz_with("format.npy", npy("|S3", "", "dia")), "dia"},
      {"shape3.npz", npz_with("shape.npy", npy_of("<i8", std::vector<int>{3, 5, 1})), "shape.npy"},
      {"indptr3.npz", npz_with("indptr.npy", npy_of("<i4", std::vector<int>{0, 2, 4})),
       "indptr.npy"},
      {"wrapped_offsets.npz",
       npz_with("indptr.npy",
                npy_of("<i4", std::vector<std::int64_t>{0, 2147483647, -2147483640, 4})),
       "not monotone at row 0"},
      {"unclosed.npz", npz_with("data.npy", unclosed), "data.npy"},
      {"short_data.npz", npz_with("data.npy", npy("<f4", "4,", std::string(12, '\0'))), "data.npy"},
      {"column.npz", npz_with("indices.npy", npy_of("<i4", std::vector<int>{0, 5, 1, 2})),
       "row 0, entry 1"},
      {"nan.npz", npz_with("data.npy", npy_of("<f4", std::vector<double>{1, 2, 3, NAN})),
       "row 2, entry 0"},
  };
  for (const char* member : {"indices.npy", "indptr.npy", "format.npy", "shape.npy", "data.npy"}) {
    bad.push_back({std::string("without_") + member + ".npz", npz_with(member, ""), member});
  }
  return bad;
}

std::vector<BadInput> bad_jsonls() {
  const auto second = [](const std::string& line) {
    return "{\"id\":1,\"vector\":{\"a\":1}}\n" + line;
  };
  return {
      {"cut.jsonl", second("{\"id\":2,\"vector\":{\"a\":1}"), "line 2"},
      {"same_id.jsonl", second("{\"id\":1,\"vector\":{\"a\":1}}"), "the id '1'"},
      {"nan.jsonl", second("{\"id\":2,\"vector\":{\"a\":NaN}}"), "line 2"},
      {"infinity.jsonl", second("{\"id\":2,\"vector\":{\"a\":Infinity}}"), "line 2"},
      {"text_weight.jsonl", second("{\"id\":2,\"vector\":{\"a\":\"1.5\"}}"), "key 'a'"},
      {"no_vector.jsonl", second("{\"id\":2}"), "no \"vector\""},
      {"null_vector.jsonl", second("{\"id\":2,\"vector\":null}"), "null"},
      {"dense.jsonl", second("{\"id\":2,\"vector\":[0.1,0.2]}"), "dense"},
      {"utf8.jsonl", second("{\"id\":2,\"vector\":{\"\xff\":1}}"), "UTF-8"},
      {"gzip.jsonl.gz", "no gzip at all", "not compressed by gzip"},
      {"empty.jsonl", "", "no vector"},
      {"zero.jsonl", second("{\"id\":\"a\\u0000\",\"vector\":{}}"), "zero byte"},
  };
}

/// Runs the program as a user would, without a launcher.
class BadInputs : public testing::Test {
 protected:
  int run(const std::string& words) {
    const std::string command =
        "cd '" + folder_.path() + "' && '" + BULKSIM_PROGRAM + "' " + words + " >out.txt 2>err.txt";
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  /// compute exits with 65 and one message with the file name, and nothing is written.
  void expect_refused(const BadInput& bad) {
    write_file(folder_ / bad.name, bad.bytes);
    write_csr(folder_ / "items.csr", matrix_of(5, {{{1, 1.0}}}));

    EXPECT_EQ(run("compute items.csr " + bad.name + " -o out -q"), 65) << bad.name;

    const std::string error = read_file(folder_ / "err.txt");
    EXPECT_EQ(error.rfind("bulksim: error: ", 0), 0u) << bad.name << ": " << error;
    EXPECT_EQ(error.find('\n'), error.size() - 1) << error;
    EXPECT_NE(error.find(bad.name), std::string::npos) << error;
    EXPECT_NE(error.find(bad.says), std::string::npos) << bad.name << ": " << error;
    EXPECT_EQ(read_file(folder_ / "out.txt"), "") << bad.name;
    EXPECT_TRUE(nothing_published()) << bad.name;
  }

  /// No version, no store and no temporary file.
  bool nothing_published() {
    const std::filesystem::path out = folder_ / "out";
    if (!std::filesystem::exists(out)) return true;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out)) {
      const std::string name = entry.path().filename().string();
      const bool result = name.ends_with(".h5") || name.ends_with(".tmp") || name == "CURRENT";
      if (result) return false;
    }
    return true;
  }

  TemporaryFolder folder_;
};

TEST_F(BadInputs, EveryBadSpmatIsRefusedWithItsMessage) {
  for (const BadInput& bad : bad_spmats(folder_.path()))
    expect_refused(bad);
}

TEST_F(BadInputs, EveryBadNpzIsRefusedWithItsMessage) {
  for (const BadInput& bad : bad_npzs())
    expect_refused(bad);
}

TEST_F(BadInputs, EveryBadJsonlIsRefusedWithItsMessage) {
  for (const BadInput& bad : bad_jsonls())
    expect_refused(bad);
}

TEST_F(BadInputs, ARowThatDoesNotFitIntoMemoryIsRefusedBeforeItIsRead) {
  const std::int64_t nnz = std::int64_t{1} << 30;
  std::string head;
  for (const std::int64_t number : {std::int64_t{1}, std::int64_t{10}, nnz, std::int64_t{0}, nnz})
    put_bytes(head, number);
  write_file(folder_ / "long.csr", head);
  std::filesystem::resize_file(folder_ / "long.csr", head.size() + 8 * nnz);  // a hole

  for (const std::string words :
       {"compute long.csr -o out --memory 200M", "plan long.csr -o out --memory 200M"}) {
    EXPECT_EQ(run(words), 71) << words;
    const std::string error = read_file(folder_ / "err.txt");
    EXPECT_NE(error.find("'long.csr', rows 0 to 0"), std::string::npos) << error;
    EXPECT_NE(error.find("1073741824 entries"), std::string::npos) << error;
  }
}

TEST_F(BadInputs, TheLargestColumnNumberWorksInEveryMode) {
  write_file(folder_ / "m.jsonl",
             "{\"id\":\"a\",\"vector\":{\"5\":1,\"4294967295\":2}}\n"
             "{\"id\":\"b\",\"vector\":{\"4294967295\":2}}\n");
  ASSERT_EQ(run("import m.jsonl --keys index -o m.h5 -q"), 0);

  for (const std::string options : {"-t 0.1", "-k 2", "--nonzero"}) {
    EXPECT_EQ(run("compute m.h5 -q -o pairs.tsv " + options), 0) << read_file(folder_ / "err.txt");
    EXPECT_NE(read_file(folder_ / "pairs.tsv").find("a\tb\t0.8944271"), std::string::npos)
        << options << ": " << read_file(folder_ / "pairs.tsv");
  }
  for (const std::string words :
       {"plan m.h5 -o out", "compute m.h5 -o out -q", "verify out --against m.h5",
        "compute m.h5 -o map -q --mode blocks"}) {
    EXPECT_EQ(run(words), 0) << words << ": " << read_file(folder_ / "err.txt");
  }
  EXPECT_EQ(run("estimate m.h5"), 64);
  EXPECT_NE(read_file(folder_ / "err.txt").find("at most 536870912"), std::string::npos);
}

TEST_F(BadInputs, ThePathMayContainAnyBytes) {
  const std::string name = "in\xff.csr";
  write_csr(folder_ / name, matrix_of(5, {{{1, 1.0}}, {{2, 1.0}}}));

  const std::vector<std::string> commands{"compute " + name + " -o out",
                                          "compute " + name + " -o one.h5",
                                          "compute " + name + " -t 0.5 -o pairs",
                                          "plan --json " + name + " -o out",
                                          "import " + name + " -o store.h5 --json",
                                          "show --json " + name,
                                          "report out",
                                          "verify out",
                                          "status out"};
  for (const std::string& words : commands) {
    EXPECT_EQ(run(words), 0) << words << ": " << read_file(folder_ / "err.txt");
  }
}

TEST_F(BadInputs, APipeIsRefusedByEveryCommand) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.h5").c_str(), 0600), 0);
  write_csr(folder_ / "items.csr", matrix_of(5, {{{1, 1.0}}}));

  for (const std::string words :
       {"compute pipe.h5 -o out", "compute items.csr pipe.h5 -o out", "plan pipe.h5 -o out",
        "compute items.csr --item-ids pipe.h5 -o out", "import pipe.h5 -o store.h5", "show pipe.h5",
        "import items.csr --ids pipe.h5 -o store.h5", "verify pipe.h5", "report pipe.h5",
        "export pipe.h5 -o pairs.npz", "bench kernel pipe.h5 items.csr"}) {
    EXPECT_EQ(run(words), 66) << words << ": " << read_file(folder_ / "err.txt");
    EXPECT_NE(read_file(folder_ / "err.txt").find("is a pipe"), std::string::npos) << words;
  }
}

TEST_F(BadInputs, ImportLeavesNoStoreOfABadFile) {
  for (const BadInput& bad : bad_npzs()) {
    write_file(folder_ / bad.name, bad.bytes);

    EXPECT_EQ(run("import " + bad.name + " -o store.h5 -q"), 65) << bad.name;

    EXPECT_FALSE(std::filesystem::exists(folder_ / "store.h5")) << bad.name;
    EXPECT_FALSE(std::filesystem::exists(folder_ / "store.h5.tmp")) << bad.name;
  }
}

TEST_F(BadInputs, PlanLeavesNothingBehind) {
  write_file(folder_ / "items.npz", npz_with("", ""));

  EXPECT_EQ(run("plan items.npz -o out -q"), 0) << read_file(folder_ / "err.txt");

  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"err.txt", "items.npz", "out.txt"}));
}

TEST_F(BadInputs, PlanPrintsTheExactBytesOfTheResult) {
  write_csr(folder_ / "items.csr", random_rows(2'500, 90, 8, 1));
  std::string names;
  for (int row = 0; row < 2'500; ++row)
    names += "item " + std::to_string(row) + "\n";
  write_file(folder_ / "ids.txt", names);
  const std::string words = " items.csr --item-ids ids.txt -q -o ";

  ASSERT_EQ(run("plan --json" + words + "out"), 0);
  const std::string of_folder = read_file(folder_ / "out.txt");
  ASSERT_EQ(run("plan --json" + words + "result.h5"), 0);
  const std::string of_file = read_file(folder_ / "out.txt");
  ASSERT_EQ(run("compute" + words + "out"), 0);
  ASSERT_EQ(run("compute" + words + "result.h5"), 0);

  std::uintmax_t bytes = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(folder_ / "out/CURRENT/")) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && name != "MANIFEST.json" && name != "_SUCCESS" &&
        !name.starts_with("report.")) {
      bytes += entry.file_size();
    }
  }
  EXPECT_NE(of_folder.find("\"output_bytes\": " + std::to_string(bytes)), std::string::npos)
      << bytes << " in " << of_folder;
  const auto one_file = std::filesystem::file_size(folder_ / "result.h5");
  EXPECT_NE(of_file.find("\"output_bytes\": " + std::to_string(one_file)), std::string::npos)
      << one_file << " in " << of_file;
}

TEST_F(BadInputs, ShowDescribesEveryFormatAndWritesNothing) {
  write_file(folder_ / "m.npz", npz_with("", ""));
  write_file(folder_ / "m.jsonl", "{\"id\":1,\"vector\":{\"a\":1,\"b\":2}}\n");
  ASSERT_EQ(run("import m.jsonl -o m.h5 -q"), 0);

  EXPECT_EQ(run("show m.npz"), 0);
  EXPECT_NE(read_file(folder_ / "out.txt").find("3 rows x 5 columns, 4 nonzeros"),
            std::string::npos);
  EXPECT_EQ(run("show m.jsonl"), 0);
  EXPECT_NE(read_file(folder_ / "out.txt").find("1 rows x 2 columns"), std::string::npos);
  EXPECT_EQ(run("show m.h5"), 0);
  EXPECT_NE(read_file(folder_ / "out.txt").find("bytes per nonzero"), std::string::npos);
}

}  // namespace
}  // namespace bulksim::test
