#pragma once

#include <cstdint>

#include "backend/cuda/kernels/layout.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// Replaces the `count` columns of item rows with their labels, in place.
void label_columns(const QueryRows& queries, std::uint32_t* columns, std::int64_t count,
                   const Stream& stream);

/// Inverts the rows of a slice into blocks on the device, in memory that it keeps.
class BlockBuilder {
 public:
  /// Allocates for slices of up to `entries` entries, divided as in `grid`. Throws CallError if the
  /// device does not have enough memory.
  void reserve(const BlockGrid& grid, std::int64_t entries, std::uint32_t labels);
  /// Bytes of that memory that sorting uses.
  static std::int64_t scratch_bytes(const BlockGrid& grid, std::int64_t entries,
                                    std::uint32_t labels);
  void clear();

  /// Blocks of labelled rows with `entries` entries, valid until the next call. All work is
  /// enqueued on `stream`.
  ItemBlocks build(const ItemRows& rows, std::int64_t entries, const BlockGrid& grid,
                   std::uint32_t labels, const Stream& stream);

 private:
  DeviceBuffer<std::uint64_t> keys_[2];
  DeviceBuffer<int2> pairs_[2];
  DeviceBuffer<std::byte> scratch_;
  DeviceBuffer<uint2> look_;
  DeviceBuffer<uint2> lists_;
  DeviceBuffer<std::int64_t> first_;
};

}  // namespace bulksim::cuda
