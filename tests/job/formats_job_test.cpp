#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/run/log.hpp"
#include "job/compute_job.hpp"
#include "job/input/import_matrix.hpp"
#include "job/plan/plan.hpp"
#include "job/verify/verify_result.hpp"
#include "storage/result/similarity_file.hpp"
#include "support/jsonl_support.hpp"
#include "support/mpi_test_main.hpp"
#include "support/npz_support.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

/// Runs of all ranks over files that rank 0 has written.
class FormatsJob : public testing::Test {
 protected:
  FormatsJob() { config_.threads = 2; }

  void write(const std::string& name, const std::string& bytes) const {
    if (world().rank() == 0) write_file(folder_ / name, bytes);
  }
  void write_spmat(const std::string& name, const CsrMatrix& matrix) const {
    if (world().rank() == 0) write_csr(folder_ / name, matrix);
  }
  void import(const std::string& source, const std::string& store) {
    Log log({.level = LogLevel::kError});
    if (world().rank() == 0) import_matrix(calls_, folder_ / source, folder_ / store, {}, log);
  }

  /// The exit code of the run, 0 without an error; the message is in `sentence_`.
  int run(const std::string& items, const std::string& queries, const std::string& output) {
    config_.items = folder_ / items;
    config_.queries = queries.empty() ? "" : folder_ / queries;
    config_.output = folder_ / output;
    Log log({.level = LogLevel::kError, .rank = world().rank(), .ranks = world().size()});
    world().barrier();
    try {
      run_compute(config_, {*environment, calls_, log});
      return 0;
    } catch (const Error& error) {
      sentence_ = error.what();
      return static_cast<int>(error.code());
    }
  }

  /// At rank 0: bytes of the files of a version that hold the matrix, by name.
  std::map<std::string, std::string> matrix_files(const std::string& output) const {
    std::map<std::string, std::string> files;
    if (world().rank() != 0) return files;
    const std::filesystem::path version =
        std::filesystem::canonical(folder_ / (output + "/CURRENT"));
    files["tiles.idx"] = read_file((version / "tiles.idx").string());
    for (const auto& entry : std::filesystem::directory_iterator(version / "parts"))
      files[entry.path().filename().string()] = read_file(entry.path().string());
    return files;
  }

  std::string similarity_file(const std::string& output) const {
    return world().rank() == 0 ? read_file(folder_ / (output + "/CURRENT/similarity.h5")) : "";
  }
  Plan plan_of(const std::string& output) const {
    return Plan::from_json(read_file(folder_ / (output + "/CURRENT/PLAN.json")));
  }
  std::vector<float> matrix(const std::string& output) const {
    const auto reader = SimilarityReader::open(calls_, folder_ / output);
    return reader.read({0, reader.grid().shape().queries}, {0, reader.grid().shape().items});
  }
  Verdict check(const VerifyOptions& options) const {
    Log log({.level = LogLevel::kError});
    return verify(calls_, options, log);
  }
  std::size_t damage(const std::string& output) const {
    return check({.path = folder_ / output}).damage.size();
  }

  FileCalls& calls_ = system_file_calls();
  SharedFolder folder_;
  JobConfig config_;
  std::string sentence_;
};

TEST_F(FormatsJob, AnyFormatGivesTheMatrixOfTheCsrFile) {
  const CsrMatrix queries = random_rows(60, 300, 9, 1);
  const CsrMatrix items = random_rows(2'100, 300, 9, 2);
  for (const auto& [name, rows] : {std::pair{"q", &queries}, std::pair{"i", &items}}) {
    const std::string side = name;
    write_spmat(side + ".csr", *rows);
    write(side + "4.npz", npz_of(*rows));
    write(side + "8.npz", npz_of(*rows, {.values = ">f8", .indices = "<i8", .zip = {8, true}}));
    write(side + ".jsonl", jsonl_of(*rows, {.row = side}));
    import(side + ".csr", side + ".h5");
  }
  write("terms.txt", numbered_lines("", 300, 4));
  ASSERT_EQ(run("i.csr", "q.csr", "csr"), 0) << sentence_;
  const auto expected = matrix_files("csr");

  EXPECT_EQ(run("i4.npz", "q4.npz", "npz4"), 0) << sentence_;
  EXPECT_EQ(run("i8.npz", "q8.npz", "npz8"), 0) << sentence_;
  EXPECT_EQ(run("i.h5", "q.csr", "store"), 0) << sentence_;
  config_.vocabulary = folder_ / "terms.txt";
  EXPECT_EQ(run("i.jsonl", "q.jsonl", "jsonl"), 0) << sentence_;

  for (const std::string output : {"npz4", "npz8", "store", "jsonl"})
    EXPECT_EQ(matrix_files(output), expected) << output;
}

TEST_F(FormatsJob, Float64ValuesAreComputedWithoutRounding) {
  CsrMatrix rows = random_rows(1'100, 200, 9, 3);
  for (double& value : rows.values)
    value /= 3;
  write("double.npz", npz_of(rows, {.values = "<f8"}));
  write("double.jsonl", jsonl_of(rows));

  ASSERT_EQ(run("double.npz", "", "npz"), 0) << sentence_;
  ASSERT_EQ(run("double.jsonl", "", "jsonl"), 0) << sentence_;

  if (world().rank() != 0) return;
  const QuantizedRows unit = quantized_rows(rows);
  EXPECT_EQ(matrix("npz"), reference(unit, unit));
  // it has only the columns that occur: other numbers, but the same cosines
  EXPECT_EQ(matrix("jsonl"), matrix("npz"));
}

TEST_F(FormatsJob, AResultIsVerifiedAgainstInputsOfAnyFormat) {
  const CsrMatrix queries = random_rows(60, 300, 9, 1);
  const CsrMatrix items =
      random_rows(2'100, 250, 9, 2);  // with other terms, so other columns than alone
  write("q.jsonl", jsonl_of(queries, {.row = "q"}));
  write("i.jsonl", jsonl_of(items, {.row = "i"}));
  write("q.npz", npz_of(queries));
  ASSERT_EQ(run("i.jsonl", "q.jsonl", "out"), 0) << sentence_;
  ASSERT_EQ(run("q.npz", "", "self"), 0) << sentence_;
  if (world().rank() != 0) return;

  const Verdict pair = check({.path = folder_ / "out",
                              .against_items = folder_ / "i.jsonl",
                              .against_queries = folder_ / "q.jsonl"});
  const Verdict self = check({.path = folder_ / "self", .against_items = folder_ / "q.npz"});

  EXPECT_TRUE(pair.damage.empty());
  EXPECT_EQ(pair.cells, 3 * 64);
  EXPECT_TRUE(self.damage.empty());
  EXPECT_EQ(self.cells, 64);
}

TEST_F(FormatsJob, IntegersGiveTheMatrixOfTheSameFloats) {
  CsrMatrix rows = random_rows(1'100, 200, 9, 4);
  for (double& value : rows.values)
    value = std::trunc(value * 100) + 500;
  write_spmat("m.csr", rows);
  write("m.npz", npz_of(rows, {.values = "<i8"}));
  ASSERT_EQ(run("m.csr", "", "csr"), 0) << sentence_;

  ASSERT_EQ(run("m.npz", "", "npz"), 0) << sentence_;

  EXPECT_EQ(matrix_files("npz"), matrix_files("csr"));
}

TEST_F(FormatsJob, DimensionsThatDifferAreRefusedUnlessPadded) {
  write_spmat("i.csr", random_rows(40, 7, 3, 5));
  write_spmat("q.csr", random_rows(9, 5, 3, 6));

  EXPECT_EQ(run("i.csr", "q.csr", "out"), 65);
  EXPECT_NE(sentence_.find("--pad-dims"), std::string::npos) << sentence_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  config_.dimensions = Dimensions::kPad;
  EXPECT_EQ(run("i.csr", "q.csr", "out"), 0) << sentence_;
}

class RowsWithIds : public FormatsJob, public testing::WithParamInterface<const char*> {
 protected:
  RowsWithIds() {
    write_spmat("i.csr", random_rows(1'300, 90, 8, 7));
    write_spmat("q.csr", random_rows(40, 90, 8, 8));
    write("i.txt", numbered_lines("item \xC3\xBC ", 1'300));
    write("q.txt", numbered_lines("query ", 40));
    config_.item_ids = folder_ / "i.txt";
    config_.query_ids = folder_ / "q.txt";
  }
};

TEST_P(RowsWithIds, AreInTheResult) {
  ASSERT_EQ(run("i.csr", "q.csr", GetParam()), 0) << sentence_;

  if (world().rank() != 0) return;
  const auto reader = SimilarityReader::open(calls_, folder_ / GetParam());
  const StringTable items = reader.item_ids({0, 1'300});
  ASSERT_EQ(items.size(), 1'300);
  EXPECT_EQ(items[1'299], "item \xC3\xBC 1299");
  EXPECT_EQ(reader.query_ids({39, 40})[0], "query 39");
  EXPECT_EQ(damage(GetParam()), 0u);
}

TEST_P(RowsWithIds, DoNotChangeTheMatrix) {
  ASSERT_EQ(run("i.csr", "q.csr", GetParam()), 0) << sentence_;
  config_.item_ids = config_.query_ids = "";

  ASSERT_EQ(run("i.csr", "q.csr", std::string("plain") + GetParam()), 0) << sentence_;

  if (world().rank() != 0) return;
  EXPECT_EQ(matrix(GetParam()), matrix(std::string("plain") + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Outputs, RowsWithIds, testing::Values("out", "result.h5"),
                         [](const auto& name) { return std::string(name.param).substr(0, 3); });

TEST_F(RowsWithIds, OtherIdsAreAnotherPlanWithTheSameTiles) {
  write("other.txt", numbered_lines("other ", 1'300));
  ASSERT_EQ(run("i.csr", "q.csr", "out"), 0) << sentence_;
  const auto before = matrix_files("out");
  config_.item_ids = folder_ / "other.txt";

  ASSERT_EQ(run("i.csr", "q.csr", "out"), 0) << sentence_;

  EXPECT_EQ(matrix_files("out"), before);
  if (world().rank() != 0) return;
  EXPECT_EQ(SimilarityReader::open(calls_, folder_ / "out").item_ids({7, 8})[0], "other 7");
}

TEST_F(RowsWithIds, OfTheWrongCountAreRefusedBeforeAnythingIsWritten) {
  write("short.txt", numbered_lines("item ", 1'299));
  config_.item_ids = folder_ / "short.txt";

  EXPECT_EQ(run("i.csr", "q.csr", "out"), 65);
  EXPECT_NE(sentence_.find("1299 lines"), std::string::npos) << sentence_;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
}

TEST_F(FormatsJob, IdsAndTermsOfTheSourceAreInTheResult) {
  const CsrMatrix rows = random_rows(30, 40, 5, 9);
  write("i.jsonl", jsonl_of(rows, {.row = "doc"}));
  write("q.jsonl", jsonl_of(random_rows(5, 40, 5, 10), {.row = "topic"}));

  ASSERT_EQ(run("i.jsonl", "q.jsonl", "out"), 0) << sentence_;

  if (world().rank() != 0) return;
  const auto reader = SimilarityReader::open(calls_, folder_ / "out");
  EXPECT_EQ(reader.query_ids({4, 5})[0], "topic4");
  EXPECT_EQ(reader.item_ids({29, 30})[0], "doc29");
  EXPECT_TRUE(plan_of("out").vocabulary.has_value());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out/staging/inputs"));
}

TEST_F(FormatsJob, CellsOfEmptyRowsAreNanWhenRequested) {
  const CsrMatrix queries = matrix_of(9, {{{1, 1.0}}, {}, {{2, 1.0}, {3, -1.0}}});
  const CsrMatrix items = random_rows(1'050, 9, 3, 11);
  write_spmat("i.csr", items);
  write_spmat("q.csr", queries);
  ASSERT_EQ(run("i.csr", "q.csr", "zero"), 0) << sentence_;
  config_.zero_rows = ZeroRows::kNan;
  config_.guard = Guard::kOn;
  config_.tile = TileShape{2, 1'000};

  ASSERT_EQ(run("i.csr", "q.csr", "nan"), 0) << sentence_;

  if (world().rank() != 0) return;
  const auto zero = matrix("zero");
  const auto nan = matrix("nan");
  std::int64_t count = 0;
  for (std::size_t at = 0; at < nan.size(); ++at) {
    const auto item = static_cast<std::int64_t>(at % 1'050);
    if (at / 1'050 == 1 || items.view().columns_of(item).empty()) {
      EXPECT_TRUE(std::isnan(nan[at])) << at;
      ++count;
    } else {
      EXPECT_EQ(nan[at], zero[at]) << at;
    }
  }
  EXPECT_EQ(plan_of("nan").nan_cells, count);
  EXPECT_EQ(damage("nan"), 0u);
  VerifyOptions against{.path = folder_ / "nan"};
  against.against_items = folder_ / "i.csr";
  against.against_queries = folder_ / "q.csr";
  EXPECT_TRUE(check(against).damage.empty());
}

}  // namespace
}  // namespace bulksim::test
