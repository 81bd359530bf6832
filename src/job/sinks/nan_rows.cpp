#include "job/sinks/nan_rows.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace bulksim {

/// 1 for each row that is known to be empty.
struct NanForZeroRows::Rows {
  TileGrid grid;
  std::vector<char> queries;
  std::vector<char> items;
};

class NanForZeroRows::Writer final : public TileWriter {
 public:
  Writer(std::shared_ptr<const Rows> rows, std::unique_ptr<TileWriter> writer)
      : rows_(std::move(rows)), writer_(std::move(writer)) {}

  void begin(TileId tile) override {
    const RowRange items = rows_->grid.items(tile.column);
    columns_.clear();
    for (std::int64_t item = items.begin; item < items.end; ++item) {
      if (rows_->items[item] == 1) columns_.push_back(item - items.begin);
    }
    width_ = items.size();
    queries_ = rows_->grid.queries(tile.row);
    writer_->begin(tile);
  }

  void write(const TileStripe& stripe) override {
    const RowRange range{queries_.begin + stripe.first_row,
                         std::min(queries_.begin + stripe.first_row + stripe.rows, queries_.end)};
    const auto flags =
        std::span(rows_->queries).subspan(range.begin, std::max<std::int64_t>(range.size(), 0));
    if (columns_.empty() && std::find(flags.begin(), flags.end(), 1) == flags.end()) {
      return writer_->write(stripe);
    }
    values_.assign(stripe.values.begin(), stripe.values.end());
    const std::size_t stride = rows_->grid.tile().items;
    for (std::size_t row = 0; row < flags.size(); ++row)
      spoil(std::span(values_).subspan(row * stride, width_), flags[row] == 1);
    writer_->write({stripe.tile, stripe.first_row, stripe.rows, values_, stripe.partials});
  }

  void finish() override { writer_->finish(); }

 private:
  void spoil(std::span<float> row, bool all) const {
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    if (all) {
      std::fill(row.begin(), row.end(), kNan);
      return;
    }
    for (const std::int64_t column : columns_)
      row[column] = kNan;
  }

  std::shared_ptr<const Rows> rows_;
  std::unique_ptr<TileWriter> writer_;
  std::vector<std::int64_t> columns_;  // of the tile, whose items are empty
  std::size_t width_ = 0;              // columns of the tile that exist
  RowRange queries_;
  std::vector<float> values_;
};

namespace {

void note(RowRange range, const QuantizedRows& rows, std::vector<char>& flags) {
  for (std::int64_t row = 0; row < range.size(); ++row) {
    const std::size_t at = row;
    if (rows.row_offsets[at] == rows.row_offsets[at + 1]) {
      flags[range.begin + row] = 1;
    }
  }
}

}  // namespace

NanForZeroRows::NanForZeroRows(const TileGrid& grid, TileSink& sink)
    : sink_(sink),
      rows_(new Rows{grid, std::vector<char>(grid.shape().queries),
                     std::vector<char>(grid.shape().items)}) {}

std::unique_ptr<TileWriter> NanForZeroRows::make_writer() {
  return std::make_unique<Writer>(rows_, sink_.make_writer());
}

void NanForZeroRows::note_queries(RowRange range, const QuantizedRows& rows) {
  note(range, rows, rows_->queries);
}

void NanForZeroRows::note_items(RowRange range, const QuantizedRows& rows) {
  note(range, rows, rows_->items);
}

}  // namespace bulksim
