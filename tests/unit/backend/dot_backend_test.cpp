#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "bulksim/sparse/row_survey.hpp"
#include "support/arithmetic_support.hpp"
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
  const BackendProblem problem({70, 2'600}, {32, 1'100}, kDotQ26);
  for (const Simd simd : {Simd::kBest, Simd::kAvx512, Simd::kAvx2, Simd::kSse4, Simd::kScalar}) {
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

  const float score = exact_score(tiny, 0, tiny, 1);

  EXPECT_EQ(std::bit_cast<std::uint32_t>(score), 0U);
}

TEST(DotBound, HoldsForRowsOfAnyLength) {
  const CsrMatrix items = random_rows(60, 200, 20, 5);
  CsrMatrix queries = items;
  for (std::size_t at = 0; at < queries.values.size(); ++at)
    queries.values[at] *= at % 3 == 0 ? 1e-9 : 1e7;
  for (const double scale : {1.0, 1e-150, 1e-290, 1e150}) {
    CsrMatrix scaled = items;
    for (double& value : scaled.values)
      value *= scale / 1e7;
    CsrMatrix inverse = queries;
    for (double& value : inverse.values)
      value /= scale;
    const QuantizedRows q = quantized_rows(inverse, kDotQ26);
    const QuantizedRows i = quantized_rows(scaled, kDotQ26);
    const double bound = dot_bound(40, 40, value_info(inverse.view()).longest,
                                   value_info(scaled.view()).longest, kDotQ26);
    double largest_error = 0.0;
    for (std::int64_t a = 0; a < q.rows(); ++a) {
      for (std::int64_t b = 0; b < i.rows(); ++b) {
        const auto truth = static_cast<double>(true_dot(inverse.view(), a, scaled.view(), b));
        largest_error = std::max(largest_error, std::fabs(exact_score(q, a, i, b) - truth));
      }
    }

    EXPECT_LE(largest_error, bound) << scale;
    EXPECT_GT(largest_error, 0.0) << scale;
    EXPECT_LT(bound, 1e-3) << scale;
  }
}

TEST(ValueInfo, RecordsTheLongestRowAndTheLeastExponentOfIntegers) {
  const auto whole = matrix_of(9, {{{0, 3}, {1, 4}}, {}, {{2, -2147483646.0}}});
  const auto halves = matrix_of(9, {{{0, 1.5}}, {{1, 0.1}}});

  EXPECT_EQ(value_info(whole.view()), (ValueInfo{{2, 1}, 2147483646.0, 0}));
  EXPECT_EQ(value_info(halves.view()), (ValueInfo{{1, 1}, 1.5, -1}));
  EXPECT_DOUBLE_EQ(value_info(matrix_of(9, {{{0, 3e200}, {1, 4e200}}}).view()).longest, 5e200);
  EXPECT_EQ(value_info(matrix_of(9, {{}}).view()), (ValueInfo{{1, 0}}));
}

TEST(ValueInfo, CountsExactRowsAndMeasuresTheOthers) {
  const auto rows = matrix_of(
      9, {{}, {{0, 1.0}, {3, 2.0}, {5, 3.0}}, {{0, 0.1}}, {{1, 1e200}, {2, 1.0}}, {{4, 7e300}}});

  EXPECT_EQ(value_info(rows.view()).rounding, (RoundingInfo{2, 2}));
  EXPECT_EQ(value_info(matrix_of(9, {}).view()), ValueInfo{});
}

}  // namespace
}  // namespace bulksim::test
