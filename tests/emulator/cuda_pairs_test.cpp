// Pairs with the CUDA backend on the emulated device: what the device leaves out, and what the host
// makes of the rest.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/filter.hpp"
#include "backend_support.hpp"
#include "bulksim/backend/cuda_backend.hpp"
#include "cuda_test_support.hpp"
#include "emulated_runtime.hpp"
#include "machine.hpp"

extern "C" bulksim::PairBackend* bulksim_make_cuda_pair_backend(
    const bulksim::CudaBackendOptions& options, const bulksim::ResultCut& cut);

namespace bulksim {
namespace {

using test::BackendProblem;

/// A pair with its query.
struct Found {
  std::int64_t query;
  ScoredItem pair;

  bool operator==(const Found&) const = default;
};

bool by_place(const Found& a, const Found& b) {
  return std::pair(a.query, a.pair.item) < std::pair(b.query, b.pair.item);
}

class PairCollector final : public PairSink {
 public:
  std::unique_ptr<PairWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::vector<Found> found;

 private:
  class Writer final : public PairWriter {
   public:
    explicit Writer(PairCollector& sink) : sink_(sink) {}
    void begin(TileId) override { tile_.clear(); }
    void write(std::int64_t query, std::span<const ScoredItem> pairs) override {
      for (const ScoredItem& pair : pairs)
        tile_.push_back({query, pair});
    }
    void finish() override {
      EXPECT_TRUE(std::is_sorted(tile_.begin(), tile_.end(), by_place));
      const std::lock_guard lock(sink_.mutex_);
      sink_.found.insert(sink_.found.end(), tile_.begin(), tile_.end());
    }

   private:
    PairCollector& sink_;
    std::vector<Found> tile_;
  };

  std::mutex mutex_;
};

/// Of each query those with the highest preference, all by place.
std::vector<Found> kept(std::vector<Found> pairs, const ResultCut& cut) {
  if (cut.keep != Keep::kAll) {
    const auto key = [&](const Found& one) {
      return preference(cut, one.query, one.pair.item, one.pair.score);
    };
    std::sort(pairs.begin(), pairs.end(), [&](const Found& a, const Found& b) {
      return a.query != b.query ? a.query < b.query : key(a) > key(b);
    });
    std::vector<Found> best;
    for (const Found& one : pairs) {
      const auto same = std::count_if(best.begin(), best.end(),
                                      [&](const Found& other) { return other.query == one.query; });
      if (same < cut.count) best.push_back(one);
    }
    pairs = best;
  }
  std::sort(pairs.begin(), pairs.end(), by_place);
  return pairs;
}

/// By the definition: every pair, one after the other.
std::vector<Found> expected(const BackendProblem& problem, const ResultCut& cut) {
  std::vector<Found> all;
  for (std::int64_t q = 0; q < problem.grid.shape().queries; ++q) {
    for (std::int64_t i = 0; i < problem.grid.shape().items; ++i) {
      const float score = to_cosine(exact_sum(problem.queries.rows, q, problem.items, i),
                                    inverse_one(problem.arithmetic));
      if (cut.admits(q, i, score)) all.push_back({q, {i, score}});
    }
  }
  return kept(std::move(all), cut);
}

/// What a backend finds, two columns of tiles at a time.
class CudaPairsTest : public testing::Test {
 protected:
  CudaPairsTest() { emulator::reset_runtime({}, emulator::StreamOrder::kShuffled, 5); }
  ~CudaPairsTest() override {
    emulator::reset_runtime();
    EXPECT_EQ(emulator::live_objects(), 0);
  }

  std::vector<Found> find(const BackendProblem& problem, const ResultCut& cut) {
    CudaBackendOptions options;
    options.grid = problem.grid;
    options.arithmetic = problem.arithmetic;
    options.pinned_tiles = 3;
    PairCollector sink;
    const std::unique_ptr<PairBackend> backend(bulksim_make_cuda_pair_backend(options, cut));
    backend->set_queries(problem.queries, sink);
    if (before_work_) before_work_();
    for (std::int64_t column = 0; column < problem.grid.columns(); column += 2) {
      backend->submit(problem.chunk({column, std::min(column + 2, problem.grid.columns())}));
    }
    backend->drain();
    recomputed_ = backend->recomputed_tiles();
    return kept(std::move(sink.found), cut);
  }

  std::function<void()> before_work_;
  std::int64_t recomputed_ = 0;
};

ResultCut at_least(float score) {
  ResultCut cut;
  cut.at_least = score;
  return cut;
}

ResultCut keeping(Keep keep, std::int64_t count) {
  ResultCut cut;
  cut.keep = keep;
  cut.count = count;
  cut.seed = 7;
  return cut;
}

TEST_F(CudaPairsTest, AreThoseOfTheWholeMatrixWhateverTheCut) {
  const BackendProblem problem({24, 100}, {16, 48});
  ResultCut band = at_least(0.1F);
  band.below = 0.3F;
  ResultCut nonzero;
  nonzero.nonzero_only = true;
  ResultCut part = at_least(0.05F);
  part.partners = Partners::kLater;
  part.queries = {3, 20};
  part.items = {10, 90};
  ResultCut best_above = keeping(Keep::kBest, 4);
  best_above.at_least = 0.2F;
  const ResultCut cuts[] = {at_least(0.2F),
                            at_least(-1.0F),
                            at_least(2.0F),
                            band,
                            nonzero,
                            part,
                            best_above,
                            keeping(Keep::kBest, 3),
                            keeping(Keep::kBest, 400),
                            keeping(Keep::kSample, 5)};

  for (const ResultCut& cut : cuts) {
    EXPECT_EQ(find(problem, cut), expected(problem, cut)) << "cut " << (&cut - cuts);
    EXPECT_EQ(recomputed_, 0);
  }
}

TEST_F(CudaPairsTest, WithRowsThatDoNotFillAWordOfTheBitmap) {
  for (const TileShape tile : {TileShape{7, 1}, TileShape{12, 331}, TileShape{5, 1500}}) {
    const BackendProblem problem({12, tile.items == 1 ? 9 : 1600}, tile);

    EXPECT_EQ(find(problem, at_least(0.3F)), expected(problem, at_least(0.3F)));
  }
}

TEST_F(CudaPairsTest, BringDownWhatIsLeftAndNotTheTiles) {
  const BackendProblem problem({16, 2048}, {16, 1024});
  const std::size_t tile_bytes = 4 * 16 * 1024;
  before_work_ = [&] { emulator::lose_downloads(tile_bytes - 1, 1, 1000); };

  EXPECT_EQ(find(problem, at_least(0.4F)), expected(problem, at_least(0.4F)));
  EXPECT_EQ(recomputed_, 0);  // no download was as large as a tile
}

TEST_F(CudaPairsTest, AreComputedAgainWhenTheirListsAreLost) {
  const BackendProblem problem({16, 1024}, {16, 1024});
  before_work_ = [] { emulator::lose_downloads(200, 1, 1); };

  EXPECT_EQ(find(problem, at_least(0.4F)), expected(problem, at_least(0.4F)));
  EXPECT_EQ(recomputed_, 1);
}

TEST_F(CudaPairsTest, AreComputedAgainWhenTheirCellsWereNotGathered) {
  const BackendProblem problem({16, 1024}, {16, 1024});
  before_work_ = [] { emulator::skip_launch("gather_cells_kernel", 1); };

  EXPECT_EQ(find(problem, at_least(0.4F)), expected(problem, at_least(0.4F)));
  EXPECT_EQ(recomputed_, 1);
}

}  // namespace
}  // namespace bulksim
