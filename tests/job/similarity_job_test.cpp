#include <cstring>
#include <filesystem>
#include <map>

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"
#include "job/compute_job.hpp"
#include "storage/result/similarity_file.hpp"
#include "support/mpi_test_main.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

/// A run of all ranks over one pair of inputs.
class Job {
 public:
  Job(const CsrMatrix& queries, const CsrMatrix& items) : queries_(queries), items_(items) {
    config.items = folder / "items.csr";
    config.queries = folder / "queries.csr";
    config.output = folder / "out";
    config.threads = 2;
    if (world().rank() != 0) return;
    write_csr(config.items, items);
    write_csr(config.queries, queries);
  }

  /// The exit code of the run, 0 without an error; the message is in `sentence`.
  int run() {
    Log log({.level = LogLevel::kError, .rank = world().rank(), .ranks = world().size()});
    world().barrier();
    try {
      result = run_compute(config, {*environment, system_file_calls(), log});
      return 0;
    } catch (const Error& error) {
      sentence = error.what();
      return static_cast<int>(error.code());
    }
  }

  /// At rank 0: the published matrix has the bits of the definition.
  void expect_reference(FixedPoint arithmetic = kQ26) const {
    if (world().rank() != 0) return;
    const auto reader = SimilarityReader::open(system_file_calls(), config.output);
    ASSERT_EQ(reader.grid().shape(), (MatrixShape{queries_.rows(), items_.rows()}));
    const auto got = reader.read({0, queries_.rows()}, {0, items_.rows()});
    const auto want = reference(canonical_quantized(queries_, arithmetic),
                                canonical_quantized(items_, arithmetic));
    ASSERT_EQ(got.size(), want.size());
    EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0);
  }

  /// At rank 0: all files of the published version but the report, by name.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> files;
    if (world().rank() != 0) return files;
    const std::filesystem::path version = std::filesystem::canonical(config.output + "/CURRENT");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(version)) {
      const std::string name = std::filesystem::relative(entry.path(), version).string();
      if (entry.is_regular_file() && name != "report.json") files[name] = read_file(entry.path());
    }
    return files;
  }

  SharedFolder folder;
  JobConfig config;
  std::string result;
  std::string sentence;

 private:
  static QuantizedRows canonical_quantized(CsrMatrix rows, FixedPoint arithmetic) {
    canonicalize(rows, Irregular::kAccept, "rows", 0);
    return quantized_rows(rows, arithmetic);
  }

  CsrMatrix queries_;
  CsrMatrix items_;
};

TEST(SimilarityJob, TheMatrixHasTheBitsOfTheDefinition) {
  Job job(random_rows(300, 500, 12, 1), random_rows(5'000, 500, 15, 2));

  ASSERT_EQ(job.run(), 0);

  job.expect_reference();
}

TEST(SimilarityJob, WithoutQueriesTheItemsAreComparedWithThemselves) {
  const auto items = random_rows(1'500, 300, 10, 3);
  Job job(items, items);
  job.config.queries.clear();

  ASSERT_EQ(job.run(), 0);

  job.expect_reference();
}

TEST(SimilarityJob, TheFilesDependOnlyOnThePlan) {
  const auto queries = random_rows(200, 400, 12, 4);
  const auto items = random_rows(3'000, 400, 12, 5);
  Job first(queries, items);
  Job second(queries, items);
  second.config.threads = 1;
  second.config.chunk_rows = 1;
  ASSERT_EQ(first.run(), 0);

  ASSERT_EQ(second.run(), 0);

  EXPECT_EQ(first.files(), second.files());
  EXPECT_EQ(first.files().contains("similarity.h5"), world().rank() == 0);
}

TEST(SimilarityJob, ASingleFileContainsTheSameMatrix) {
  Job job(random_rows(70, 100, 8, 6), random_rows(2'100, 100, 8, 7));
  job.config.output = job.folder / "result.h5";

  ASSERT_EQ(job.run(), 0);

  job.expect_reference();
  if (world().rank() == 0) {
    EXPECT_TRUE(std::filesystem::is_regular_file(job.config.output));
    EXPECT_FALSE(std::filesystem::exists(job.folder / ".result.h5.bulksim"));
  }
}

class Shapes : public testing::TestWithParam<std::pair<std::int64_t, std::int64_t>> {};

TEST_P(Shapes, AreExactAndPublished) {
  const auto [queries, items] = GetParam();
  Job job(random_rows(queries, 60, 6, 8), random_rows(items, 60, 6, 9));

  ASSERT_EQ(job.run(), 0);

  job.expect_reference();
}

INSTANTIATE_TEST_SUITE_P(SmallAndOdd, Shapes,
                         testing::Values(std::pair{1, 1}, std::pair{0, 5}, std::pair{5, 0},
                                         std::pair{0, 0}, std::pair{1, 4'097}, std::pair{1'025, 1},
                                         std::pair{3, 2}, std::pair{1'024, 1'024},
                                         std::pair{1'025, 2'049}),
                         [](const auto& shape) {
                           return "queries" + std::to_string(shape.param.first) + "_items" +
                                  std::to_string(shape.param.second);
                         });

class Tiles : public testing::TestWithParam<TileShape> {};

TEST_P(Tiles, OfAnyShapeContainTheSameMatrix) {
  Job job(random_rows(90, 80, 7, 10), random_rows(2'500, 80, 7, 11));
  job.config.tile = GetParam();

  ASSERT_EQ(job.run(), 0);

  job.expect_reference();
}

INSTANTIATE_TEST_SUITE_P(Odd, Tiles,
                         testing::Values(TileShape{7, 1'000}, TileShape{1, 313},
                                         TileShape{89, 2'499}, TileShape{4'096, 65'536}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.queries) + "x" +
                                  std::to_string(shape.param.items);
                         });

TEST(SimilarityJob, LongRowsTakeQ30) {
  Random random(12);
  std::vector<Entries> lists(3);
  for (Column column = 0; column < 10'000; ++column) {
    lists[0].emplace_back(column, static_cast<float>(random.unit()));
    if (column % 2 == 0) lists[1].emplace_back(column, static_cast<float>(random.unit() - 0.5));
  }
  lists[2].emplace_back(7, 1.0);
  const auto long_rows = matrix_of(10'000, lists);
  Job job(long_rows, long_rows);

  ASSERT_EQ(job.run(), 0);

  job.expect_reference(kQ30);
}

TEST(SimilarityJob, QueriesInBatchesGiveTheSameFiles) {
  const auto queries = random_rows(4'000, 20'000, 200, 13);
  const auto items = random_rows(1'100, 20'000, 20, 14);
  Job whole(queries, items);
  Job batched(queries, items);
  whole.config.tile = batched.config.tile = TileShape{500, 1'024};
  ASSERT_EQ(whole.run(), 0);
  batched.config.threads = 1;
  int code = 71;
  // the least memory for any batch is far below the memory for all queries
  for (double memory = 16e6; code == 71; memory *= 1.05) {
    batched.config.memory = static_cast<std::int64_t>(memory);
    code = batched.run();
  }

  EXPECT_EQ(code, 0) << batched.sentence;
  EXPECT_EQ(whole.files(), batched.files());
}

TEST(SimilarityJob, AColumnOutOfRangeIsRefusedWithRowAndEntry) {
  auto items = random_rows(50, 60, 6, 15);
  items.columns = 60;
  items.col_indices[static_cast<std::size_t>(items.row_offsets[40])] = 60;
  Job job(random_rows(5, 60, 6, 16), items);

  const int code = job.run();

  EXPECT_EQ(code, 65);
  EXPECT_NE(job.sentence.find("row 40"), std::string::npos) << job.sentence;
  EXPECT_NE(job.sentence.find("items.csr"), std::string::npos) << job.sentence;
  EXPECT_FALSE(std::filesystem::exists(job.config.output));
}

TEST(SimilarityJob, AMissingInputIsRefusedAndNothingIsWritten) {
  Job job(random_rows(5, 60, 6, 16), random_rows(5, 60, 6, 17));
  job.config.items = job.folder / "absent.csr";

  const int code = job.run();

  EXPECT_EQ(code, 66);
  EXPECT_NE(job.sentence.find("absent.csr"), std::string::npos) << job.sentence;
  EXPECT_FALSE(std::filesystem::exists(job.config.output));
}

TEST(SimilarityJob, MoreOutputThanAllowedIsRefusedBeforeAnythingIsWritten) {
  Job job(random_rows(100, 60, 6, 18), random_rows(1'000, 60, 6, 19));
  job.config.max_output = 10'000;

  const int code = job.run();

  EXPECT_EQ(code, 74);
  EXPECT_NE(job.sentence.find("--max-output"), std::string::npos) << job.sentence;
  EXPECT_FALSE(std::filesystem::exists(job.config.output));
}

TEST(SimilarityJob, UnsortedRowsDuplicatesAndZerosEqualTheirCanonicalForm) {
  const auto irregular = matrix_of(
      9, {{{7, 1.0}, {1, 2.0}}, {{3, 1.0}, {3, 2.0}}, {{3, 1.0}, {3, -1.0}}, {{2, 0.0}}, {}});
  const auto canonical = matrix_of(9, {{{1, 2.0}, {7, 1.0}}, {{3, 3.0}}, {}, {}, {}});
  Job messy(irregular, irregular);
  Job clean(canonical, canonical);
  ASSERT_EQ(messy.run(), 0);

  ASSERT_EQ(clean.run(), 0);

  EXPECT_EQ(messy.files(), clean.files());
}

TEST(SimilarityJob, StrictRefusesIrregularRows) {
  Job job(matrix_of(9, {{{7, 1.0}, {1, 2.0}}}), matrix_of(9, {{{1, 2.0}}}));
  job.config.irregular = Irregular::kRefuse;

  EXPECT_EQ(job.run(), 65);
  EXPECT_NE(job.sentence.find("row 0"), std::string::npos) << job.sentence;
}

}  // namespace
}  // namespace bulksim::test
