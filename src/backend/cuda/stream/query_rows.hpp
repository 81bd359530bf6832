#pragma once

#include <cstdint>
#include <vector>

#include "backend/cuda/kernels/layout.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "cuda/buffer.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim::cuda {

/// A query batch, relabelled and kept on the device.
class DeviceQueries {
 public:
  /// Returns when the rows have arrived. Tiles have `tile_queries` rows each, beginning with the
  /// first row.
  DeviceQueries(const QuantizedRows& rows, std::int64_t tile_queries, const Stream& stream);

  const QueryRows& view() const { return view_; }
  /// Number of rows for the long-row kernel in a tile; tiles are counted from the first of the
  /// batch.
  int long_rows(std::int64_t tile_row) const { return long_rows_[tile_row]; }
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  void relabel(const QuantizedRows& rows, const Stream& stream);
  void arrange(const QuantizedRows& rows, std::int64_t tile_queries, const Stream& stream);
  void upload_vocabulary(const QuantizedRows& rows, const Stream& stream);

  Vocabulary vocabulary_;
  std::vector<int> long_rows_;
  DeviceBuffer<std::int64_t> offsets_;
  DeviceBuffer<int2> entries_;
  DeviceBuffer<std::uint32_t> order_;
  DeviceBuffer<std::uint32_t> columns_;
  DeviceBuffer<std::uint32_t> labels_;
  DeviceBuffer<double> scales_;
  QueryRows view_;
};

}  // namespace bulksim::cuda
