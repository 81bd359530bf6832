// The softmax partials that the CUDA backend returns with its tiles, or alone.
#include <memory>

#include <gtest/gtest.h>

#include "backend/cuda/cuda_backend.hpp"
#include "emulator/device/emulated_runtime.hpp"
#include "support/backend_support.hpp"

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options);

namespace bulksim {
namespace {

using test::BackendProblem;
using test::TileCollector;

constexpr double kScale = 20.0;

class CudaPartialsTest : public testing::TestWithParam<TileContent> {
 protected:
  CudaPartialsTest() { emulator::reset_runtime({}, emulator::StreamOrder::kShuffled, 5); }
  ~CudaPartialsTest() override {
    emulator::reset_runtime();
    EXPECT_EQ(emulator::live_objects(), 0);
  }

  /// Runs the problem and compares everything; returns the number of recomputed tiles.
  std::int64_t run(const BackendProblem& problem) {
    CudaBackendOptions options;
    options.grid = problem.grid;
    options.pinned_tiles = 2;
    options.content = GetParam();
    options.softmax_scale = kScale;
    TileCollector sink(problem.grid.tile());
    const std::unique_ptr<SimilarityBackend> backend(bulksim_make_cuda_backend(options));
    problem.run(*backend, sink);
    EXPECT_EQ(static_cast<std::int64_t>(sink.partials.size()), problem.grid.count());
    for (const auto& [tile, partials] : sink.partials)
      EXPECT_EQ(problem.wrong_partials(tile, partials, kScale), 0)
          << tile.row << "," << tile.column;
    const auto cells = static_cast<std::size_t>(problem.grid.tile().cells());
    for (const auto& [tile, values] : sink.tiles)
      EXPECT_EQ(values.size(), GetParam() == TileContent::kPartials ? 0 : cells);
    return backend->recomputed_tiles();
  }
};

INSTANTIATE_TEST_SUITE_P(Contents, CudaPartialsTest,
                         testing::Values(TileContent::kValuesAndPartials, TileContent::kPartials),
                         [](const auto& content) {
                           return content.param == TileContent::kPartials ? "Alone"
                                                                          : "BesideValues";
                         });

TEST_P(CudaPartialsTest, HaveTheBitsOfTheDefinition) {
  EXPECT_EQ(run(BackendProblem({20, 100}, {16, 48})), 0);
  EXPECT_EQ(run(BackendProblem({9, 2100}, {6, 1500})), 0);  // blocks that extend past the edge
  EXPECT_EQ(run(BackendProblem({5, 40}, {5, 33}, kQ30)), 0);
}

TEST_P(CudaPartialsTest, AreRecomputedWhenTheyAreLost) {
  const BackendProblem problem({16, 64}, {16, 64});
  emulator::lose_downloads(200, GetParam() == TileContent::kPartials ? 1 : 2, 1);

  EXPECT_EQ(run(problem), 1);
}

}  // namespace
}  // namespace bulksim
