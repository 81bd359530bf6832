#include "job/bench_job.hpp"

#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "bulksim/core/file.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

/// Three queries and 2,500 items; every third item shares one column with the first query and
/// one with the second, and each of the others one with the third.
KernelBenchOptions small_problem(const test::TemporaryFolder& folder) {
  std::vector<test::Entries> items;
  for (int item = 0; item < 2500; ++item) {
    items.push_back(item % 3 == 0 ? test::Entries{{0, 1.0}, {2, 2.0}} : test::Entries{{5, 1.0}});
  }
  test::write_csr(folder / "items.csr", test::matrix_of(6, items));
  test::write_csr(folder / "queries.csr",
                  test::matrix_of(6, {{{0, 1.0}, {1, 1.0}}, {{2, 1.0}}, {{5, 3.0}}}));
  KernelBenchOptions options;
  options.items = folder / "items.csr";
  options.queries = folder / "queries.csr";
  options.repeats = 2;
  return options;
}

std::string bench(const KernelBenchOptions& options) {
  std::ostringstream out;
  run_kernel_bench(system_file_calls(), options, out);
  return out.str();
}

TEST(KernelBench, CountsPairsAndUsefulMultiplyAdds) {
  const test::TemporaryFolder folder;
  KernelBenchOptions options = small_problem(folder);
  options.format = BenchFormat::kJson;
  options.threads = 2;

  const auto result = nlohmann::json::parse(bench(options));

  EXPECT_EQ(result.at("schema"), 1);
  EXPECT_EQ(result.at("threads"), 2);
  EXPECT_EQ(result.at("pairs"), 7500.0);
  EXPECT_DOUBLE_EQ(result.at("multiply_adds_per_pair"), (2 * 834 + 1666) / 7500.0);
  EXPECT_EQ(result.at("failed_identities"), 0);
  EXPECT_EQ(result.at("pairs_per_s_of_repeats").size(), 2U);
  EXPECT_GT(result.at("pairs_per_s"), 0.0);
  EXPECT_GT(result.at("hashed_pairs_per_s"), 0.0);
  EXPECT_GT(result.at("store_limit_pairs_per_s"), 0.0);
}

TEST(KernelBench, UsesOnlyTheFirstRows) {
  const test::TemporaryFolder folder;
  KernelBenchOptions options = small_problem(folder);
  options.format = BenchFormat::kJson;
  options.item_limit = 100;
  options.query_limit = 2;

  const auto result = nlohmann::json::parse(bench(options));

  EXPECT_EQ(result.at("pairs"), 200.0);
}

TEST(KernelBench, PrintsTheRequestedInstructionSet) {
  const test::TemporaryFolder folder;
  KernelBenchOptions options = small_problem(folder);
  options.simd = Simd::kScalar;

  EXPECT_NE(bench(options).find("SCALAR, 1 thread\n"), std::string::npos);
}

TEST(KernelBench, RefusesAMatrixWithoutNonzeros) {
  const test::TemporaryFolder folder;
  KernelBenchOptions options = small_problem(folder);
  test::write_csr(options.items, test::matrix_of(6, {{}, {}}));

  test::expect_error(ExitCode::kDataError, {"items.csr", "no nonzero value"},
                     [&] { bench(options); });
}

TEST(PairBench, CountsTheSamePairsInEveryWay) {
  const test::TemporaryFolder folder;
  const KernelBenchOptions files = small_problem(folder);
  PairBenchOptions options{.items = files.items, .repeats = 2, .format = BenchFormat::kJson};
  const auto bench = [&] {
    std::ostringstream out;
    run_pair_bench(system_file_calls(), options, out);
    return nlohmann::json::parse(out.str());
  };

  options.threshold = 0.9F;
  const auto join = bench();
  EXPECT_EQ(join.at("pairs"), 834 * 833 / 2 + 1666 * 1665 / 2);
  EXPECT_GT(join.at("join_seconds"), 0.0);
  EXPECT_GT(join.at("choice_seconds"), 0.0);

  options.threshold.reset();
  options.top_k = 3;
  EXPECT_EQ(bench().at("pairs"), 3 * 2500);

  options.queries = files.queries;
  const auto lists = bench();
  EXPECT_EQ(lists.at("pairs"), 3 * 3);
  EXPECT_FALSE(lists.contains("join_seconds"));
}

}  // namespace
}  // namespace bulksim
