#pragma once

#include <memory>

#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/sparse/quantized_rows.hpp"

namespace bulksim {

/// Makes the cells of rows without values NaN on their way out, for --zero-rows nan. Takes a byte
/// for each row of both sides.
class NanForZeroRows final : public TileSink {
 public:
  /// `sink` must outlive the writers made here.
  NanForZeroRows(const TileGrid& grid, TileSink& sink);

  std::unique_ptr<TileWriter> make_writer() override;
  /// Notes which rows of a range have no values; called before a tile of them is at work.
  void note_queries(RowRange range, const QuantizedRows& rows);
  void note_items(RowRange range, const QuantizedRows& rows);

 private:
  class Writer;
  struct Rows;

  TileSink& sink_;
  std::shared_ptr<Rows> rows_;  // shared with the writers, which may live longer
};

}  // namespace bulksim
