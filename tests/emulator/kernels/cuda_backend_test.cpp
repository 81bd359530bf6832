// The CUDA backend on the emulated device: the order of its streams, faults, and little memory.
#include "backend/cuda/cuda_backend.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/device_memory.hpp"
#include "emulator/device/emulated_runtime.hpp"
#include "emulator/device/machine.hpp"
#include "support/backend_support.hpp"

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options);

namespace bulksim {
namespace {

using emulator::DeviceModel;
using emulator::StreamOrder;
using test::BackendProblem;
using test::TileCollector;

CudaBackendOptions options_for(const BackendProblem& problem) {
  CudaBackendOptions options;
  options.grid = problem.grid;
  options.pinned_tiles = 3;
  options.slice_items = 2 * problem.grid.tile().items;
  return options;
}

std::unique_ptr<SimilarityBackend> make_backend(const CudaBackendOptions& options) {
  return std::unique_ptr<SimilarityBackend>(bulksim_make_cuda_backend(options));
}

class CudaBackendTest : public testing::Test {
 protected:
  CudaBackendTest() { emulator::reset_runtime(); }
  ~CudaBackendTest() override {
    emulator::reset_runtime();
    EXPECT_EQ(emulator::live_objects(), 0);
  }
};

void expect_all_tiles(const BackendProblem& problem, const TileCollector& sink) {
  EXPECT_EQ(static_cast<std::int64_t>(sink.tiles.size()), problem.grid.count());
  EXPECT_EQ(sink.disorder, 0);
  EXPECT_EQ(problem.wrong_cells(sink), 0);
}

class CudaStreamsTest : public CudaBackendTest, public testing::WithParamInterface<StreamOrder> {};

INSTANTIATE_TEST_SUITE_P(Orders, CudaStreamsTest,
                         testing::Values(StreamOrder::kAtOnce, StreamOrder::kWhenAwaited,
                                         StreamOrder::kShuffled));

TEST_P(CudaStreamsTest, AreOrderedByEventsWhereTheResultNeedsIt) {
  emulator::reset_runtime({}, GetParam(), 17);
  const BackendProblem problem({40, 300}, {8, 32});
  TileCollector sink(problem.grid.tile());
  const auto backend = make_backend(options_for(problem));

  problem.run(*backend, sink, 5);

  expect_all_tiles(problem, sink);
  EXPECT_EQ(backend->recomputed_tiles(), 0);
}

TEST_F(CudaBackendTest, NamesTheDeviceItUses) {
  emulator::reset_runtime({.devices = 2});
  CudaBackendOptions options = options_for(BackendProblem({1, 1}, {1, 1}));
  options.node_rank = 3;

  const auto backend = make_backend(options);

  EXPECT_EQ(backend->description(),
            "cuda (emulated device (GPU-01020304-0506-0708-090a-0b0c0d0e0f10, PCI 0000:01:00.0), "
            "2 x 2 warps)");
}

TEST_F(CudaBackendTest, IsUnavailableWithoutADevice) {
  emulator::reset_runtime({.devices = 0});

  test::expect_error(ExitCode::kUnavailable, {"no CUDA device"}, [] {
    make_backend(options_for(BackendProblem({1, 1}, {1, 1})));
  });
}

TEST_F(CudaBackendTest, TakesItemsInSlicesThatFitTheDevice) {
  const BackendProblem problem({20, 600}, {10, 50});
  CudaBackendOptions options = options_for(problem);
  options.slice_items = 100000;
  emulator::reset_runtime();
  {
    TileCollector sink(problem.grid.tile());
    problem.run(*make_backend(options), sink, 12);
  }
  const std::size_t wanted = emulator::peak_device_bytes();
  emulator::reset_runtime({.memory = wanted * 2 / 3});
  TileCollector sink(problem.grid.tile());

  problem.run(*make_backend(options), sink, 12);

  expect_all_tiles(problem, sink);
  EXPECT_LE(emulator::peak_device_bytes(), wanted * 2 / 3);
}

/// The largest slice of `columns` columns of tiles of a problem, and its labels.
cuda::SliceSize largest_slice(const BackendProblem& problem, std::int64_t columns) {
  const std::set<Column> labels(problem.queries.rows->col_indices.begin(),
                                problem.queries.rows->col_indices.end());
  cuda::SliceSize slice{0, 0, std::ssize(labels)};
  for (std::int64_t column = 0; column < problem.grid.columns(); column += columns) {
    const ItemChunk chunk = problem.chunk({column, column + columns});
    slice.items = std::max(slice.items, chunk.range.size());
    slice.entries = std::max(slice.entries, chunk.rows->nnz());
  }
  return slice;
}

TEST_F(CudaBackendTest, UsesAsMuchDeviceMemoryAsCounted) {
  const BackendProblem problem({40, 600}, {10, 50});
  for (const TileContent content :
       {TileContent::kValues, TileContent::kValuesAndPartials, TileContent::kPartials}) {
    CudaBackendOptions options = options_for(problem);
    options.content = content;
    options.slice_items = 100000;
    emulator::reset_runtime();
    {
      TileCollector sink(problem.grid.tile());
      problem.run(*make_backend(options), sink, 6);
    }
    const cuda::SliceSize slice = largest_slice(problem, 6).with_reserve();
    constexpr std::int64_t kEmulatedScratch = 64;
    const cuda::DeviceMemory counted{
        cuda::query_memory(problem.queries.rows->rows(), problem.queries.rows->nnz(), slice.labels),
        2 * cuda::item_row_memory(slice),
        cuda::item_block_memory(problem.grid.tile(), slice, kEmulatedScratch),
        2 * cuda::tile_memory(options, problem.grid.rows(), false)};

    const auto taken = static_cast<std::int64_t>(emulator::peak_device_bytes());

    EXPECT_LE(taken, counted.total());
    EXPECT_GE(taken, counted.total() * 19 / 20) << counted.text();
  }
}

TEST_F(CudaBackendTest, HalvesItsSlicesWhenAllocationsFail) {
  const BackendProblem problem({20, 600}, {10, 50});
  CudaBackendOptions options = options_for(problem);
  options.slice_items = 100000;
  TileCollector sink(problem.grid.tile());
  const auto backend = make_backend(options);
  backend->set_queries(problem.queries, sink);

  emulator::fail_call("cudaMalloc", 5, cudaErrorMemoryAllocation);
  backend->submit(problem.chunk({0, 12}));
  backend->drain();

  expect_all_tiles(problem, sink);
}

TEST_F(CudaBackendTest, ReportsTheMemoryNeededWhenOneColumnOfTilesDoesNotFit) {
  const BackendProblem problem({20, 600}, {10, 300});
  TileCollector sink(problem.grid.tile());
  emulator::reset_runtime({.memory = 120'000});
  const auto backend = make_backend(options_for(problem));

  test::expect_error(ExitCode::kMemory, {"kB free", "queries", "item rows", "--tile"},
                     [&] { problem.run(*backend, sink); });
}

TEST_F(CudaBackendTest, ReportsTheMemoryNeededWhenTwoTilesDoNotFit) {
  const BackendProblem problem({20, 600}, {10, 300});
  TileCollector sink(problem.grid.tile());
  emulator::reset_runtime({.memory = 20'000});
  const auto backend = make_backend(options_for(problem));

  test::expect_error(ExitCode::kMemory, {"two tiles of 10 x 300", "--tile"},
                     [&] { problem.run(*backend, sink); });
}

TEST_F(CudaBackendTest, RecomputesALostTile) {
  const BackendProblem problem({20, 100}, {10, 50});
  TileCollector sink(problem.grid.tile());
  const auto backend = make_backend(options_for(problem));
  emulator::skip_launch("score_kernel", 2);

  problem.run(*backend, sink);

  expect_all_tiles(problem, sink);
  EXPECT_EQ(backend->recomputed_tiles(), 2);
}

TEST_F(CudaBackendTest, DetectsATileLostDuringItsDownload) {
  const BackendProblem problem({20, 100}, {10, 50});
  TileCollector sink(problem.grid.tile());
  const auto backend = make_backend(options_for(problem));
  emulator::lose_downloads(1000, 3, 1);

  problem.run(*backend, sink);

  expect_all_tiles(problem, sink);
  EXPECT_EQ(backend->recomputed_tiles(), 1);
}

TEST_F(CudaBackendTest, StopsWhenATileFailsItsChecksTwice) {
  const BackendProblem problem({20, 100}, {10, 50});
  TileCollector sink(problem.grid.tile());
  const auto backend = make_backend(options_for(problem));
  emulator::lose_downloads(1000, 1, 100);

  test::expect_error(ExitCode::kSoftware,
                     {"the tile in row ", "failed its checks twice on host", "GPU-"},
                     [&] { problem.run(*backend, sink); });

  EXPECT_TRUE(sink.tiles.empty());
}

TEST_F(CudaBackendTest, EndsWithTheDeviceAndTheErrorWhenACallFails) {
  for (const std::string call :
       {"cudaMemcpyAsync", "cudaMemsetAsync", "cudaLaunchKernel", "cudaEventRecord",
        "cudaStreamWaitEvent", "cudaEventSynchronize"}) {
    for (const cudaError_t error :
         {cudaErrorECCUncorrectable, cudaErrorIllegalAddress, cudaErrorLaunchFailure}) {
      emulator::reset_runtime();
      const BackendProblem problem({20, 100}, {10, 50});
      TileCollector sink(problem.grid.tile());
      const auto backend = make_backend(options_for(problem));
      backend->set_queries(problem.queries, sink);
      emulator::fail_call(call, 3, error);

      test::expect_error(
          ExitCode::kUnavailable,
          {"cannot ", std::to_string(static_cast<int>(error)), "GPU-", "PCI ", "out of service"},
          [&] {
            backend->submit(problem.chunk({0, 2}));
            backend->drain();
          });

      emulator::reset_runtime();  // so that everything can be freed
    }
  }
}

TEST_F(CudaBackendTest, RethrowsAFailureOfAWriter) {
  const BackendProblem problem({40, 400}, {8, 32});
  test::FullDisk sink;
  const auto backend = make_backend(options_for(problem));

  test::expect_error(ExitCode::kIoError, {"the disk is full"},
                     [&] { problem.run(*backend, sink); });
  test::expect_error(ExitCode::kIoError, {"the disk is full"}, [&] { backend->drain(); });
}

TEST_F(CudaBackendTest, ProcessesTheQueriesInBatches) {
  const BackendProblem whole({40, 100}, {16, 64});
  TileCollector sink(whole.grid.tile());
  const auto backend = make_backend(options_for(whole));

  for (std::int64_t row = 0; row < whole.grid.rows(); ++row) {
    const RowRange range = whole.grid.queries(row);
    const QueryBatch batch{range, test::slice_of(whole.queries.rows, range)};
    ItemChunk chunk = whole.chunk({0, 2});
    std::erase_if(chunk.tiles, [&](const TileId& tile) { return tile.row != row; });
    backend->set_queries(batch, sink);
    backend->submit(std::move(chunk));
    backend->drain();
  }

  expect_all_tiles(whole, sink);
}

TEST_F(CudaBackendTest, ComputesOnlyTheTilesThatAreWanted) {
  const BackendProblem problem({40, 300}, {16, 32});
  TileCollector sink(problem.grid.tile());
  const auto backend = make_backend(options_for(problem));
  ItemChunk some = problem.chunk({0, 10});
  some.tiles = {{1, 0}, {0, 3}, {2, 3}, {1, 4}, {0, 9}};
  ItemChunk none = problem.chunk({1, 2});
  none.tiles.clear();

  backend->set_queries(problem.queries, sink);
  backend->submit(std::move(some));
  backend->submit(std::move(none));
  backend->drain();

  EXPECT_EQ(sink.tiles.size(), 5U);
  EXPECT_EQ(sink.disorder, 0);
  EXPECT_EQ(problem.wrong_cells(sink), 0);
}

TEST_F(CudaBackendTest, NeedsNoMoreDeviceMemoryForMoreItems) {
  const auto peak_of = [](std::int64_t items) {
    emulator::reset_runtime();
    const BackendProblem problem({16, items}, {16, 32});
    TileCollector sink(problem.grid.tile());
    problem.run(*make_backend(options_for(problem)), sink, 4);
    return emulator::peak_device_bytes();
  };

  const std::size_t some = peak_of(512);
  const std::size_t more = peak_of(2048);

  EXPECT_LE(more, some + some / 4);  // slices differ a little in their number of entries
}

}  // namespace
}  // namespace bulksim
