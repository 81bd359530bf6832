#pragma once

#include <memory>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim {

/// Sets the cells of empty rows to NaN on their way to the output, for --zero-rows nan. Takes one
/// byte per row of both sides.
class NanForZeroRows final : public TileSink {
 public:
  /// `sink` must outlive the writers.
  NanForZeroRows(const TileGrid& grid, TileSink& sink);

  std::unique_ptr<TileWriter> make_writer() override;
  /// Notes which rows of a range are empty; called before a tile of them is computed.
  void note_queries(RowRange range, const QuantizedRows& rows);
  void note_items(RowRange range, const QuantizedRows& rows);

 private:
  class Writer;
  struct Rows;

  TileSink& sink_;
  std::shared_ptr<Rows> rows_;  // shared with the writers, which may live longer
};

}  // namespace bulksim
