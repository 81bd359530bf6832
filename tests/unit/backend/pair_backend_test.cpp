#include "bulksim/backend/pair_backend.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/arithmetic_support.hpp"
#include "support/pair_support.hpp"

namespace bulksim::test {

namespace {

Pairs found(const BackendProblem& problem, const PairFilterSpec& spec,
            std::unique_ptr<PairBackend> backend, PairStats* work = nullptr) {
  PairCollector sink;
  backend->set_queries(problem.queries, sink);
  for (std::int64_t column = 0; column < problem.grid.columns(); ++column) {
    backend->submit(problem.chunk({column, column + 1}));
  }
  backend->drain();
  take_lists(*backend, spec, sink);
  EXPECT_EQ(sink.disorder, 0);
  EXPECT_EQ(backend->recomputed_tiles(), 0);
  if (work != nullptr) *work = backend->work();
  backend.reset();  // before its sink is destroyed
  return merged(sink, spec);
}

/// Each way alone, and the choice between them.
std::vector<std::optional<PairWay>> ways() {
  std::vector<std::optional<PairWay>> all(kPairWays.begin(), kPairWays.end());
  all.push_back(std::nullopt);
  return all;
}

std::string name_of(std::optional<PairWay> way) {
  return way ? std::to_string(static_cast<int>(*way)) : "any";
}

std::vector<PairFilterSpec> filters_of(std::vector<float> stored) {
  std::ranges::sort(stored, std::greater<>());
  const auto at = [&](std::size_t place) { return stored[place]; };
  return {
      {.at_least = at(stored.size() / 1000)},
      {.at_least = std::nextafter(at(stored.size() / 1000), 1.0f)},
      {.at_least = at(stored.size() / 20), .partners = Partners::kLater},
      {.at_least = at(stored.size() / 3)},
      {.at_least = 0.0f},
      {.at_least = std::numeric_limits<float>::denorm_min()},
      {.at_least = -0.05f},
      {.at_least = -1.0f},
      {.at_least = 1.0f},
      {.at_least = 0.1f, .below = at(200)},
      {.nonzero_only = true},
      {.keep = Keep::kBest, .count = 1},
      {.partners = Partners::kOthers, .keep = Keep::kBest, .count = 7},
      {.at_least = 0.2f, .keep = Keep::kBest, .count = 20},
      {.at_least = -0.02f, .nonzero_only = true, .keep = Keep::kBest, .count = 300},
      {.below = 0.5f, .keep = Keep::kBest, .count = 5},
      {.keep = Keep::kBest, .count = 100'000},
      {.keep = Keep::kSample, .count = 9, .seed = 3},
      {.at_least = 0.1f, .keep = Keep::kSample, .count = 3, .seed = 4},
  };
}

TEST(PairBackend, FindsThePairsOfTheWholeMatrixThatTheFilterAdmits) {
  for (const FixedPoint format : {kQ26, kQ30, kDotQ26}) {
    const BackendProblem problem({90, 3000}, {32, 700}, format);
    const auto matrix = reference(problem.queries.rows, problem.items);
    for (const PairFilterSpec& spec : filters_of(matrix)) {
      const Pairs wanted = expected(problem, matrix, spec);
      for (const auto way : ways()) {
        CpuBackendOptions options{problem.grid, problem.arithmetic, 2};
        options.search_block = way ? 64 : 4096;
        auto backend = make_cpu_pair_backend(options, spec, way);

        const Pairs pairs = found(problem, spec, std::move(backend));

        EXPECT_TRUE(pairs == wanted) << "at least " << spec.at_least << " below " << spec.below
                                     << " count " << spec.count << " way " << name_of(way);
      }
    }
  }
}

TEST(PairBackend, FilteringFinishedTilesFindsTheSamePairs) {
  const BackendProblem problem({90, 3000}, {32, 700});
  const auto matrix = reference(problem.queries.rows, problem.items);
  for (const PairFilterSpec& spec : filters_of(matrix)) {
    auto backend = make_filtering_backend(make_cpu_backend({problem.grid, problem.arithmetic, 2}),
                                          problem.grid, spec);

    const Pairs pairs = found(problem, spec, std::move(backend));

    EXPECT_EQ(pairs, expected(problem, matrix, spec)) << spec.at_least << ' ' << spec.count;
  }
}

TEST(PairBackend, TiesAreKeptByItem) {
  BackendProblem problem({3, 900}, {3, 128});
  std::vector<Entries> same(900, {{4, 2.0}});
  problem.items = quantized_rows(matrix_of(200, same));
  problem.queries.rows = quantized_rows(matrix_of(200, {{{4, 1.0}}, {}, {{5, 1.0}}}));
  const PairFilterSpec spec{.keep = Keep::kBest, .count = 5};
  auto backend = make_cpu_pair_backend({problem.grid, problem.arithmetic, 2}, spec);

  const Pairs pairs = found(problem, spec, std::move(backend));

  ASSERT_EQ(pairs.size(), 15U);
  for (std::size_t at = 0; at < pairs.size(); ++at) {
    EXPECT_EQ(pairs[at].second.item, static_cast<std::int64_t>(at % 5));
    EXPECT_EQ(pairs[at].second.score, at < 5 ? 1.0f : 0.0f);
  }
}

/// A problem in which `rows` are compared with themselves.
BackendProblem self_join(const CsrMatrix& rows) {
  BackendProblem problem({rows.rows(), rows.rows()}, {512, 700});
  problem.queries.rows = quantized_rows(rows);
  problem.items = problem.queries.rows;
  return problem;
}

/// A cut of num / den.
struct Cut {
  std::int64_t num;
  std::int64_t den;

  float value() const { return static_cast<float>(num) / static_cast<float>(den); }
};

/// The pairs of rows of integers whose true cosine is at least a cut, compared exactly, and how
/// many are exactly at it.
struct TruePairs {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  std::int64_t at_the_cut = 0;

  TruePairs(const QuantizedRows& integers, Cut cut) {
    for (std::int64_t q = 0; q < integers.rows(); ++q) {
      for (std::int64_t i = 0; i < integers.rows(); ++i) {
        const std::int64_t sum = exact_sum(integers, q, integers, i);
        if (sum <= 0) continue;
        const Wide left = Wide{sum} * sum * cut.den * cut.den;
        const Wide right =
            Wide{cut.num} * cut.num * squares_of(integers, q) * squares_of(integers, i);
        if (left >= right) pairs.emplace_back(q, i);
        at_the_cut += left == right;
      }
    }
  }
};

/// The integers of rows of integers, as given.
QuantizedRows integers_of(const CsrMatrix& rows) {
  QuantizedRows integers = quantized_rows(rows);
  std::ranges::transform(rows.values, integers.values.begin(),
                         [](double value) { return static_cast<std::int32_t>(value); });
  return integers;
}

/// Rows of 1 to 12 entries with integers from 1 to `largest`.
CsrMatrix count_rows(std::int64_t rows, Column columns, std::int64_t largest, std::uint64_t seed) {
  Random random(seed);
  std::vector<Entries> lists(static_cast<std::size_t>(rows));
  for (Entries& list : lists) {
    std::vector<bool> has(columns);
    for (std::int64_t entries = 1 + random.below(12); entries > 0; --entries)
      has[static_cast<std::size_t>(columns * std::sqrt(random.unit()))] = true;
    for (Column column = 0; column < columns; ++column) {
      if (has[column]) list.emplace_back(column, 1.0 + static_cast<double>(random.below(largest)));
    }
  }
  return matrix_of(columns, lists);
}

/// Every second row is twice its predecessor.
CsrMatrix doubled_rows(CsrMatrix rows) {
  auto lists = entries_of(rows);
  for (std::size_t row = 1; row < lists.size(); row += 2) {
    lists[row] = lists[row - 1];
    for (auto& [column, value] : lists[row])
      value *= 2;
  }
  return matrix_of(rows.columns, lists);
}

TEST(PairBackend, PairsOfIntegerRowsAreThoseOfExactArithmetic) {
  const struct {
    const char* name;
    CsrMatrix rows;
    std::int64_t least_at_the_cut;
  } corpora[] = {{"sets", count_rows(1500, 14, 1, 51), 1000},
                 {"doubled", doubled_rows(count_rows(700, 14, 3, 52)), 100},
                 {"counts", count_rows(700, 14, 4, 53), 100}};
  for (const auto& [name, rows, least_at_the_cut] : corpora) {
    const BackendProblem problem = self_join(rows);
    const QuantizedRows integers = integers_of(rows);
    const auto matrix = reference(problem.queries.rows, problem.items);
    for (const Cut cut : {Cut{1, 2}, Cut{4, 5}, Cut{1, 1}}) {
      SCOPED_TRACE(std::string(name) + " at " + std::to_string(cut.value()));
      const TruePairs truth(integers, cut);
      const PairFilterSpec spec{.at_least = cut.value()};

      const Pairs wanted = expected(problem, matrix, spec);
      for (const auto way : ways()) {
        const Pairs pairs = found(
            problem, spec, make_cpu_pair_backend({problem.grid, problem.arithmetic, 2}, spec, way));

        std::vector<std::pair<std::int64_t, std::int64_t>> places;
        for (const auto& [query, pair] : pairs)
          places.emplace_back(query, pair.item);
        EXPECT_TRUE(pairs == wanted) << name_of(way);
        EXPECT_TRUE(places == truth.pairs) << places.size() << " of " << truth.pairs.size();
      }
      EXPECT_GT(truth.at_the_cut, least_at_the_cut);
    }
  }
}

TEST(PairBackend, DotProductsOfRowsOfAnyLengthLoseNoPair) {
  const CsrMatrix rows = count_rows(300, 40, 9, 71);
  for (const auto& [up, down] : {std::pair{0, 0}, {300, -300}, {-1074, 1020}, {-70, -70}}) {
    const auto scaled = [&](int exponent) {
      CsrMatrix all = rows;
      for (double& value : all.values)
        value = std::ldexp(value, exponent);
      return quantized_rows(all, kDotQ26);
    };
    BackendProblem problem({rows.rows(), rows.rows()}, {128, 200}, kDotQ26);
    problem.queries.rows = scaled(up);
    problem.items = scaled(down);
    const auto matrix = reference(problem.queries.rows, problem.items);
    for (const float least : {1.0f, 60.0f, 250.0f}) {
      const PairFilterSpec spec{.at_least = std::ldexp(least, up + down)};

      const Pairs wanted = expected(problem, matrix, spec);
      for (const auto way : ways()) {
        const Pairs pairs = found(
            problem, spec, make_cpu_pair_backend({problem.grid, problem.arithmetic, 2}, spec, way));

        EXPECT_TRUE(pairs == wanted) << up << ' ' << least << ' ' << name_of(way);
      }
      EXPECT_GT(wanted.size(), 50U) << up << ' ' << least;
    }
  }
}

TEST(PairBackend, TheBestPairsOfRowsAmongThemselvesAreFoundOnceForBothRows) {
  for (const std::int64_t largest : {1, 1000}) {
    for (const bool is_signed : {false, true}) {
      CsrMatrix rows = count_rows(900, 30, largest, 81);
      for (std::size_t at = 0; is_signed && at < rows.values.size(); at += 3)
        rows.values[at] *= -1;
      BackendProblem problem = self_join(rows);
      problem.queries.first_items_are_positive = !is_signed;
      problem.queries.are_items = true;
      const auto matrix = reference(problem.queries.rows, problem.items);
      for (const Partners partners : {Partners::kLater, Partners::kNotEarlier}) {
        for (const PairFilterSpec& spec : {PairFilterSpec{.count = 7}, PairFilterSpec{.count = 850},
                                           PairFilterSpec{.at_least = 0.4f, .count = 20}}) {
          PairFilterSpec mirrored = spec;
          mirrored.keep = Keep::kBest;
          mirrored.mirrored = true;
          mirrored.partners = partners;
          PairFilterSpec wanted = mirrored;
          wanted.partners = partners == Partners::kLater ? Partners::kOthers : Partners::kAll;
          ItemChunk chunk = problem.chunk({0, problem.grid.columns()});
          chunk.rows = problem.queries.rows;
          PairCollector sink;
          const auto backend =
              make_cpu_pair_backend({problem.grid, problem.arithmetic, 2}, mirrored);

          backend->set_queries(problem.queries, sink);
          backend->submit(chunk);
          backend->drain();
          take_lists(*backend, mirrored, sink);

          EXPECT_EQ(backend->recomputed_tiles(), 0);
          EXPECT_TRUE(merged(sink, wanted) == expected(problem, matrix, wanted))
              << largest << is_signed << ' ' << spec.count;
        }
      }
    }
  }
}

/// Rows of which every other one is a set, and the others are of random weights, a tenth of them
/// near-duplicates of the row before.
CsrMatrix sets_among_weighted_rows(std::int64_t rows, std::uint64_t seed) {
  auto lists = entries_of(count_rows(rows, 40, 1, seed));
  Random random(seed + 1);
  for (std::size_t row = 0; row < lists.size(); ++row) {
    if (row % 2 == 0) continue;
    if (row % 20 == 9) lists[row] = lists[row - 2];
    for (auto& [column, value] : lists[row])
      value *= 0.3 + random.unit() * (row % 20 == 9 ? 1e-3 : 1.0);
  }
  return matrix_of(40, lists);
}

TEST(PairBackend, BlocksThatMixSetsAndWeightedRowsLoseNoPair) {
  const CsrMatrix rows = sets_among_weighted_rows(1200, 61);
  const BackendProblem problem = self_join(rows);
  ASSERT_GT(problem.items.scales[0], 0.1);
  ASSERT_LT(problem.items.scales[1], 0x1p-25);
  const auto matrix = reference(problem.queries.rows, problem.items);
  for (const float cut : {0.3f, 0.5f, 0.8f, 1.0f}) {
    for (const auto way : ways()) {
      const PairFilterSpec spec{.at_least = cut};
      CpuBackendOptions options{problem.grid, problem.arithmetic, 2};
      options.search_block = 100;

      const Pairs pairs = found(problem, spec, make_cpu_pair_backend(options, spec, way));

      EXPECT_TRUE(pairs == expected(problem, matrix, spec)) << cut << ' ' << name_of(way);
      EXPECT_GT(pairs.size(), 600U) << cut;
    }
  }
}

TEST(PairBackend, BoundsSkipMuchOfTheWork) {
  const BackendProblem problem({90, 9000}, {90, 3000});
  const PairFilterSpec spec{.at_least = 0.9f};
  auto backend =
      make_cpu_pair_backend({problem.grid, problem.arithmetic, 1}, spec, PairWay::kSweep);

  PairStats work;
  found(problem, spec, std::move(backend), &work);

  EXPECT_EQ(work.cells, 90 * 9000);
  EXPECT_LT(work.products, work.useful_products * 6 / 10);
  EXPECT_LT(work.candidates, work.cells / 10);
}

TEST(PairBackend, RecomputesARowThatIsWrongOnce) {
  const BackendProblem problem({4, 16}, {4, 16});
  const float below_all = std::numeric_limits<float>::denorm_min();
  for (const PairFilterSpec& spec :
       {PairFilterSpec{.at_least = below_all},
        PairFilterSpec{.at_least = below_all, .keep = Keep::kBest, .count = 5}}) {
    const Pairs right =
        found(problem, spec, make_cpu_pair_backend({problem.grid, problem.arithmetic, 1}, spec));
    int spoiled = 0;
    CpuBackendOptions options{problem.grid, problem.arithmetic, 1};
    options.before_checks = [&](TileId tile, std::span<float> scores) {
      EXPECT_EQ(tile, (TileId{0, 0}));
      if (spoiled++ < 5) scores[0] += 0.25f;  // of the first row
    };
    PairCollector sink;
    const auto backend = make_cpu_pair_backend(options, spec);

    backend->set_queries(problem.queries, sink);
    backend->submit(problem.chunk({0, 1}));
    backend->drain();
    take_lists(*backend, spec, sink);

    EXPECT_GE(spoiled, 10);
    EXPECT_EQ(backend->recomputed_tiles(), 1);
    EXPECT_EQ(sink.disorder, 0);
    EXPECT_EQ(merged(sink, spec), right);
  }
}

TEST(PairBackend, StopsTheRunWhenARowFailsItsChecksTwice) {
  BackendProblem problem({3, 8}, {3, 8});
  problem.queries.rows =
      quantized_rows(matrix_of(10, {{{3, 1.0}}, {{4, 1.0}}, {{3, 2.0}, {5, 1.0}}}));
  // a column that occurs twice in a row counts twice in a sum, but once in a merge of two rows
  problem.items = {};
  problem.items.columns = 10;
  for (std::int64_t item = 1; item <= 8; ++item) {
    problem.items.col_indices.insert(problem.items.col_indices.end(), {3, 3});
    problem.items.values.insert(problem.items.values.end(), {1 << 20, 1 << 20});
    problem.items.row_offsets.push_back(2 * item);
    problem.items.scales.push_back(0x1p-21);
  }
  for (const PairFilterSpec& spec :
       {PairFilterSpec{.at_least = 0.001f}, PairFilterSpec{.keep = Keep::kBest, .count = 2}}) {
    PairCollector sink;
    const auto backend = make_cpu_pair_backend({problem.grid, problem.arithmetic, 2}, spec);

    expect_error(ExitCode::kSoftware,
                 {"row 0, column 0", "failed its checks twice", "test the memory"}, [&] {
                   backend->set_queries(problem.queries, sink);
                   backend->submit(problem.chunk({0, 1}));
                   backend->drain();
                 });
    EXPECT_TRUE(sink.rows.empty());
  }
}

}  // namespace

}  // namespace bulksim::test
