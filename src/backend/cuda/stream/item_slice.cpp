#include "backend/cuda/stream/item_slice.hpp"

#include <algorithm>

namespace bulksim::cuda {

void ItemSlot::reserve(std::int64_t rows, std::int64_t entries) {
  offsets_.reserve(rows + 1);
  columns_.reserve(entries);
  values_.reserve(entries);
  scales_.reserve(rows);
}

void ItemSlot::clear() {
  offsets_.clear();
  columns_.clear();
  values_.clear();
  scales_.clear();
}

void ItemSlot::send(const QuantizedRows& rows, RowRange range, const Stream& stream) {
  const auto begin = rows.row_offsets.begin() + range.begin;
  const std::int64_t first = *begin;
  rows_ = range.size();
  entries_ = begin[rows_] - first;
  arrived_.wait();
  staged_offsets_.reserve(rows_ + 1);
  staged_columns_.reserve(entries_);
  staged_values_.reserve(entries_);
  staged_scales_.reserve(rows_);
  std::transform(begin, begin + rows_ + 1, staged_offsets_.data(),
                 [&](std::int64_t offset) { return offset - first; });
  std::copy_n(rows.col_indices.begin() + first, entries_, staged_columns_.data());
  std::copy_n(rows.values.begin() + first, entries_, staged_values_.data());
  std::copy_n(rows.scales.begin() + range.begin, rows_, staged_scales_.data());
  reserve(rows_, entries_);
  finished_.hold(stream);
  upload(staged_offsets_, offsets_, rows_ + 1, stream);
  upload(staged_columns_, columns_, entries_, stream);
  upload(staged_values_, values_, entries_, stream);
  upload(staged_scales_, scales_, rows_, stream);
  arrived_.record(stream);
}

}  // namespace bulksim::cuda
