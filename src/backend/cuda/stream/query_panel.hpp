#pragma once

#include "backend/cuda/kernels/panel.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "cuda/buffer.hpp"
#include "sparse/vocabulary.hpp"

namespace bulksim::cuda {

/// Up to 128 query rows as a panel on the device.
class QueryPanel {
 public:
  /// Returns when the panel has arrived.
  QueryPanel(const QuantizedRows& queries, RowRange rows, const Vocabulary& vocabulary,
             const Stream& stream);

  /// `first_row` is the first row of the panel within its tile.
  Panel view(std::int64_t first_row) const {
    return {first_row, queries_, look_.data(), rows_.data()};
  }

 private:
  int queries_;
  DeviceBuffer<uint2> look_;
  DeviceBuffer<int4> rows_;
};

}  // namespace bulksim::cuda
