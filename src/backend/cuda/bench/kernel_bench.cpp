#include "backend/cuda/bench/kernel_bench.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include "backend/cuda/bench/cusparse_products.hpp"
#include "backend/cuda/bench/merge.hpp"
#include "backend/cuda/bench/score_bench.hpp"
#include "backend/cuda/bench/upload_all.hpp"
#include "backend/cuda/stream/download_rate.hpp"
#include "bulksim/core/checksum.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim::cuda {

namespace {

constexpr std::int64_t kMostItems = 262'144;                 // one slice
constexpr std::int64_t kPanelBytes = std::int64_t{2} << 30;  // of the dense side of SpMM
constexpr std::int64_t kCheckedRows = 16;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

QuantizedRows first_rows(const QuantizedRows& rows, std::int64_t count) {
  QuantizedRows first;
  first.columns = rows.columns;
  const std::size_t size = std::min(count, rows.rows());
  const std::ptrdiff_t entries = rows.row_offsets[size];
  first.row_offsets.assign(rows.row_offsets.begin(), rows.row_offsets.begin() + size + 1);
  first.col_indices.assign(rows.col_indices.begin(), rows.col_indices.begin() + entries);
  first.values.assign(rows.values.begin(), rows.values.begin() + entries);
  first.scales.assign(rows.scales.begin(), rows.scales.begin() + size);
  return first;
}

/// Only columns of the vocabulary, as a careful user would select them.
FloatRows float_rows(const QuantizedRows& rows, const Vocabulary& vocabulary) {
  FloatRows to;
  to.columns = std::max<std::int64_t>(vocabulary.size(), 1);
  std::vector<std::pair<std::int32_t, float>> row;
  for (std::int64_t at = 0; at < rows.rows(); ++at) {
    row.clear();
    const auto columns = rows.columns_of(at);
    const auto values = rows.values_of(at);
    for (std::size_t entry = 0; entry < columns.size(); ++entry) {
      const std::uint32_t label = vocabulary.label(columns[entry]);
      if (label == RankedSet::kAbsent) continue;
      row.emplace_back(static_cast<std::int32_t>(label),
                       static_cast<float>(values[entry] * rows.scales[at]));
    }
    std::sort(row.begin(), row.end());
    for (const auto& [column, value] : row) {
      to.col_indices.push_back(column);
      to.values.push_back(value);
    }
    to.offsets.push_back(static_cast<std::int32_t>(to.values.size()));
  }
  return to;
}

/// Rows on the device for the merge kernel.
struct DeviceMergeRows {
  DeviceMergeRows(const QuantizedRows& rows, const Stream& stream)
      : offsets(upload_all(rows.row_offsets, stream)),
        columns(upload_all(rows.col_indices, stream)),
        values(upload_all(rows.values, stream)),
        scales(upload_all(rows.scales, stream)),
        view{rows.rows(), offsets.data(), columns.data(), values.data(), scales.data()} {}

  DeviceBuffer<std::int64_t> offsets;
  DeviceBuffer<Column> columns;
  DeviceBuffer<std::int32_t> values;
  DeviceBuffer<double> scales;
  MergeRows view;
};

/// The score kernel and the baselines, one after the other.
class KernelBench {
 public:
  KernelBench(const QuantizedRows& queries, const QuantizedRows& items,
              const CudaBenchmarkOptions& options)
      : options_(options),
        queries_(queries),
        items_(first_rows(items, kMostItems)),
        few_queries_(first_rows(queries, options.baseline_queries)),
        few_items_(first_rows(items, options.baseline_items)) {}

  CudaKernelRates run(const CusparseCalls* cusparse, const std::string& why_not) {
    rates_.device = device_.description();
    rates_.download_rate = download_rate();
    rates_.multiply_adds = multiply_adds();
    score_kernel();
    merge_kernel();
    with_cusparse("cuSPARSE SpMM", cusparse, why_not, panel_queries(), make_spmm);
    with_cusparse("cuSPARSE SpGEMM", cusparse, why_not, few_queries_.rows(), make_spgemm);
    return std::move(rates_);
  }

 private:
  /// Times `work`, which is enqueued on the stream; the first call is a warm-up.
  void time(CudaContender& contender, const std::function<void()>& work) {
    for (int repeat = -1; repeat < options_.repeats; ++repeat) {
      stream_.wait();
      const Stopwatch watch;
      work();
      stream_.wait();
      if (repeat >= 0) contender.seconds.push_back(watch.seconds());
    }
    contender.pairs_per_s = static_cast<double>(contender.queries) *
                            static_cast<double>(contender.items) / median(contender.seconds);
  }

  void score_kernel() {
    CudaContender contender{
        .name = "score kernel", .queries = queries_.rows(), .items = items_.rows()};
    ScoreBench bench(device_, queries_, items_, stream_);
    CudaContender building = contender;
    time(building, [&] { bench.build(); });
    rates_.build_seconds = median(building.seconds);
    time(contender, [&] { bench.multiply(); });
    rates_.failed_identities = bench.failed_identities();
    contender.largest_error = bench.largest_error();
    rates_.contenders.push_back(std::move(contender));
  }

  void merge_kernel() {
    CudaContender contender{.name = "merge, one thread per pair",
                            .queries = few_queries_.rows(),
                            .items = few_items_.rows()};
    const DeviceMergeRows queries(few_queries_, stream_);
    const DeviceMergeRows items(few_items_, stream_);
    const DeviceBuffer<float> values(queries.view.rows * items.view.rows);
    time(contender, [&] { launch_merge(queries.view, items.view, values.data(), stream_); });
    contender.largest_error = error_of(few_queries_, [&](std::int64_t item) {
      std::vector<float> row;
      for (std::int64_t query = 0; query < queries.view.rows; ++query) {
        row.push_back(download_all(values.data() + query * items.view.rows + item, 1, stream_)[0]);
      }
      return row;
    });
    rates_.contenders.push_back(std::move(contender));
  }

  void with_cusparse(const char* name, const CusparseCalls* calls, const std::string& why_not,
                     std::int64_t most_queries, decltype(&make_spmm) make) {
    CudaContender contender{
        .name = name, .queries = most_queries, .items = few_items_.rows(), .left_out = why_not};
    try {
      if (calls != nullptr) multiply_with(*calls, make, contender);
    } catch (const Error& error) {
      contender.left_out = error.what();
    }
    rates_.contenders.push_back(std::move(contender));
  }

  void multiply_with(const CusparseCalls& calls, decltype(&make_spmm) make,
                     CudaContender& contender) {
    const QuantizedRows queries = first_rows(few_queries_, contender.queries);
    const Vocabulary vocabulary(queries);
    const auto product =
        make(calls, float_rows(few_items_, vocabulary), float_rows(queries, vocabulary), stream_);
    time(contender, [&] { product->multiply(); });
    contender.largest_error =
        error_of(queries, [&](std::int64_t item) { return product->row(item); });
  }

  /// As many queries as fit into a dense panel of kPanelBytes.
  std::int64_t panel_queries() const {
    const auto labels = std::min<std::int64_t>(few_queries_.nnz(), few_queries_.columns);
    return std::clamp<std::int64_t>(kPanelBytes / (4 * std::max<std::int64_t>(labels, 1)), 1,
                                    few_queries_.rows());
  }

  /// Largest error of the scores of some items with all `queries`.
  double error_of(const QuantizedRows& queries,
                  const std::function<std::vector<float>(std::int64_t item)>& row_of) const {
    double largest = 0.0;
    for (std::int64_t row = 0; row < kCheckedRows; ++row) {
      const auto item =
          static_cast<std::int64_t>(mix(7, row) % static_cast<std::uint64_t>(few_items_.rows()));
      const std::vector<float> scores = row_of(item);
      for (std::int64_t query = 0; query < queries.rows(); ++query) {
        const float exact = exact_score(queries, query, few_items_, item);
        largest = std::max(
            largest, std::abs(static_cast<double>(exact) - static_cast<double>(scores[query])));
      }
    }
    return largest;
  }

  std::int64_t multiply_adds() const {
    const Vocabulary vocabulary(queries_);
    std::vector<std::int64_t> frequency(vocabulary.size());
    for (const Column column : queries_.col_indices)
      ++frequency[vocabulary.label(column)];
    std::int64_t sum = 0;
    for (const Column column : items_.col_indices) {
      const std::uint32_t label = vocabulary.label(column);
      if (label != RankedSet::kAbsent) sum += frequency[label];
    }
    return sum;
  }

  CudaBenchmarkOptions options_;
  const QuantizedRows& queries_;
  QuantizedRows items_;
  QuantizedRows few_queries_;
  QuantizedRows few_items_;
  Device device_{0};
  Stream stream_;
  CudaKernelRates rates_;
};

}  // namespace

CudaKernelRates run_kernel_bench(const QuantizedRows& queries, const QuantizedRows& items,
                                 const CudaBenchmarkOptions& options, const CusparseCalls* cusparse,
                                 const std::string& why_not) {
  return KernelBench(queries, items, options).run(cusparse, why_not);
}

}  // namespace bulksim::cuda

/// Entry point for the program, which loads this module.
extern "C" void bulksim_benchmark_cuda_kernel(const bulksim::QuantizedRows& queries,
                                              const bulksim::QuantizedRows& items,
                                              const bulksim::CudaBenchmarkOptions& options,
                                              bulksim::CudaKernelRates& rates) {
  bulksim::cuda::CusparseCalls calls{};
  std::string why_not;
  try {
    calls = bulksim::cuda::load_cusparse();
  } catch (const bulksim::Error& error) {
    why_not = error.what();
  }
  rates = bulksim::cuda::run_kernel_bench(queries, items, options,
                                          why_not.empty() ? &calls : nullptr, why_not);
}
