#include <cfloat>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/sparse/row_survey.hpp"
#include "support/backend_support.hpp"

namespace bulksim::test {
namespace {

std::int64_t wrong_cells(const BackendProblem& problem, const CpuBackendOptions& options) {
  TileCollector sink(problem.grid.tile());
  const auto backend = make_cpu_backend(options);
  problem.run(*backend, sink);
  EXPECT_EQ(std::ssize(sink.tiles), problem.grid.count());
  EXPECT_EQ(backend->recomputed_tiles(), 0);
  return problem.wrong_cells(sink);
}

TEST(DotBackend, EveryInstructionSetHasTheBitsOfTheDefinition) {
  for (const FixedPoint format : {kDotQ26, kDotQ26}) {
    const BackendProblem problem({70, 2'600}, {32, 1'100}, format);
    for (const Simd simd : {Simd::kBest, Simd::kAvx2, Simd::kSse4, Simd::kScalar}) {
      CpuBackendOptions options{problem.grid, problem.arithmetic, 2};
      options.simd = simd;
      options.sub_block = 200;
      try {
        EXPECT_EQ(wrong_cells(problem, options), 0) << static_cast<int>(simd);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::kUsage) << "only a missing instruction set is acceptable";
      }
    }
  }
}

TEST(DotBackend, IntegersAreExactAndSoAreTheirTies) {
  BackendProblem problem({1, 3}, {1, 3}, kDotQ26);
  problem.queries.rows =
      quantized_rows(matrix_of(200, {{{0, 3}, {5, 1}, {9, 4'000'000}}}), kDotQ26);
  problem.items = quantized_rows(
      matrix_of(200, {{{0, 1}, {9, 2}}, {{5, 8'000'003}}, {{0, -1}, {5, 2}}}), kDotQ26);
  TileCollector sink(problem.grid.tile());
  const auto backend = make_cpu_backend({problem.grid, problem.arithmetic, 1});

  problem.run(*backend, sink, 1);

  EXPECT_EQ(sink.tiles.begin()->second, (std::vector<float>{8'000'003.0f, 8'000'003.0f, -1.0f}));
}

TEST(DotBackend, AProductTooSmallForAFloatIsPlusZero) {
  const QuantizedRows tiny = quantized_rows(matrix_of(2, {{{0, 1e-30}}, {{0, -1e-30}}}), kDotQ26);

  const float score = exact_score(tiny, 0, tiny, 1, kDotQ26);

  EXPECT_EQ(std::bit_cast<std::uint32_t>(score), 0U);
}

TEST(DotBound, HoldsForRowsOfAnyLength) {
  const auto values = random_rows(60, 200, 20, 5);
  CsrMatrix queries = values;
  for (std::size_t at = 0; at < queries.values.size(); ++at)
    queries.values[at] *= at % 3 == 0 ? 1e-9 : 1e7;
  const QuantizedRows q = quantized_rows(queries, kDotQ26);
  const QuantizedRows i = quantized_rows(values, kDotQ26);
  const double norms = value_info(queries.view()).longest * value_info(values.view()).longest;
  const double bound = dot_bound(40, 40, 40, norms, kDotQ26);
  double largest_error = 0.0;
  for (std::int64_t a = 0; a < q.rows(); ++a) {
    for (std::int64_t b = 0; b < i.rows(); ++b) {
      double sum = 0.0;
      for (std::size_t x = 0; x < queries.view().columns_of(a).size(); ++x) {
        for (std::size_t y = 0; y < values.view().columns_of(b).size(); ++y) {
          if (queries.view().columns_of(a)[x] != values.view().columns_of(b)[y]) continue;
          sum += queries.view().values_of(a)[x] * values.view().values_of(b)[y];
        }
      }
      const double error = std::fabs(exact_score(q, a, i, b, kDotQ26) - sum);
      largest_error = std::max(largest_error, error);
    }
  }

  EXPECT_LE(largest_error, bound);
  EXPECT_GT(largest_error, 0.0);
}

TEST(ValueInfo, RecordsWholeNumbersAndTheLongestRow) {
  const auto whole = matrix_of(9, {{{0, 3}, {1, 4}}, {}, {{2, -2147483647.0}}});

  EXPECT_EQ(value_info(whole.view()), (ValueInfo{true, 2147483647.0}));
  EXPECT_FALSE(value_info(matrix_of(9, {{{0, 2147483648.0}}}).view()).integers);
  EXPECT_FALSE(value_info(matrix_of(9, {{{0, 0.5}}}).view()).integers);
  EXPECT_DOUBLE_EQ(value_info(matrix_of(9, {{{0, 3e200}, {1, 4e200}}}).view()).longest, 5e200);
}

}  // namespace
}  // namespace bulksim::test
