// Both methods of computing a tile, inverted blocks and panel, give the bits of a merge of rows.
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "emulator/device/emulated_runtime.hpp"
#include "emulator/device/emulator_test_support.hpp"
#include "emulator/kernels/cuda_test_support.hpp"
#include "emulator/kernels/score_problem.hpp"
#include "support/arithmetic_support.hpp"

namespace bulksim::cuda {
namespace {

void expect_same(const Result& found, const Result& wanted, Output output) {
  EXPECT_EQ(found.row_sums, wanted.row_sums);
  if (output != Output::kPartials) {
    EXPECT_EQ(found.values, wanted.values);
  }
  if (output != Output::kValues) {
    EXPECT_EQ(found.partials, wanted.partials);
  }
}

void expect_both_ways(const Problem& problem, Output output) {
  Bench bench(problem);
  const Result wanted = expected(problem);

  const Result scores = bench.run_scores(output);
  const auto wrong = bench.wrong_rows();
  const Result panels = bench.run_panels(output);

  expect_same(scores, wanted, output);
  expect_same(panels, wanted, output);
  EXPECT_EQ(wrong, std::vector<unsigned>(static_cast<std::size_t>(problem.tiles()), 0));
}

struct Shape {
  const char* name;
  std::int64_t queries, items, tile_queries, tile_items;
};

class ScoresTest : public testing::TestWithParam<Shape> {
 protected:
  ~ScoresTest() override { emulator::settings() = {}; }

  Problem problem(FixedPoint format = kQ26, int entries = 6) const {
    const Shape& shape = GetParam();
    return {test::random_rows({.rows = shape.queries,
                               .columns = 200,
                               .entries = entries,
                               .common_column = true,
                               .seed = 21},
                              format),
            test::random_rows({.rows = shape.items,
                               .columns = 220,
                               .entries = entries,
                               .common_column = true,
                               .seed = 22},
                              format),
            shape.tile_queries, shape.tile_items};
  }
};

INSTANTIATE_TEST_SUITE_P(Shapes, ScoresTest,
                         testing::Values(Shape{"OneByOne", 1, 1, 1, 1},
                                         Shape{"ThirtyOneItems", 3, 31, 3, 31},
                                         Shape{"ThirtyTwoItems", 31, 32, 32, 32},
                                         Shape{"ThirtyThreeItems", 33, 33, 16, 33},
                                         Shape{"OneShortOfABlock", 2, 1023, 2, 1024},
                                         Shape{"OneBlock", 5, 1024, 3, 1024},
                                         Shape{"OneMoreThanABlock", 2, 1025, 2, 1025},
                                         Shape{"BlocksOfUnequalWidth", 3, 1400, 4, 1500}),
                         [](const auto& shape) { return shape.param.name; });

TEST_P(ScoresTest, BothMethodsGiveTheBitsOfAMerge) {
  for (const auto order : {emulator::ThreadOrder::kForward, emulator::ThreadOrder::kReverse,
                           emulator::ThreadOrder::kRandom}) {
    emulator::settings() = {order, 31};
    expect_both_ways(problem(), Output::kBoth);
  }
}

TEST_P(ScoresTest, BothMethodsGiveTheBitsOfAMergeInQ30) {
  expect_both_ways(problem(kQ30), Output::kBoth);
}

TEST_P(ScoresTest, BothMethodsGiveTheBitsOfAMergeForDotProducts) {
  expect_both_ways(problem(kDotQ26), Output::kValues);
}

TEST_P(ScoresTest, ValuesAndPartialsCanBeComputedAlone) {
  expect_both_ways(problem(), Output::kValues);
  expect_both_ways(problem(), Output::kPartials);
}

TEST(ScoresOfSpecialRowsTest, ALongRowIsSharedByTheWarpsOfABlock) {
  const Problem problem{
      test::random_rows(
          {.rows = 5, .columns = 3000, .entries = 900, .zero_row_every = 0, .seed = 3}),
      test::random_rows({.rows = 70, .columns = 3000, .entries = 20, .seed = 4}), 3, 70};

  Bench bench(problem);

  EXPECT_GT(bench.group().long_rows[0] + bench.group().long_rows[1], 0);
  expect_both_ways(problem, Output::kBoth);
}

TEST(ScoresOfSpecialRowsTest, AnItemWithAllColumnsAndAColumnInAllItems) {
  QuantizedRows items = test::random_rows({.rows = 1030,
                                           .columns = 500,
                                           .entries = 2,
                                           .common_column = true,
                                           .zero_row_every = 0,
                                           .seed = 5});
  CsrMatrix full;
  full.columns = 500;
  for (Column column = 0; column < 500; ++column) {
    full.col_indices.push_back(column);
    full.values.push_back(1.0);
  }
  full.row_offsets.push_back(500);
  append_quantized_rows(full.view(), kQ26, items);
  const Problem problem{
      test::random_rows(
          {.rows = 4, .columns = 500, .entries = 30, .common_column = true, .seed = 6}),
      items, 4, 1031};

  expect_both_ways(problem, Output::kBoth);
}

TEST(ScoresOfSpecialRowsTest, ZeroRowsAndRowsWithNothingInCommonGiveZeros) {
  const QuantizedRows zeros = test::random_rows({.rows = 3, .zero_row_every = 1});
  const QuantizedRows some = test::random_rows({.rows = 5, .columns = 100, .seed = 7});
  QuantizedRows others = some;
  for (Column& column : others.col_indices)
    column += 100;

  expect_both_ways({zeros, some, 2, 5}, Output::kBoth);
  expect_both_ways({some, zeros, 2, 3}, Output::kBoth);
  expect_both_ways({zeros, zeros, 2, 3}, Output::kBoth);
  expect_both_ways({some, others, 2, 5}, Output::kBoth);
}

TEST(ScoresOfSpecialRowsTest, SumsMayBeOverTwoToTheFiftyTwo) {
  const auto [one, other] = test::rows_rounded_up();
  const test::Entries set{{0, 1.0}, {7, 1.0}, {90, 1.0}};
  const CsrMatrix queries = test::matrix_of(200, {set, one, {}, other});
  const CsrMatrix items = test::matrix_of(200, {other, set, one, {}, {{7, -1.0}, {8, 0.3}}, one});
  const Problem problem{test::quantized_rows(queries), test::quantized_rows(items), 3, 6};
  ASSERT_GT(exact_sum(problem.queries, 1, problem.items, 0), test::kOneInQ26);
  ASSERT_EQ(exact_score(problem.queries, 1, problem.items, 0), 1 - 0x1p-24f);

  expect_both_ways(problem, Output::kBoth);
}

TEST(ScoresOfSpecialRowsTest, TinyCosinesHaveTheirPartials) {
  const CsrMatrix queries = test::matrix_of(4, {{{0, 0x1p30}, {1, 1.0}}, {{0, 0x1p25}, {1, 3.0}}});
  const CsrMatrix items = test::matrix_of(4, {{{1, 1.0}, {2, 0x1p30}}, {{1, -1.0}, {3, 0x1p25}}});
  const Problem problem{test::quantized_rows(queries, kQ30), test::quantized_rows(items, kQ30), 2,
                        2};

  expect_both_ways(problem, Output::kBoth);
  EXPECT_EQ(expected(problem).partials.front().largest, 1);
}

TEST(ScoresOfSpecialRowsTest, DotProductsOfRowsOfAnyLength) {
  for (const auto& [up, down] : {std::pair{300, -300}, {-70, -70}, {-500, -500}}) {
    const auto scaled = [](int exponent) {
      CsrMatrix rows = test::random_rows(40, 60, 12, 23);
      for (double& value : rows.values)
        value = std::ldexp(value, exponent);
      return test::quantized_rows(rows, kDotQ26);
    };

    expect_both_ways({scaled(up), scaled(down), 10, 40}, Output::kValues);
  }
}

TEST(ScoresOfSpecialRowsTest, TheLargestSumMayBeNegative) {
  const QuantizedRows rows = test::random_rows({.rows = 6,
                                                .columns = 5,
                                                .negative = false,
                                                .common_column = true,
                                                .zero_row_every = 0,
                                                .seed = 8});
  QuantizedRows opposite = rows;
  for (std::int32_t& value : opposite.values)
    value = -value;

  expect_both_ways({rows, opposite, 4, 8}, Output::kBoth);
}

TEST(RowIdentityTest, DetectsASingleWrongRow) {
  const Problem problem{test::random_rows({.rows = 9, .seed = 9}),
                        test::random_rows({.rows = 40, .seed = 10}), 4, 40};
  Bench bench(problem);
  bench.run_scores(Output::kValues);

  bench.group().row_sums[6] += 1;  // the emulated device shares the memory of the host
  const auto wrong = bench.wrong_rows();

  EXPECT_EQ(wrong, (std::vector<unsigned>{0, 1, 0}));
}

TEST(RowIdentityTest, DetectsALostLaunch) {
  const Problem problem{test::random_rows({.rows = 9, .seed = 9}),
                        test::random_rows({.rows = 40, .seed = 10}), 4, 40};
  Bench bench(problem);
  emulator::skip_launch("score_kernel", 1);

  bench.run_scores(Output::kValues);
  const auto wrong = bench.wrong_rows();

  EXPECT_EQ(wrong, (std::vector<unsigned>{4, 4, 4}));
}

}  // namespace
}  // namespace bulksim::cuda
