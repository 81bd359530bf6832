#include "job/bench_job.hpp"

#include <algorithm>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "backend/cpu/kernel_benchmark.hpp"
#include "backend/cuda/cuda_kernel_benchmark.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "core/text/format_text.hpp"
#include "job/cuda_bench.hpp"

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

std::int64_t longest_row(const CsrMatrix& matrix) {
  std::int64_t longest = 0;
  for (std::size_t row = 1; row < matrix.row_offsets.size(); ++row) {
    longest = std::max(longest, matrix.row_offsets[row] - matrix.row_offsets[row - 1]);
  }
  return longest;
}

QuantizedRows quantized_rows(const CsrMatrix& canonical, FixedPoint format) {
  QuantizedRows rows;
  append_quantized_rows(canonical.view(), format, rows);
  return rows;
}

nlohmann::ordered_json to_json(const KernelBenchOptions& options, const KernelRates& rates,
                               double pairs) {
  const double rate = rates.median_pairs_per_s;
  const double per_pair = static_cast<double>(rates.multiply_adds) / pairs;
  nlohmann::ordered_json json{{"schema", kBenchSchema},
                              {"simd", rates.simd},
                              {"threads", options.threads},
                              {"pairs", pairs},
                              {"pairs_per_s", rate},
                              {"pairs_per_s_of_repeats", rates.pairs_per_s},
                              {"multiply_adds_per_pair", per_pair},
                              {"multiply_adds_per_s", rate * per_pair},
                              {"output_bytes_per_s", rate * 4.0},
                              {"store_limit_pairs_per_s", rates.store_limit_pairs_per_s},
                              {"store_limit_share", rate / rates.store_limit_pairs_per_s},
                              {"hashed_pairs_per_s", rates.hashed_pairs_per_s},
                              {"build_seconds", rates.build_seconds},
                              {"failed_identities", rates.failed_identities}};
  if (options.softmax_scale) json["summed_pairs_per_s"] = rates.summed_pairs_per_s;
  return json;
}

void print_text(const nlohmann::ordered_json& result, std::ostream& out) {
  const auto number = [&](const char* key) { return result.at(key).get<double>(); };
  const auto line = [&](const char* format, auto... values) {
    out << formatted(format, values...) << '\n';
  };
  const int threads = result.at("threads").get<int>();
  line("kernel                 %s, %d %s", result.at("simd").get<std::string>().c_str(), threads,
       threads == 1 ? "thread" : "threads");
  line("pairs                  %.4g, %.3f useful multiply-adds each", number("pairs"),
       number("multiply_adds_per_pair"));
  line("pairs a second         %.4g (median), %.3g GB/s of results", number("pairs_per_s"),
       number("output_bytes_per_s") * 1e-9);
  line("multiply-adds a second %.4g", number("multiply_adds_per_s"));
  line("limit of the stores    %.4g pairs a second; the kernel reaches %.0f %% of it",
       number("store_limit_pairs_per_s"), 100.0 * number("store_limit_share"));
  line("with XXH3-128 on top   %.4g pairs a second (%.1f %% longer)", number("hashed_pairs_per_s"),
       100.0 * (number("pairs_per_s") / number("hashed_pairs_per_s") - 1.0));
  if (result.contains("summed_pairs_per_s")) {
    line("with block sums on top %.4g pairs a second (%.1f %% longer)",
         number("summed_pairs_per_s"),
         100.0 * (number("pairs_per_s") / number("summed_pairs_per_s") - 1.0));
  }
  line("inverting the items    %.3f s, not counted above", number("build_seconds"));
  line("failed identities      %.0f", number("failed_identities"));
}

}  // namespace

void run_kernel_bench(FileCalls& calls, const KernelBenchOptions& options, std::ostream& out) {
  const CsrMatrix queries = read_canonical(calls, options.queries, options.query_limit);
  const CsrMatrix items = read_canonical(calls, options.items, options.item_limit);
  const bool fine = std::min(longest_row(queries), longest_row(items)) <= kQ26Nonzeros;
  const FixedPoint format = fine ? kQ26 : kQ30;

  if (options.backend == BenchBackend::kCuda) {
    const CudaBenchmarkOptions cuda{.arithmetic = format, .repeats = options.repeats};
    const auto cuda_rates =
        benchmark_cuda_kernel(quantized_rows(queries, format), quantized_rows(items, format), cuda);
    print_cuda_rates(cuda_rates, options.format, out);
    return;
  }
  const KernelRates rates = benchmark_kernel(
      quantized_rows(queries, format), quantized_rows(items, format),
      {format, options.threads, options.repeats, options.simd, options.softmax_scale});

  const double pairs = static_cast<double>(queries.rows()) * static_cast<double>(items.rows());
  const auto result = to_json(options, rates, pairs);
  if (options.format == BenchFormat::kJson) {
    out << result.dump(2) << '\n';
  } else {
    print_text(result, out);
  }
  if (rates.failed_identities != 0) {
    throw Error(ExitCode::kSoftware,
                std::to_string(rates.failed_identities) +
                    " row identities do not hold: the kernel computed something wrong on this "
                    "machine (test its memory)");
  }
}

}  // namespace bulksim
