#include "job/bench_job.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/kernel_benchmark.hpp"
#include "backend/cuda/cuda_kernel_benchmark.hpp"
#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "core/run/phase_timer.hpp"
#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "job/cuda_rates.hpp"
#include "job/plan/plan.hpp"

namespace bulksim {

namespace {

constexpr int kBenchSchema = 1;

CsrMatrix read_canonical(FileCalls& calls, const std::string& path, std::int64_t limit) {
  const auto source = open_matrix(calls, path);
  const std::int64_t rows = source->info().rows;
  CsrMatrix matrix;
  source->read({0, limit == 0 ? rows : std::min(limit, rows)}, matrix);
  canonicalize(matrix, Irregular::kAccept, path, 0);
  if (matrix.nnz() == 0) {
    throw Error(ExitCode::kDataError, "'" + path + "' has no nonzero value to measure with");
  }
  return matrix;
}

QuantizedRows quantized_rows(const CsrMatrix& canonical, FixedPoint format) {
  QuantizedRows rows;
  append_quantized_rows(canonical.view(), format, rows);
  return rows;
}

/// Result of a kernel benchmark, with the figures derived from its rates.
struct KernelBenchReport {
  KernelRates rates;
  int threads = 1;
  double pairs = 0.0;
  bool has_block_sums = false;  ///< whether they were timed too

  double rate() const { return rates.median_pairs_per_s; }
  double adds_per_pair() const { return static_cast<double>(rates.multiply_adds) / pairs; }
  double limit_share() const { return rate() / rates.store_limit_pairs_per_s; }
  std::string to_json() const;
  std::string to_text() const;
};

std::string KernelBenchReport::to_json() const {
  JsonObject json;
  json.add("schema", kBenchSchema)
      .add("simd", rates.simd)
      .add("threads", threads)
      .add("pairs", pairs)
      .add("pairs_per_s", rate())
      .add("pairs_per_s_of_repeats", rates.pairs_per_s)
      .add("multiply_adds_per_pair", adds_per_pair())
      .add("multiply_adds_per_s", rate() * adds_per_pair())
      .add("output_bytes_per_s", rate() * 4.0)
      .add("store_limit_pairs_per_s", rates.store_limit_pairs_per_s)
      .add("store_limit_share", limit_share())
      .add("hashed_pairs_per_s", rates.hashed_pairs_per_s)
      .add("build_seconds", rates.build_seconds)
      .add("failed_identities", rates.failed_identities);
  if (has_block_sums) json.add("summed_pairs_per_s", rates.summed_pairs_per_s);
  return json.text(2) + "\n";
}

/// "2.957e+08 pairs/s (7.0 % longer)": the cost of an additional step.
std::string cost_text(double with, double without) {
  return formatted("%.4g pairs/s (%.1f %% longer)\n", with, 100.0 * (without / with - 1.0));
}

std::string KernelBenchReport::to_text() const {
  std::string text = formatted("kernel               %s, %d %s\n", rates.simd.c_str(), threads,
                               threads == 1 ? "thread" : "threads");
  text += formatted("pairs                %.4g, %.3f useful multiply-adds per pair\n", pairs,
                    adds_per_pair());
  text += formatted("rate                 %.4g pairs/s (median), %.3g GB/s of results\n", rate(),
                    rate() * 4e-9);
  text += formatted("multiply-adds        %.4g per second\n", rate() * adds_per_pair());
  text += formatted("limit of the stores  %.4g pairs/s; the kernel reaches %.0f %% of it\n",
                    rates.store_limit_pairs_per_s, 100.0 * limit_share());
  text += "with XXH3-128        " + cost_text(rates.hashed_pairs_per_s, rate());
  if (has_block_sums) {
    text += "with block sums      " + cost_text(rates.summed_pairs_per_s, rate());
  }
  text += formatted("inverting the items  %.3f s, not counted above\n", rates.build_seconds);
  return text + "failed identities    " + std::to_string(rates.failed_identities) + "\n";
}

/// Counts pairs.
class PairCounter final : public PairSink {
 public:
  std::unique_ptr<PairWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::atomic<std::int64_t> pairs = 0;

 private:
  class Writer final : public PairWriter {
   public:
    explicit Writer(PairCounter& counter) : counter_(counter) {}
    void begin(PairWork) override {}
    void write(const PairStripe& stripe) override { counter_.pairs += std::ssize(stripe.pairs); }
    void finish() override {}

   private:
    PairCounter& counter_;
  };
};

/// What is searched for, and in what.
struct PairProblem {
  QueryBatch queries;
  ItemChunk items;
  TileGrid grid;
  FixedPoint format;
  PairFilterSpec filter;

  /// Each pair is searched once where the way can offer it to both rows.
  PairFilterSpec filter_of(std::optional<PairWay> way) const {
    PairFilterSpec spec = filter;
    if (queries.are_items && (filter.keep == Keep::kAll || way != PairWay::kSweep)) {
      spec.partners = Partners::kLater;
      spec.mirrored = filter.keep == Keep::kBest;
    }
    return spec;
  }
};

PairProblem make_pair_problem(FileCalls& calls, const PairBenchOptions& options) {
  const bool is_self_join = options.queries.empty();
  const CsrMatrix items = read_canonical(calls, options.items, 0);
  const CsrMatrix others = is_self_join ? CsrMatrix() : read_canonical(calls, options.queries, 0);
  const CsrMatrix& queries = is_self_join ? items : others;
  PairProblem problem;
  problem.format = cosine_format(value_info(queries.view()).rounding.longest_rounded_row,
                                 value_info(items.view()).rounding.longest_rounded_row);
  const MatrixShape shape{queries.rows(), items.rows()};
  problem.grid = TileGrid(shape, default_tile(shape));
  problem.queries.range = {0, shape.queries};
  problem.queries.rows = quantized_rows(queries, problem.format);
  problem.queries.are_items = is_self_join;
  problem.queries.first_items_are_positive =
      std::ranges::all_of(items.values, [](double value) { return value >= 0.0; });
  problem.items.range = {0, shape.items};
  problem.items.rows =
      is_self_join ? problem.queries.rows : SharedRows(quantized_rows(items, problem.format));
  if (is_self_join) problem.filter.partners = Partners::kOthers;
  if (options.threshold) problem.filter.at_least = *options.threshold;
  if (options.top_k > 0) {
    problem.filter.keep = Keep::kBest;
    problem.filter.count = options.top_k;
  }
  return problem;
}

struct WayRates {
  std::string name;
  std::optional<PairWay> way;
  std::vector<double> seconds = {};
  std::int64_t pairs = 0;

  double median() const {
    std::vector<double> sorted = seconds;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

/// The ways that can find the pairs, and the choice.
std::vector<WayRates> ways_for(const PairFilterSpec& filter) {
  std::vector<WayRates> ways;
  const bool has_cut = filter.at_least > 0.0f;
  if (has_cut && filter.keep == Keep::kAll) ways.push_back({"join", PairWay::kJoin});
  if (has_cut || filter.keep == Keep::kBest) ways.push_back({"sweep", PairWay::kSweep});
  ways.push_back({"filter", PairWay::kFilter});
  ways.push_back({"choice", std::nullopt});
  return ways;
}

void run_way(const PairProblem& problem, int threads, WayRates& rates) {
  const PairFilterSpec filter = problem.filter_of(rates.way);
  CpuBackendOptions options{problem.grid, problem.format, threads};
  PairCounter counter;
  ItemChunk chunk = problem.items;
  for (std::int64_t number = 0; number < problem.grid.count(); ++number) {
    const TileId tile = problem.grid.id(number);
    if (filter.touches(problem.grid.queries(tile.row), problem.grid.items(tile.column))) {
      chunk.tiles.push_back(tile);
    }
  }
  const Stopwatch watch;
  const auto backend = make_cpu_pair_backend(options, filter, rates.way);
  backend->set_queries(problem.queries, counter);
  backend->submit(std::move(chunk));
  backend->drain();
  backend->for_each_list({0, kEveryRow},
                         [&](const PairStripe& list) { counter.pairs += std::ssize(list.pairs); });
  rates.seconds.push_back(watch.seconds());
  rates.pairs = counter.pairs;
}

}  // namespace

void run_pair_bench(FileCalls& calls, const PairBenchOptions& options, std::ostream& out) {
  const PairProblem problem = make_pair_problem(calls, options);
  std::vector<WayRates> ways = ways_for(problem.filter);
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    for (WayRates& way : ways)
      run_way(problem, options.threads, way);
  }
  JsonObject json;
  json.add("schema", kBenchSchema).add("threads", options.threads).add("pairs", ways[0].pairs);
  for (const WayRates& way : ways) {
    json.add(way.name + "_seconds", way.median());
    if (options.format == BenchFormat::kText) {
      out << formatted("%-8s %9.3f s  %ld pairs\n", way.name.c_str(), way.median(), way.pairs);
    }
    if (way.pairs != ways[0].pairs) {
      throw Error(ExitCode::kSoftware, "the " + way.name + " has found " +
                                           std::to_string(way.pairs) + " pairs and the " +
                                           ways[0].name + " " + std::to_string(ways[0].pairs) +
                                           ": test the memory of this machine");
    }
  }
  if (options.format == BenchFormat::kJson) out << json.text(1) << "\n";
}

void run_kernel_bench(FileCalls& calls, const KernelBenchOptions& options, std::ostream& out) {
  const CsrMatrix queries = read_canonical(calls, options.queries, options.query_limit);
  const CsrMatrix items = read_canonical(calls, options.items, options.item_limit);
  const FixedPoint format = cosine_format(value_info(queries.view()).rounding.longest_rounded_row,
                                          value_info(items.view()).rounding.longest_rounded_row);

  if (options.backend == BenchBackend::kCuda) {
    const CudaBenchmarkOptions cuda{.repeats = options.repeats};
    const auto cuda_rates =
        benchmark_cuda_kernel(quantized_rows(queries, format), quantized_rows(items, format), cuda);
    print_cuda_rates(cuda_rates, options.format, out);
    return;
  }
  const KernelRates rates = benchmark_kernel(
      quantized_rows(queries, format), quantized_rows(items, format),
      {format, options.threads, options.repeats, options.simd, options.softmax_scale});

  const double pairs = static_cast<double>(queries.rows()) * static_cast<double>(items.rows());
  const KernelBenchReport report{rates, options.threads, pairs, options.softmax_scale.has_value()};
  out << (options.format == BenchFormat::kJson ? report.to_json() : report.to_text());
  if (rates.failed_identities != 0) {
    throw Error(ExitCode::kSoftware, std::to_string(rates.failed_identities) +
                                         " row identities failed: the kernel computed wrong "
                                         "results on this machine; test its memory");
  }
}

}  // namespace bulksim
