// Pairs with the CUDA backend on the emulated device: what the device drops, and what the host
// selects from the rest.
#include <algorithm>
#include <functional>
#include <memory>

#include <gtest/gtest.h>

#include "backend/cuda/cuda_backend.hpp"
#include "emulator/device/emulated_runtime.hpp"
#include "support/pair_support.hpp"

extern "C" bulksim::PairBackend* bulksim_make_cuda_pair_backend(
    const bulksim::CudaBackendOptions& options, const bulksim::PairFilterSpec& spec);

namespace bulksim {
namespace {

using test::BackendProblem;
using test::Pairs;

/// By definition: every pair, one after the other.
Pairs expected(const BackendProblem& problem, const PairFilterSpec& spec) {
  return test::expected(problem, test::reference(problem.queries.rows, problem.items), spec);
}

/// What a backend finds, two columns of tiles at a time.
class CudaPairsTest : public testing::Test {
 protected:
  CudaPairsTest() { emulator::reset_runtime({}, emulator::StreamOrder::kShuffled, 5); }
  ~CudaPairsTest() override {
    emulator::reset_runtime();
    EXPECT_EQ(emulator::live_objects(), 0);
  }

  Pairs find(const BackendProblem& problem, const PairFilterSpec& spec) {
    CudaBackendOptions options;
    options.grid = problem.grid;
    options.pinned_tiles = 3;
    test::PairCollector sink;
    const std::unique_ptr<PairBackend> backend(bulksim_make_cuda_pair_backend(options, spec));
    backend->set_queries(problem.queries, sink);
    if (before_work_) before_work_();
    for (std::int64_t column = 0; column < problem.grid.columns(); column += 2) {
      backend->submit(problem.chunk({column, std::min(column + 2, problem.grid.columns())}));
    }
    backend->drain();
    test::take_lists(*backend, spec, sink);
    recomputed_ = backend->recomputed_tiles();
    EXPECT_EQ(sink.disorder, 0);
    return test::merged(sink, spec);
  }

  std::function<void()> before_work_;
  std::int64_t recomputed_ = 0;
};

PairFilterSpec at_least(float score) {
  PairFilterSpec spec;
  spec.at_least = score;
  return spec;
}

PairFilterSpec keeping(Keep keep, std::int64_t count) {
  PairFilterSpec spec;
  spec.keep = keep;
  spec.count = count;
  spec.seed = 7;
  return spec;
}

TEST_F(CudaPairsTest, AreThoseOfTheWholeMatrixForEveryFilter) {
  const BackendProblem problem({24, 100}, {16, 48});
  PairFilterSpec band = at_least(0.1F);
  band.below = 0.3F;
  PairFilterSpec nonzero;
  nonzero.nonzero_only = true;
  PairFilterSpec part = at_least(0.05F);
  part.partners = Partners::kLater;
  part.queries = {3, 20};
  part.items = {10, 90};
  PairFilterSpec best_above = keeping(Keep::kBest, 4);
  best_above.at_least = 0.2F;
  const PairFilterSpec specs[] = {at_least(0.2F),
                                  at_least(0.5F),
                                  at_least(1.0F),
                                  at_least(-1.0F),
                                  at_least(2.0F),
                                  band,
                                  nonzero,
                                  part,
                                  best_above,
                                  keeping(Keep::kBest, 3),
                                  keeping(Keep::kBest, 400),
                                  keeping(Keep::kSample, 5)};

  for (const PairFilterSpec& spec : specs) {
    EXPECT_EQ(find(problem, spec), expected(problem, spec)) << "filter " << (&spec - specs);
    EXPECT_EQ(recomputed_, 0);
  }
}

TEST_F(CudaPairsTest, AreFoundInRowsThatDoNotFillAWordOfTheBitmap) {
  for (const TileShape tile : {TileShape{7, 1}, TileShape{12, 331}, TileShape{5, 1500}}) {
    const BackendProblem problem({12, tile.items == 1 ? 9 : 1600}, tile);

    EXPECT_EQ(find(problem, at_least(0.3F)), expected(problem, at_least(0.3F)));
  }
}

TEST_F(CudaPairsTest, DownloadTheCandidatesAndNotTheTiles) {
  const BackendProblem problem({16, 2048}, {16, 1024});
  const std::size_t tile_bytes = 4 * 16 * 1024;
  before_work_ = [&] { emulator::lose_downloads(tile_bytes - 1, 1, 1000); };

  EXPECT_EQ(find(problem, at_least(0.4F)), expected(problem, at_least(0.4F)));
  EXPECT_EQ(recomputed_, 0);  // no download was as large as a tile
}

TEST_F(CudaPairsTest, AreRecomputedWhenTheirListsAreLost) {
  const BackendProblem problem({16, 1024}, {16, 1024});
  before_work_ = [] { emulator::lose_downloads(200, 1, 1); };

  EXPECT_EQ(find(problem, at_least(0.4F)), expected(problem, at_least(0.4F)));
  EXPECT_EQ(recomputed_, 1);
}

TEST_F(CudaPairsTest, AreRecomputedWhenTheirCellsWereNotGathered) {
  const BackendProblem problem({16, 1024}, {16, 1024});
  before_work_ = [] { emulator::skip_launch("gather_cells_kernel", 1); };

  EXPECT_EQ(find(problem, at_least(0.4F)), expected(problem, at_least(0.4F)));
  EXPECT_EQ(recomputed_, 1);
}

}  // namespace
}  // namespace bulksim
