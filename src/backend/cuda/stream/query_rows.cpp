#include "backend/cuda/stream/query_rows.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "backend/cuda/kernels/scores.hpp"

namespace bulksim::cuda {

namespace {

/// Copies to new device memory and waits; for data that is uploaded once.
template <class T>
void upload_all(std::span<const T> values, DeviceBuffer<T>& to, const Stream& stream) {
  const std::int64_t count = values.size();
  to.reserve(count);
  if (count == 0) return;
  const PinnedBuffer<T> staged(count);
  std::copy(values.begin(), values.end(), staged.data());
  upload(staged, to, count, stream);
  stream.wait();
}

}  // namespace

DeviceQueries::DeviceQueries(const QuantizedRows& rows, std::int64_t tile_queries,
                             const Stream& stream)
    : vocabulary_(rows) {
  upload_all<std::int64_t>(rows.row_offsets, offsets_, stream);
  relabel(rows, stream);
  arrange(rows, tile_queries, stream);
  upload_vocabulary(rows, stream);
  upload_all<double>(rows.scales, scales_, stream);
  view_ = {rows.rows(),   vocabulary_.size(), offsets_.data(), entries_.data(),
           order_.data(), columns_.data(),    labels_.data(),  scales_.data()};
}

void DeviceQueries::relabel(const QuantizedRows& rows, const Stream& stream) {
  std::vector<int2> entries(rows.values.size());
  for (std::size_t at = 0; at < entries.size(); ++at) {
    entries[at] = {static_cast<int>(vocabulary_.label(rows.col_indices[at])), rows.values[at]};
  }
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const std::size_t at = row;
    std::sort(entries.begin() + rows.row_offsets[at], entries.begin() + rows.row_offsets[at + 1],
              [](int2 a, int2 b) {
                return static_cast<std::uint32_t>(a.x) < static_cast<std::uint32_t>(b.x);
              });
  }
  upload_all<int2>(entries, entries_, stream);
}

void DeviceQueries::arrange(const QuantizedRows& rows, std::int64_t tile_queries,
                            const Stream& stream) {
  const auto length = [&](std::uint32_t row) {
    return rows.row_offsets[row + 1] - rows.row_offsets[row];
  };
  std::vector<std::uint32_t> order(rows.rows());
  std::iota(order.begin(), order.end(), 0U);
  for (std::int64_t first = 0; first < rows.rows(); first += tile_queries) {
    const auto begin = order.begin() + first;
    const auto end = order.begin() + std::min(first + tile_queries, rows.rows());
    std::stable_sort(begin, end,
                     [&](std::uint32_t a, std::uint32_t b) { return length(a) > length(b); });
    long_rows_.push_back(static_cast<int>(
        std::count_if(begin, end, [&](std::uint32_t row) { return length(row) > kLongRow; })));
  }
  upload_all<std::uint32_t>(order, order_, stream);
}

void DeviceQueries::upload_vocabulary(const QuantizedRows& rows, const Stream& stream) {
  std::vector<std::uint32_t> columns(rows.col_indices);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  std::vector<std::uint32_t> labels(columns.size());
  std::transform(columns.begin(), columns.end(), labels.begin(),
                 [&](Column column) { return vocabulary_.label(column); });
  upload_all<std::uint32_t>(columns, columns_, stream);
  upload_all<std::uint32_t>(labels, labels_, stream);
}

}  // namespace bulksim::cuda
