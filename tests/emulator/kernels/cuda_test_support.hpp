#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "backend/cuda/bench/upload_all.hpp"
#include "backend/cuda/kernels/block_builder.hpp"
#include "backend/cuda/stream/query_rows.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim::test {

/// Rows whose columns follow a skewed distribution. Every third one holds quarters, which are exact
/// when quantized.
struct RandomRows {
  std::int64_t rows = 1;
  std::int64_t columns = 300;
  int entries = 8;             ///< per row on average
  bool negative = true;        ///< values of both signs
  bool common_column = false;  ///< column 0 in every row that is not empty
  int zero_row_every = 7;      ///< 0: none
  unsigned seed = 1;
};

inline QuantizedRows random_rows(const RandomRows& wanted, FixedPoint format = kQ26) {
  std::mt19937_64 random(wanted.seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  CsrMatrix matrix;
  matrix.columns = wanted.columns;
  for (std::int64_t row = 0; row < wanted.rows; ++row) {
    const bool zero =
        wanted.zero_row_every > 0 && row % wanted.zero_row_every == wanted.zero_row_every / 2;
    const int entries =
        zero ? 0 : 1 + static_cast<int>(random() % (2 * static_cast<unsigned>(wanted.entries)));
    for (int entry = 0; entry < entries; ++entry) {
      const double u = uniform(random);
      const bool common = entry == 0 && wanted.common_column;
      const double column = common ? 0.0 : u * u * static_cast<double>(wanted.columns);
      double value = 0.05 + uniform(random);
      if (row % 3 == 1) value = std::ceil(value * 4) / 4;
      matrix.col_indices.push_back(static_cast<Column>(column));
      matrix.values.push_back(wanted.negative && random() % 2 == 0 ? -value : value);
    }
    matrix.row_offsets.push_back(static_cast<std::int64_t>(matrix.values.size()));
  }
  canonicalize(matrix, Irregular::kAccept, "random", 0);
  QuantizedRows rows;
  append_quantized_rows(matrix.view(), format, rows);
  return rows;
}

/// Item rows on the device, labelled for a query batch.
struct LabelledItems {
  LabelledItems(const QuantizedRows& rows, const cuda::QueryRows& queries,
                const cuda::Stream& stream)
      : offsets(cuda::upload_all(rows.row_offsets, stream)),
        labels(cuda::upload_all(rows.col_indices, stream)),
        values(cuda::upload_all(rows.values, stream)),
        scales(cuda::upload_all(rows.scales, stream)),
        entries(rows.nnz()),
        view{rows.rows(), offsets.data(), labels.data(), values.data(), scales.data()} {
    cuda::label_columns(queries, labels.data(), entries, stream);
  }

  cuda::DeviceBuffer<std::int64_t> offsets;
  cuda::DeviceBuffer<std::uint32_t> labels;
  cuda::DeviceBuffer<std::int32_t> values;
  cuda::DeviceBuffer<double> scales;
  std::int64_t entries;
  cuda::ItemRows view;
};

}  // namespace bulksim::test
