#include "job/generate_job.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bulksim/formats/matrix_source.hpp"
#include "sparse/synthetic_corpus.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::entries_of;
using test::error_of;
using testing::HasSubstr;
using testing::StartsWith;

class GenerateTest : public testing::Test {
 protected:
  void run(const GenerateOptions& options) { generate(options, calls_, log_); }

  CsrMatrix read(const std::string& name) const {
    const auto source = open_matrix(calls_, folder_ / name);
    CsrMatrix rows;
    source->read({0, source->info().rows}, rows);
    return rows;
  }

  test::TemporaryFolder folder_;
  FileCalls& calls_ = system_file_calls();
  Log log_{{.level = LogLevel::kError}};
};

TEST_F(GenerateTest, TheFilesContainTheRowsOfTheCorpus) {
  const SyntheticCorpus corpus(find_corpus_preset("splade"), 5);
  CsrMatrix items;
  CsrMatrix queries;
  corpus.generate(CorpusSide::kItems, {0, 300}, items);
  corpus.generate(CorpusSide::kQueries, {0, 20}, queries);

  run({"splade", 300, 20, 5, folder_ / "small"});

  EXPECT_EQ(entries_of(read("small_items.csr")), entries_of(items));
  EXPECT_EQ(entries_of(read("small_queries.csr")), entries_of(queries));
  EXPECT_EQ(read("small_items.csr").columns, 30522);
}

TEST_F(GenerateTest, SeveralBatchesOfRowsMakeTheSameFileAsTheRowsAlone) {
  const SyntheticCorpus corpus(find_corpus_preset("titles"), 1);
  CsrMatrix last;
  corpus.generate(CorpusSide::kItems, {19990, 20000}, last);

  run({"titles", 20000, 1, 1, folder_ / "long"});

  const auto source = open_matrix(calls_, folder_ / "long_items.csr");
  CsrMatrix rows;
  source->read({19990, 20000}, rows);
  EXPECT_EQ(entries_of(rows), entries_of(last));
}

TEST_F(GenerateTest, NoRowsMakeFilesWithoutRows) {
  run({"titles", 0, 0, 1, folder_ / "none"});

  EXPECT_EQ(read("none_items.csr").rows(), 0);
  EXPECT_EQ(read("none_queries.csr").rows(), 0);
}

TEST_F(GenerateTest, AnUnknownPresetWritesNothing) {
  const std::string error = error_of([&] { run({"novels", 10, 10, 1, folder_ / "x"}); });

  EXPECT_THAT(error, StartsWith("64: "));
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(GenerateTest, ANegativeNumberOfRowsIsRefused) {
  const std::string error = error_of([&] { run({"titles", -1, 10, 1, folder_ / "x"}); });

  EXPECT_THAT(error, StartsWith("64: "));
}

TEST_F(GenerateTest, AMissingFolderIsInTheError) {
  const std::string error = error_of([&] { run({"titles", 1, 1, 1, folder_ / "gone/x"}); });

  EXPECT_THAT(error, HasSubstr("gone/x_items.csr"));
}

}  // namespace
}  // namespace bulksim
