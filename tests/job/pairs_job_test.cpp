#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "support/pairs_job_support.hpp"

namespace bulksim::test {
namespace {

/// A CSR group as text for failure messages, one line "query item score" per pair.
std::string pairs_in(const std::string& path, const std::string& group = "pairs") {
  const h5::File file = h5::open_file(path);
  const auto offsets = read_array<std::int64_t>(file, group + "/indptr", H5T_NATIVE_INT64);
  const auto items = read_array<std::int32_t>(file, group + "/indices", H5T_NATIVE_INT32);
  const auto scores = read_array<float>(file, group + "/data", H5T_NATIVE_FLOAT);
  std::string text;
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
    for (auto at = static_cast<std::size_t>(offsets[row]);
         at < static_cast<std::size_t>(offsets[row + 1]); ++at) {
      text += std::to_string(row) + ' ' + std::to_string(items[at]) + ' ' +
              std::to_string(scores[at]) + '\n';
    }
  }
  return text;
}

std::string expected(const CsrMatrix& queries, const CsrMatrix& items,
                     const PairFilterSpec& filter) {
  const auto matrix = reference(quantized_rows(queries), quantized_rows(items));
  std::string text;
  for (std::size_t cell = 0; cell < matrix.size(); ++cell) {
    const auto query = static_cast<std::int64_t>(cell) / items.rows();
    const auto item = static_cast<std::int64_t>(cell) % items.rows();
    if (!filter.admits(query, item, matrix[cell])) continue;
    text += std::to_string(query) + ' ' + std::to_string(item) + ' ' +
            std::to_string(matrix[cell]) + '\n';
  }
  return text;
}

TEST(PairsJob, AThresholdIsAFilterOfTheFullMatrix) {
  const auto queries = random_rows(150, 300, 12, 1);
  const auto items = random_rows(3'000, 300, 15, 2);
  for (const float threshold : {0.5f, 0.0f, -0.1f}) {
    PairsJob job(queries, items, {.at_least = threshold});
    job.config.tile = TileShape{64, 512};

    ASSERT_EQ(job.run(), 0) << job.sentence;

    if (world().rank() != 0) continue;
    EXPECT_EQ(pairs_in(job.config.output), expected(queries, items, *job.config.filter))
        << threshold;
  }
}

TEST(PairsJob, ItemsComparedWithThemselvesGiveEachPairOnce) {
  const auto items = random_rows(1'500, 300, 10, 3);
  PairsJob job(items, {.at_least = 0.4f, .partners = Partners::kLater});
  job.config.tile = TileShape{100, 300};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output), expected(items, items, *job.config.filter));
}

TEST(PairsJob, BothSidesOfEachPairAreComputedOnceAndFilterTheMatrix) {
  const auto items = random_rows(1'500, 300, 10, 3);
  for (const TileShape tile : {TileShape{100, 300}, TileShape{300, 128}, TileShape{64, 1'500}}) {
    for (const Partners partners : {Partners::kOthers, Partners::kAll}) {
      PairsJob job(items, {.at_least = 0.4f, .partners = partners});
      job.config.tile = tile;

      ASSERT_EQ(job.run(), 0) << job.sentence;

      if (world().rank() != 0) continue;
      EXPECT_EQ(pairs_in(job.config.output), expected(items, items, *job.config.filter));
    }
  }
}

TEST(PairsJob, NonzeroCellsOfOneMatrixAreSymmetric) {
  const auto items = random_rows(400, 300, 6, 3);
  PairsJob job(items, {.nonzero_only = true, .partners = Partners::kAll});
  job.config.tile = TileShape{64, 128};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output, "nonzero"), expected(items, items, *job.config.filter));
}

TEST(PairsJob, NonzeroCellsAreCompleteAndRangesKeepRowNumbers) {
  const auto queries = random_rows(90, 300, 12, 4);
  const auto items = random_rows(1'100, 300, 15, 5);
  PairsJob job(queries, items,
               {.nonzero_only = true, .queries = {30, 61}, .items = {100, 1'000'000}});
  job.config.tile = TileShape{32, 256};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output, "nonzero"), expected(queries, items, *job.config.filter));
}

TEST(PairsJob, TheBestAreThoseOfAStableSortOfTheMatrix) {
  const auto queries = random_rows(150, 300, 12, 6);
  const auto items = random_rows(2'000, 300, 15, 7);
  constexpr std::int64_t kBest = 40;
  PairsJob job(queries, items, {.keep = Keep::kBest, .count = kBest});
  job.config.tile = TileShape{64, 512};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  const auto matrix = reference(quantized_rows(queries), quantized_rows(items));
  const h5::File file = h5::open_file(job.config.output);
  const auto found_items = read_array<std::int64_t>(file, "topk/items", H5T_NATIVE_INT64);
  const auto found_scores = read_array<float>(file, "topk/scores", H5T_NATIVE_FLOAT);
  std::int64_t wrong = 0;
  for (std::int64_t query = 0; query < queries.rows(); ++query) {
    const float* row = matrix.data() + query * items.rows();
    std::vector<std::int64_t> order(static_cast<std::size_t>(items.rows()));
    for (std::size_t at = 0; at < order.size(); ++at)
      order[at] = static_cast<std::int64_t>(at);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return row[a] > row[b]; });
    for (std::int64_t place = 0; place < kBest; ++place) {
      const auto at = static_cast<std::size_t>(query * kBest + place);
      const std::int64_t item = order[static_cast<std::size_t>(place)];
      wrong += found_items[at] != item || found_scores[at] != row[item];
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(PairsJob, UnusedPlacesContainNoItem) {
  const auto items = matrix_of(4, {{{0, 1.0}}, {{0, 2.0}}, {}});
  PairsJob job(items, {.partners = Partners::kOthers, .keep = Keep::kBest, .count = 4});

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  const h5::File file = h5::open_file(job.config.output);
  EXPECT_EQ(read_array<std::int64_t>(file, "topk/items", H5T_NATIVE_INT64),
            (std::vector<std::int64_t>{1, 2, -1, -1, 0, 2, -1, -1, 0, 1, -1, -1}));
  const auto scores = read_array<float>(file, "topk/scores", H5T_NATIVE_FLOAT);
  EXPECT_EQ(scores[0], 1.0f);
  EXPECT_EQ(scores[1], 0.0f);
  EXPECT_NE(scores[2], scores[2]);
}

TEST(PairsJob, TheDiagonalOfAnEmptyRowIsZeroToo) {
  const auto items = matrix_of(3, {{}, {{0, 1.0}}});
  PairsJob job(items, {.keep = Keep::kBest, .count = 2});

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  const h5::File file = h5::open_file(job.config.output);
  EXPECT_EQ(read_array<std::int64_t>(file, "topk/items", H5T_NATIVE_INT64),
            (std::vector<std::int64_t>{0, 1, 1, 0}));
  EXPECT_EQ(read_array<float>(file, "topk/scores", H5T_NATIVE_FLOAT),
            (std::vector<float>{0.0f, 0.0f, 1.0f, 0.0f}));
}

TEST(PairsJob, ANegativeThresholdKeepsEmptyRowsAndNoNan) {
  const auto items = matrix_of(3, {{}, {{0, 1.0}}});
  PairsJob job(items, {.at_least = -1.0f});

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output),
            "0 0 0.000000\n0 1 0.000000\n1 0 0.000000\n1 1 1.000000\n");
}

TEST(PairsJob, TheBytesDependOnlyOnThePlan) {
  const auto queries = random_rows(100, 300, 12, 8);
  const auto items = random_rows(2'000, 300, 15, 9);
  const std::vector<PairFilterSpec> cuts{{.at_least = 0.3f},
                                         {.keep = Keep::kBest, .count = 15},
                                         {.keep = Keep::kSample, .count = 5, .seed = 7}};
  for (const PairFilterSpec& filter : cuts) {
    for (const char* name : {"result.h5", "result.npz", "result.tsv"}) {
      PairsJob first(queries, items, filter);
      PairsJob second(queries, items, filter);
      for (PairsJob* job : {&first, &second}) {
        job->config.output = job->folder / name;
        job->config.tile = TileShape{32, 256};
      }
      second.config.threads = 1;
      second.config.chunk_rows = 1;

      ASSERT_EQ(first.run(), 0) << first.sentence;
      ASSERT_EQ(second.run(), 0) << second.sentence;

      EXPECT_EQ(first.bytes(), second.bytes()) << name;
      EXPECT_EQ(first.run(), 0) << "a result may be computed again";
    }
  }
}

}  // namespace
}  // namespace bulksim::test
