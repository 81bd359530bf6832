#pragma once

#include <cstdint>

#include "backend/cuda/kernels/layout.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// A place for the item rows of a slice: pinned for their way up, and on the device. There are two,
/// so that the rows of the next slice arrive while this one is computed.
class ItemSlot {
 public:
  /// Makes room on the device; throws CallError when there is none.
  void reserve(std::int64_t rows, std::int64_t entries);
  void clear();

  /// Sends `range` of `rows` up on `stream`. Waits for the copy before, and the copy waits until
  /// the device has done with the rows before.
  void send(const QuantizedRows& rows, RowRange range, const Stream& stream);
  /// Work put into `compute` from now on sees the rows.
  void receive(const Stream& compute) const { arrived_.hold(compute); }
  /// Marks that what is in `compute` so far is the last to read the rows.
  void finish(const Stream& compute) { finished_.record(compute); }

  std::uint32_t* columns() const { return columns_.data(); }
  /// Valid once the columns have become labels.
  ItemRows view() const {
    return {rows_, offsets_.data(), columns_.data(), values_.data(),
            has_norms_ ? norms_.data() : nullptr};
  }
  std::int64_t entries() const { return entries_; }

 private:
  PinnedBuffer<std::int64_t> staged_offsets_;
  PinnedBuffer<std::uint32_t> staged_columns_;
  PinnedBuffer<std::int32_t> staged_values_;
  PinnedBuffer<double> staged_norms_;
  DeviceBuffer<std::int64_t> offsets_;
  DeviceBuffer<std::uint32_t> columns_;
  DeviceBuffer<std::int32_t> values_;
  DeviceBuffer<double> norms_;
  std::int64_t rows_ = 0;
  std::int64_t entries_ = 0;
  bool has_norms_ = false;
  Event arrived_;
  Event finished_;
};

}  // namespace bulksim::cuda
