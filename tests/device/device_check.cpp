// Checks and measures the CUDA backend on the device of this machine. Needs nothing but CUDA.
//
//   device_check check            every bit of some small matrices against a merge of their rows
//   device_check bench [small]    a table of rates, and the same as JSON on standard output
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/cuda/block_builder.hpp"
#include "backend/cuda/download_rate.hpp"
#include "backend/cuda/item_slice.hpp"
#include "backend/cuda/query_rows.hpp"
#include "backend/cuda/scores.hpp"
#include "bulksim/backend/cuda_backend.hpp"
#include "bulksim/core/phase_timer.hpp"
#include "bulksim/sparse/synthetic_corpus.hpp"

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options);

namespace bulksim {
namespace {

/// Looks at every cell, or at nothing; either way it counts.
class Sink final : public TileSink {
 public:
  using Look = std::int64_t (*)(const void* context, const TileStripe& stripe);

  Sink(Look look, const void* context) : look_(look), context_(context) {}
  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::atomic<std::int64_t> tiles = 0;
  std::atomic<std::int64_t> wrong = 0;

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(Sink& sink) : sink_(sink) {}
    void begin(TileId) override {}
    void write(const TileStripe& stripe) override {
      sink_.wrong += sink_.look_(sink_.context_, stripe);
    }
    void finish() override { ++sink_.tiles; }

   private:
    Sink& sink_;
  };

  Look look_;
  const void* context_;
};

struct Problem {
  TileGrid grid;
  Grid arithmetic;
  QueryBatch queries;
  UnitRows items;

  Problem(std::string_view preset, MatrixShape shape, TileShape tile, Grid wanted)
      : grid(shape, tile), arithmetic(wanted) {
    const SyntheticCorpus corpus(find_corpus_preset(preset), 1);
    CsrMatrix rows;
    corpus.generate(CorpusSide::kQueries, {0, shape.queries}, rows);
    append_unit_rows(rows.view(), arithmetic, queries.rows);
    corpus.generate(CorpusSide::kItems, {0, shape.items}, rows);
    append_unit_rows(rows.view(), arithmetic, items);
    queries.range = {0, shape.queries};
  }

  ItemChunk all_items() const {
    ItemChunk chunk{{0, items.rows()}, items, {}};
    for (std::int64_t number = 0; number < grid.count(); ++number) {
      chunk.tiles.push_back(grid.id(number));
    }
    return chunk;
  }
  CudaBackendOptions options() const {
    CudaBackendOptions options;
    options.grid = grid;
    options.arithmetic = arithmetic;
    options.writers = 4;
    return options;
  }
};

std::unique_ptr<SimilarityBackend> make_backend(const Problem& problem) {
  return std::unique_ptr<SimilarityBackend>(bulksim_make_cuda_backend(problem.options()));
}

std::int64_t count_wrong(const void* context, const TileStripe& stripe) {
  const auto& problem = *static_cast<const Problem*>(context);
  const TileShape tile = problem.grid.tile();
  std::int64_t wrong = 0;
  for (std::int64_t cell = 0; cell < tile.cells(); ++cell) {
    const std::int64_t q = stripe.tile.row * tile.queries + cell / tile.items;
    const std::int64_t i = stripe.tile.column * tile.items + cell % tile.items;
    const bool exists = q < problem.grid.shape().queries && i < problem.grid.shape().items;
    const std::int64_t sum = exists ? exact_sum(problem.queries.rows, q, problem.items, i) : 0;
    const float wanted = to_cosine(sum, inverse_one(problem.arithmetic));
    wrong += std::bit_cast<std::uint32_t>(stripe.values[static_cast<std::size_t>(cell)]) !=
             std::bit_cast<std::uint32_t>(wanted);
  }
  return wrong;
}

/// Small matrices around the edges of warps, blocks and tiles; true when all are right.
bool check() {
  struct Case {
    std::string_view preset;
    MatrixShape shape;
    TileShape tile;
    Grid arithmetic;
  };
  const Case cases[] = {{"titles43", {1, 1}, {1, 1}, kFineGrid},
                        {"titles43", {33, 1023}, {32, 1023}, kFineGrid},
                        {"splade", {31, 1025}, {16, 1025}, kFineGrid},
                        {"splade", {65, 3000}, {32, 1500}, kWideGrid},
                        {"trigrams", {100, 9000}, {64, 4096}, kFineGrid},
                        {"titles", {50, 5000}, {50, 31}, kFineGrid}};
  bool right = true;
  for (const Case& c : cases) {
    const Problem problem(c.preset, c.shape, c.tile, c.arithmetic);
    Sink sink(count_wrong, &problem);
    const auto backend = make_backend(problem);
    backend->set_queries(problem.queries, sink);
    backend->submit(problem.all_items());
    backend->drain();
    const bool good =
        sink.wrong == 0 && sink.tiles == problem.grid.count() && backend->recomputed_tiles() == 0;
    right &= good;
    std::fprintf(stderr, "%-8s %5lld x %-5lld tiles of %lld x %lld: %s\n",
                 std::string(c.preset).c_str(), static_cast<long long>(c.shape.queries),
                 static_cast<long long>(c.shape.items), static_cast<long long>(c.tile.queries),
                 static_cast<long long>(c.tile.items), good ? "right" : "WRONG");
  }
  return right;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Seconds of the score kernel over all tiles of a slice, and of making its blocks.
struct KernelTimes {
  double build;
  double scores;
};

KernelTimes time_kernels(const Problem& problem, int repeats) {
  const cuda::Device device(0);
  const auto shape = cuda::LaunchShape::of(device);
  cuda::prepare_score_kernels(shape);
  const cuda::Stream stream;
  const TileShape tile = problem.grid.tile();
  const cuda::DeviceQueries queries(problem.queries.rows, tile.queries, stream);
  const cuda::BlockGrid blocks{problem.items.rows(), tile.items};
  cuda::ItemSlot slot;
  slot.send(problem.items, {0, problem.items.rows()}, stream);
  cuda::label_columns(queries.view(), slot.columns(), slot.entries(), stream);
  cuda::BlockBuilder builder;
  cuda::DeviceBuffer<float> values(cuda::kGroupTiles * tile.cells());
  cuda::DeviceBuffer<unsigned long long> row_sums(cuda::kGroupTiles * blocks.blocks_per_tile() *
                                                  tile.queries);
  cuda::DeviceBuffer<unsigned long long> ticket(1);
  std::vector<double> build;
  std::vector<double> scores;
  for (int repeat = -1; repeat < repeats; ++repeat) {  // the first warms up
    stream.wait();
    const Stopwatch building;
    const auto inverted =
        builder.build(slot.view(), slot.entries(), blocks, queries.view().labels, stream);
    stream.wait();
    const double build_seconds = building.seconds();
    const Stopwatch multiplying;
    for (std::int64_t column = 0; column < problem.grid.columns(); ++column) {
      for (std::int64_t row = 0; row < problem.grid.rows(); row += cuda::kGroupTiles) {
        cuda::TileGroup group;
        group.tiles =
            static_cast<int>(std::min<std::int64_t>(cuda::kGroupTiles, problem.grid.rows() - row));
        group.tile_queries = static_cast<int>(tile.queries);
        for (int k = 0; k < group.tiles; ++k) {
          group.first_row[k] = (row + k) * tile.queries;
          group.long_rows[k] = queries.long_rows(row + k);
        }
        group.first_block = column * blocks.blocks_per_tile();
        group.blocks = blocks.blocks_per_tile();
        group.inverse_one = inverse_one(problem.arithmetic);
        group.values = values.data();
        group.row_sums = row_sums.data();
        cuda::launch_scores(queries.view(), inverted, group, cuda::Output::kValues, shape,
                            ticket.data(), stream);
      }
    }
    stream.wait();
    if (repeat < 0) continue;
    build.push_back(build_seconds);
    scores.push_back(multiplying.seconds());
  }
  return {median(build), median(scores)};
}

/// Seconds from the first chunk to the last tile on the host, checks included.
double time_pipeline(const Problem& problem) {
  Sink sink([](const void*, const TileStripe&) { return std::int64_t{0}; }, nullptr);
  const auto backend = make_backend(problem);
  backend->set_queries(problem.queries, sink);
  ItemChunk chunk = problem.all_items();
  const Stopwatch watch;
  backend->submit(std::move(chunk));
  backend->drain();
  return watch.seconds();
}

void bench(bool small) {
  struct Case {
    const char* name;
    std::string_view preset;
    MatrixShape shape;
  };
  const std::vector<Case> cases =
      small ? std::vector<Case>{{"small", "titles43", {40, 3000}}}
            : std::vector<Case>{{"R1", "titles43", {10'000, 100'000}},
                                {"R2 slice", "titles43", {50'000, 131'072}},
                                {"R2 slice", "splade", {50'000, 131'072}}};
  const TileShape tile = small ? TileShape{16, 1024} : TileShape{1024, 4096};
  const cuda::Device device(0);
  const double rate = cuda::download_rate();
  std::fprintf(stderr, "%s, copies to the host at %.1f GB/s\n", device.description().c_str(),
               rate * 1e-9);
  std::printf("{\"schema\": 1, \"device\": \"%s\", \"download_gb_per_s\": %.2f, \"cases\": [",
              device.description().c_str(), rate * 1e-9);
  const char* separator = "";
  for (const Case& c : cases) {
    const Problem problem(c.preset, c.shape, tile, kFineGrid);
    const KernelTimes kernel = time_kernels(problem, small ? 1 : 5);
    const double whole = time_pipeline(problem);
    const double pairs = static_cast<double>(c.shape.queries) * static_cast<double>(c.shape.items);
    const double bytes = static_cast<double>(problem.grid.count() * tile.cells()) * 4.0;
    const double busy = bytes / rate / whole;
    std::fprintf(stderr,
                 "%-9s %-9s %6lld x %-7lld build %8.2f ms, scores %9.2f ms = %.3g pairs/s, "
                 "to the host %8.1f ms, copy busy %3.0f %%\n",
                 c.name, std::string(c.preset).c_str(), static_cast<long long>(c.shape.queries),
                 static_cast<long long>(c.shape.items), kernel.build * 1e3, kernel.scores * 1e3,
                 pairs / kernel.scores, whole * 1e3, 100 * busy);
    std::printf(
        "%s\n  {\"name\": \"%s\", \"preset\": \"%s\", \"queries\": %lld, \"items\": %lld, "
        "\"build_s\": %.6f, \"scores_s\": %.6f, \"pairs_per_s\": %.6g, \"whole_s\": %.6f, "
        "\"copy_busy\": %.3f}",
        separator, c.name, std::string(c.preset).c_str(), static_cast<long long>(c.shape.queries),
        static_cast<long long>(c.shape.items), kernel.build, kernel.scores, pairs / kernel.scores,
        whole, busy);
    separator = ",";
  }
  std::printf("\n]}\n");
}

int run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "check") return check() ? 0 : 1;
  if (what != "bench") {
    std::fprintf(stderr, "usage: device_check check | bench [small]\n");
    return static_cast<int>(ExitCode::kUsage);
  }
  bench(argc > 2 && std::string_view(argv[2]) == "small");
  return 0;
}

}  // namespace
}  // namespace bulksim

int main(int argc, char** argv) {
  try {
    return bulksim::run(argc, argv);
  } catch (const bulksim::Error& error) {
    std::fprintf(stderr, "device_check: %s\n", error.what());
    return static_cast<int>(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "device_check: %s\n", error.what());
    return static_cast<int>(bulksim::ExitCode::kSoftware);
  }
}
