#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/log.hpp"
#include "bulksim/job/compute_job.hpp"
#include "bulksim/storage/pair_file.hpp"
#include "hdf5/file.hpp"
#include "mpi_test_main.hpp"
#include "test_support.hpp"

namespace bulksim::test {
namespace {

/// A run of all ranks for pairs of two matrices, or of one with itself.
class PairsJob {
 public:
  PairsJob(const CsrMatrix& queries, const CsrMatrix& items, const ResultCut& cut)
      : PairsJob(items, cut) {
    config.queries = folder / "queries.csr";
    if (world().rank() == 0) write_csr(config.queries, queries);
  }
  PairsJob(const CsrMatrix& items, const ResultCut& cut) {
    config.items = folder / "items.csr";
    config.output = folder / "result.h5";
    config.threads = 2;
    config.cut = cut;
    if (world().rank() == 0) write_csr(config.items, items);
  }

  /// The code of the error, or 0; its sentence in `sentence`.
  int run() {
    Log log({.level = LogLevel::kError, .rank = world().rank(), .ranks = world().size()});
    world().barrier();
    try {
      run_compute(config, {*environment, system_file_calls(), log});
      return 0;
    } catch (const Error& error) {
      sentence = error.what();
      return static_cast<int>(error.code());
    }
  }
  std::string bytes() const {
    return world().rank() == 0 ? read_file(config.output) : std::string();
  }

  SharedFolder folder;
  JobConfig config;
  std::string sentence;
};

template <class T>
std::vector<T> read_array(const h5::File& file, const std::string& name, hid_t type) {
  const h5::Dataset array(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), "open " + name);
  const h5::Dataspace space(H5Dget_space(array.get()), "look at " + name);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  h5::check(H5Dread(array.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
            "read " + name);
  return values;
}

/// A CSR group, as text that a failure shows: "query item score" a line.
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

std::string expected(const CsrMatrix& queries, const CsrMatrix& items, const ResultCut& cut) {
  const auto matrix = reference(unit_rows(queries), unit_rows(items));
  std::string text;
  for (std::size_t cell = 0; cell < matrix.size(); ++cell) {
    const auto query = static_cast<std::int64_t>(cell) / items.rows();
    const auto item = static_cast<std::int64_t>(cell) % items.rows();
    if (!cut.admits(query, item, matrix[cell])) continue;
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
    EXPECT_EQ(pairs_in(job.config.output), expected(queries, items, *job.config.cut)) << threshold;
  }
}

TEST(PairsJob, ItemsComparedWithThemselvesGiveEachPairOnce) {
  const auto items = random_rows(1'500, 300, 10, 3);
  PairsJob job(items, {.at_least = 0.4f, .partners = Partners::kLater});
  job.config.tile = TileShape{100, 300};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output), expected(items, items, *job.config.cut));
}

TEST(PairsJob, BothSidesOfEachPairAreComputedOnceAndFilterTheMatrix) {
  const auto items = random_rows(1'500, 300, 10, 3);
  for (const TileShape tile : {TileShape{100, 300}, TileShape{300, 128}, TileShape{64, 1'500}}) {
    for (const Partners partners : {Partners::kOthers, Partners::kAll}) {
      PairsJob job(items, {.at_least = 0.4f, .partners = partners});
      job.config.tile = tile;

      ASSERT_EQ(job.run(), 0) << job.sentence;

      if (world().rank() != 0) continue;
      EXPECT_EQ(pairs_in(job.config.output), expected(items, items, *job.config.cut));
    }
  }
}

TEST(PairsJob, NonzeroCellsOfOneMatrixAreSymmetric) {
  const auto items = random_rows(400, 300, 6, 3);
  PairsJob job(items, {.nonzero_only = true, .partners = Partners::kAll});
  job.config.tile = TileShape{64, 128};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output, "nonzero"), expected(items, items, *job.config.cut));
}

TEST(PairsJob, NonzeroCellsAreWholeAndRangesKeepTheNumbersOfRows) {
  const auto queries = random_rows(90, 300, 12, 4);
  const auto items = random_rows(1'100, 300, 15, 5);
  PairsJob job(queries, items,
               {.nonzero_only = true, .queries = {30, 61}, .items = {100, 1'000'000}});
  job.config.tile = TileShape{32, 256};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output, "nonzero"), expected(queries, items, *job.config.cut));
}

TEST(PairsJob, TheBestAreThoseOfAStableSortOfTheMatrix) {
  const auto queries = random_rows(150, 300, 12, 6);
  const auto items = random_rows(2'000, 300, 15, 7);
  constexpr std::int64_t kBest = 40;
  PairsJob job(queries, items, {.keep = Keep::kBest, .count = kBest});
  job.config.tile = TileShape{64, 512};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  const auto matrix = reference(unit_rows(queries), unit_rows(items));
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

TEST(PairsJob, PlacesLeftOverHoldNoItem) {
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

TEST(PairsJob, case_22_the_diagonal_of_an_empty_row_is_0_too) {
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

TEST(PairsJob, case_23_a_threshold_below_0_keeps_empty_rows_and_no_nan) {
  const auto items = matrix_of(3, {{}, {{0, 1.0}}});
  PairsJob job(items, {.at_least = -1.0f});

  ASSERT_EQ(job.run(), 0) << job.sentence;

  if (world().rank() != 0) return;
  EXPECT_EQ(pairs_in(job.config.output),
            "0 0 0.000000\n0 1 0.000000\n1 0 0.000000\n1 1 1.000000\n");
}

TEST(PairsJob, TheBytesDependOnNothingButThePlan) {
  const auto queries = random_rows(100, 300, 12, 8);
  const auto items = random_rows(2'000, 300, 15, 9);
  const std::vector<ResultCut> cuts{{.at_least = 0.3f},
                                    {.keep = Keep::kBest, .count = 15},
                                    {.keep = Keep::kSample, .count = 5, .seed = 7}};
  for (const ResultCut& cut : cuts) {
    for (const char* name : {"result.h5", "result.npz", "result.tsv"}) {
      PairsJob first(queries, items, cut);
      PairsJob second(queries, items, cut);
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

TEST(PairsJob, IdenticalRowsStreamAndAreRefusedByTheLimitWithTheirSize) {
  if (world().size() > 1) GTEST_SKIP() << "one rank alone fails while it streams";
  const std::vector<Entries> same(60'000, {{3, 1.5}});
  PairsJob job(matrix_of(8, same), {.at_least = 0.5f, .partners = Partners::kLater});
  job.config.max_output = 64 << 20;

  EXPECT_EQ(job.run(), 74);

  EXPECT_NE(job.sentence.find(" GB ("), std::string::npos) << job.sentence;
  EXPECT_NE(job.sentence.find("--max-output allows 67.1 MB"), std::string::npos) << job.sentence;
  EXPECT_FALSE(std::filesystem::exists(job.config.output));
}

TEST(PairsJob, ARefusedRunGoesOnWithAHigherLimit) {
  if (world().size() > 1) GTEST_SKIP() << "one rank alone fails while it streams";
  const std::vector<Entries> same(2'000, {{3, 1.5}});
  PairsJob job(matrix_of(8, same), {.at_least = 0.5f, .partners = Partners::kLater});
  job.config.max_output = 8'000'000;
  ASSERT_EQ(job.run(), 74);
  job.config.max_output = 80'000'000;

  EXPECT_EQ(job.run(), 0) << job.sentence;

  const h5::File file = h5::open_file(job.config.output);
  const auto offsets = read_array<std::int64_t>(file, "pairs/indptr", H5T_NATIVE_INT64);
  EXPECT_EQ(offsets.back(), 2'000 * 1'999 / 2);
}

}  // namespace
}  // namespace bulksim::test
