// The same tests for every backend: on the CPU, on the emulated device, and on a real device if
// there is one.
#include "bulksim/backend/similarity_backend.hpp"

#include <list>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/cuda_backend.hpp"
#include "support/backend_support.hpp"

namespace bulksim {
namespace {

enum class Kind { kCpu, kEmulatedCuda, kCuda };

std::string name_of(Kind kind) {
  return kind == Kind::kCpu ? "Cpu" : kind == Kind::kEmulatedCuda ? "EmulatedCuda" : "Cuda";
}

struct Shape {
  std::string name;
  MatrixShape matrix;
  TileShape tile;
  FixedPoint arithmetic = kQ26;
};

/// The backends that can run here.
std::vector<Kind> kinds() {
  std::vector<Kind> all{Kind::kCpu, Kind::kEmulatedCuda};
  try {
    find_cuda_device(0, BULKSIM_CUDA_MODULE);
    all.push_back(Kind::kCuda);
  } catch (const Error&) {
    // CudaModuleTest checks the reason
  }
  return all;
}

std::unique_ptr<SimilarityBackend> make_backend(Kind kind, const test::BackendProblem& problem) {
  if (kind == Kind::kCpu) {
    CpuBackendOptions options;
    options.grid = problem.grid;
    options.arithmetic = problem.arithmetic;
    options.threads = 2;
    return make_cpu_backend(options);
  }
  CudaBackendOptions options;
  options.grid = problem.grid;
  options.pinned_tiles = 4;
  options.module = kind == Kind::kEmulatedCuda ? BULKSIM_EMULATED_MODULE : BULKSIM_CUDA_MODULE;
  return make_cuda_backend(options);
}

using BackendCase = std::tuple<Kind, Shape>;

class SimilarityBackendTest : public testing::TestWithParam<BackendCase> {};

INSTANTIATE_TEST_SUITE_P(
    Backends, SimilarityBackendTest,
    testing::Combine(testing::ValuesIn(kinds()),
                     testing::Values(Shape{"OneCell", {1, 1}, {1, 1}},
                                     Shape{"TilesOfOneItem", {5, 9}, {3, 1}},
                                     Shape{"TilesOfSevenItems", {20, 50}, {6, 7}},
                                     Shape{"TilesOfThirtyOneItems", {33, 130}, {32, 31}},
                                     Shape{"TilesOfThirtyThreeItems", {31, 130}, {31, 33}},
                                     Shape{"TilesOfAThousandItems", {20, 2500}, {16, 1000}},
                                     Shape{"TilesOfOneBlockAndABit", {6, 2100}, {4, 1025}},
                                     Shape{"TilesLargerThanTheMatrix", {3, 5}, {64, 128}},
                                     Shape{"OneQuery", {1, 1500}, {1, 1024}},
                                     Shape{"ManyRowsOfTiles", {100, 30}, {3, 16}},
                                     Shape{"WideGrid", {30, 1500}, {16, 1024}, kQ30},
                                     Shape{"DotProducts", {30, 1500}, {16, 1025}, kDotQ26})),
    [](const auto& test_case) {
      return name_of(std::get<0>(test_case.param)) + "_" + std::get<1>(test_case.param).name;
    });

TEST_P(SimilarityBackendTest, GivesTheBitsOfAMergeForEveryChunk) {
  const auto& [kind, shape] = GetParam();
  const test::BackendProblem problem(shape.matrix, shape.tile, shape.arithmetic);
  std::list<test::TileCollector> sinks;  // they must outlive the threads of the backend
  const auto backend = make_backend(kind, problem);

  for (const std::int64_t columns : {1, 2, 8}) {
    test::TileCollector& sink = sinks.emplace_back(problem.grid.tile());

    problem.run(*backend, sink, columns);

    EXPECT_EQ(static_cast<std::int64_t>(sink.tiles.size()), problem.grid.count());
    EXPECT_EQ(sink.disorder, 0);
    EXPECT_EQ(problem.wrong_cells(sink), 0);
  }
  EXPECT_EQ(backend->recomputed_tiles(), 0);
}

TEST(CudaModuleTest, IsUnavailableWhenItIsMissing) {
  CudaBackendOptions options;
  options.grid = TileGrid({1, 1}, {1, 1});
  options.module = "/nowhere/libbulksim_cuda.so";

  test::expect_error(ExitCode::kUnavailable, {"/nowhere/libbulksim_cuda.so"},
                     [&] { make_cuda_backend(options); });
}

TEST(CudaModuleTest, FindsADeviceOrReportsThatThereIsNone) {
  std::string reason = "none";

  try {
    EXPECT_NE(find_cuda_device(0, BULKSIM_CUDA_MODULE).uuid, "");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::kUnavailable);
    reason = error.what();
  }

  const std::string expected = has_cuda_module() ? "no CUDA device is available" : "cannot load";
  EXPECT_TRUE(reason == "none" || reason.starts_with(expected)) << reason;
}

TEST(CudaModuleTest, FindsAndWarmsUpTheDevice) {
  const CudaDevice device = find_cuda_device(0, BULKSIM_EMULATED_MODULE);

  EXPECT_EQ(device.uuid, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f");
  EXPECT_NE(device.description.find(device.uuid), std::string::npos) << device.description;
  EXPECT_EQ(device.l2_bytes, 4 << 20);
  EXPECT_GT(device.free_bytes, 1 << 20);
  EXPECT_GT(device.download_rate, 0.0);
}

TEST(CudaBackendHostBytesTest, CountTilesAndStagedRows) {
  CudaBackendOptions options;
  options.grid = TileGrid({4096, 100'000}, {1024, 4096});
  options.pinned_tiles = 8;

  const std::int64_t bytes = cuda_backend_host_bytes(options, 1'000'000);

  EXPECT_GE(bytes, 8 * 1024 * 4096 * 4 + 2 * 8 * 1'000'000);
  EXPECT_LE(bytes, 8 * 1024 * 4096 * 4 + 2 * 8 * 1'300'000);
}

}  // namespace
}  // namespace bulksim
