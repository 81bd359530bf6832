#include "job/bench_job.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include "backend/cpu/kernel_benchmark.hpp"
#include "backend/cuda/cuda_kernel_benchmark.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "job/cuda_rates.hpp"

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

}  // namespace

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
