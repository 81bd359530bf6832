#pragma once

#include <cstdint>

#include "backend/cuda/kernels/layout.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// Memory for the item rows of a slice, pinned on the host and on the device. There are two slots,
/// so that the rows of the next slice arrive while the current one is computed.
class ItemSlot {
 public:
  /// Allocates on the device; throws CallError if there is not enough memory.
  void reserve(std::int64_t rows, std::int64_t entries);
  void clear();

  /// Uploads `range` of `rows` on `stream`. Waits for the previous upload; the new one waits until
  /// the device no longer uses the previous rows.
  void send(const QuantizedRows& rows, RowRange range, const Stream& stream);
  /// Work enqueued on `compute` after this call sees the rows.
  void receive(const Stream& compute) const { arrived_.hold(compute); }
  /// Marks the work on `compute` so far as the last that reads the rows.
  void finish(const Stream& compute) { finished_.record(compute); }

  std::uint32_t* columns() const { return columns_.data(); }
  /// Valid once the columns have been replaced with labels.
  ItemRows view() const {
    return {rows_, offsets_.data(), columns_.data(), values_.data(), scales_.data()};
  }
  std::int64_t entries() const { return entries_; }

 private:
  PinnedBuffer<std::int64_t> staged_offsets_;
  PinnedBuffer<std::uint32_t> staged_columns_;
  PinnedBuffer<std::int32_t> staged_values_;
  PinnedBuffer<double> staged_scales_;
  DeviceBuffer<std::int64_t> offsets_;
  DeviceBuffer<std::uint32_t> columns_;
  DeviceBuffer<std::int32_t> values_;
  DeviceBuffer<double> scales_;
  std::int64_t rows_ = 0;
  std::int64_t entries_ = 0;
  Event arrived_;
  Event finished_;
};

}  // namespace bulksim::cuda
