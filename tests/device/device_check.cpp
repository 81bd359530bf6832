// Checks and measures the CUDA backend on the device of this machine. Needs only CUDA.
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
#include <utility>
#include <vector>

#include "backend/cuda/bench/kernel_bench.hpp"
#include "backend/cuda/cuda_backend.hpp"
#include "core/run/phase_timer.hpp"
#include "sparse/synthetic_corpus.hpp"

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options);

namespace bulksim {
namespace {

/// Counts tiles, and the wrong cells that `look` finds in them.
class CountingSink final : public TileSink {
 public:
  using Look = std::int64_t (*)(const void* context, const TileStripe& stripe);

  CountingSink(Look look, const void* context) : look_(look), context_(context) {}
  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::atomic<std::int64_t> tiles = 0;
  std::atomic<std::int64_t> wrong = 0;

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(CountingSink& sink) : sink_(sink) {}
    void begin(TileId) override {}
    void write(const TileStripe& stripe) override {
      sink_.wrong += sink_.look_(sink_.context_, stripe);
    }
    void finish() override { ++sink_.tiles; }

   private:
    CountingSink& sink_;
  };

  Look look_;
  const void* context_;
};

struct Problem {
  TileGrid grid;
  FixedPoint arithmetic;
  QueryBatch queries;
  QuantizedRows items;

  Problem(std::string_view preset, MatrixShape shape, TileShape tile, FixedPoint wanted)
      : grid(shape, tile), arithmetic(wanted) {
    const SyntheticCorpus corpus(find_corpus_preset(preset), 1);
    CsrMatrix rows;
    corpus.generate(CorpusSide::kQueries, {0, shape.queries}, rows);
    QuantizedRows quantized;
    append_quantized_rows(rows.view(), arithmetic, quantized);
    queries.rows = std::move(quantized);
    corpus.generate(CorpusSide::kItems, {0, shape.items}, rows);
    append_quantized_rows(rows.view(), arithmetic, items);
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
    const float wanted = exists ? exact_score(problem.queries.rows, q, problem.items, i) : 0.0f;
    wrong += std::bit_cast<std::uint32_t>(stripe.values[static_cast<std::size_t>(cell)]) !=
             std::bit_cast<std::uint32_t>(wanted);
  }
  return wrong;
}

/// Checks small matrices around the edges of warps, blocks and tiles; true if all are right.
bool check() {
  struct Case {
    std::string_view preset;
    MatrixShape shape;
    TileShape tile;
    FixedPoint arithmetic;
  };
  const Case cases[] = {
      {"titles43", {1, 1}, {1, 1}, kQ26},          {"titles43", {33, 1023}, {32, 1023}, kQ26},
      {"splade", {31, 1025}, {16, 1025}, kQ26},    {"splade", {65, 3000}, {32, 1500}, kQ30},
      {"trigrams", {100, 9000}, {64, 4096}, kQ26}, {"titles", {50, 5000}, {50, 31}, kQ26},
      {"splade", {40, 3000}, {16, 1500}, kDotQ26}};
  bool right = true;
  for (const Case& c : cases) {
    const Problem problem(c.preset, c.shape, c.tile, c.arithmetic);
    CountingSink sink(count_wrong, &problem);
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

/// Seconds from the first chunk to the last tile on the host, checks included.
double time_pipeline(const Problem& problem) {
  CountingSink sink([](const void*, const TileStripe&) { return std::int64_t{0}; }, nullptr);
  const auto backend = make_backend(problem);
  backend->set_queries(problem.queries, sink);
  ItemChunk chunk = problem.all_items();
  const Stopwatch watch;
  backend->submit(std::move(chunk));
  backend->drain();
  return watch.seconds();
}

/// Prints a table; returns whether the score kernel was right.
bool log_failure(const CudaKernelRates& rates) {
  const CudaContender& ours = rates.contenders.front();
  std::fprintf(stderr, "  %s; copies to the host %.1f GB/s; inverting %.2f ms\n",
               rates.device.c_str(), rates.download_rate * 1e-9, rates.build_seconds * 1e3);
  for (const CudaContender& c : rates.contenders) {
    if (!c.left_out.empty()) {
      std::fprintf(stderr, "  %-22s left out: %s\n", c.name.c_str(), c.left_out.c_str());
      continue;
    }
    std::fprintf(stderr, "  %-22s %9.3g pairs/s, %6.1f times as long; error %.1g%s\n",
                 c.name.c_str(), c.pairs_per_s, ours.pairs_per_s / c.pairs_per_s, c.largest_error,
                 c.is_right() ? "" : " WRONG");
  }
  return rates.failed_identities == 0 && ours.largest_error == 0.0;
}

std::string to_json(const CudaKernelRates& rates) {
  std::string json = "{\"device\": \"" + rates.device +
                     "\", \"download_bytes_per_s\": " + std::to_string(rates.download_rate) +
                     ", \"build_s\": " + std::to_string(rates.build_seconds) +
                     ", \"multiply_adds\": " + std::to_string(rates.multiply_adds) +
                     ", \"failed_identities\": " + std::to_string(rates.failed_identities) +
                     ", \"contenders\": [";
  const char* separator = "";
  for (const CudaContender& c : rates.contenders) {
    json += separator;
    json += "\n   {\"name\": \"";
    json += c.name + "\", \"queries\": " + std::to_string(c.queries) +
            ", \"items\": " + std::to_string(c.items) +
            ", \"pairs_per_s\": " + std::to_string(c.pairs_per_s) +
            ", \"right\": " + (c.is_right() ? "true" : "false") + "}";
    separator = ",";
  }
  return json + "]}";
}

/// The functions of cuSPARSE; all null if there is no library.
cuda::CusparseCalls load_cusparse() {
  try {
    return cuda::load_cusparse();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return {};
  }
}

/// Prints the rates; returns whether everything was right.
bool bench(bool small) {
  bool right = true;
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
  const cuda::CusparseCalls cusparse = small ? cuda::CusparseCalls{} : load_cusparse();
  const std::string why_not = small                        ? "a small check"
                              : cusparse.create == nullptr ? "the library is missing"
                                                           : "";
  std::printf("{\"schema\": 1, \"cases\": [");
  const char* separator = "";
  for (const Case& c : cases) {
    const Problem problem(c.preset, c.shape, tile, kQ26);
    const CudaKernelRates rates =
        cuda::run_kernel_bench(problem.queries.rows, problem.items,
                               {.repeats = small ? 1 : 5, .baseline_items = small ? 512 : 131'072},
                               why_not.empty() ? &cusparse : nullptr, why_not);
    const double whole = time_pipeline(problem);
    const double bytes = static_cast<double>(problem.grid.count() * tile.cells()) * 4.0;
    const double busy = bytes / rates.download_rate / whole;
    std::fprintf(stderr, "\n%s, %s, %lld x %lld: to the host in %.1f ms, copies busy %.0f %%\n",
                 c.name, std::string(c.preset).c_str(), static_cast<long long>(c.shape.queries),
                 static_cast<long long>(c.shape.items), whole * 1e3, 100 * busy);
    right &= log_failure(rates);
    std::printf(
        "%s\n {\"name\": \"%s\", \"preset\": \"%s\", \"whole_s\": %.6f, \"copy_busy\": %.3f,\n"
        "  \"kernel\": %s}",
        separator, c.name, std::string(c.preset).c_str(), whole, busy, to_json(rates).c_str());
    separator = ",";
  }
  std::printf("\n]}\n");
  return right;
}

int run(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "check") return check() ? 0 : 1;
  if (what != "bench") {
    std::fprintf(stderr, "usage: device_check check | bench [small]\n");
    return static_cast<int>(ExitCode::kUsage);
  }
  return bench(argc > 2 && std::string_view(argv[2]) == "small") ? 0 : 1;
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
