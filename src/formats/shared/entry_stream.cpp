#include "formats/shared/entry_stream.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "bulksim/core/error.hpp"
#include "bulksim/core/types.hpp"

namespace bulksim {

namespace {

class RowsOfEntries final : public RowStream {
 public:
  RowsOfEntries(MatrixInfo info, std::function<std::unique_ptr<EntryStream>()> open,
                std::int64_t most_entries)
      : info_(std::move(info)), open_(std::move(open)), most_entries_(most_entries) {}

  const MatrixInfo& info() const override { return info_; }
  const StringTable& ids() const override { return none_; }
  const StringTable& terms() const override { return none_; }
  double progress() const override {
    return info_.rows == 0 ? 1.0 : static_cast<double>(next_row_) / static_cast<double>(info_.rows);
  }

  bool next(CsrMatrix& out) override {
    if (next_row_ == info_.rows) return false;
    if (row_ends_.empty()) count_rows();
    if (next_row_ == window_.end) fill_window();
    const RowRange range{next_row_, std::min(next_row_ + kRowBlockRows, window_.end)};
    const std::ptrdiff_t first = begin_of(range.begin) - begin_of(window_.begin);
    const std::ptrdiff_t last = begin_of(range.end) - begin_of(window_.begin);
    out.clear();
    out.columns = info_.columns;
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      out.row_offsets.push_back(begin_of(row + 1) - begin_of(range.begin));
    }
    out.col_indices.assign(columns_.begin() + first, columns_.begin() + last);
    out.values.assign(values_.begin() + first, values_.begin() + last);
    next_row_ = range.end;
    return true;
  }

 private:
  std::int64_t begin_of(std::int64_t row) const { return row == 0 ? 0 : row_ends_[row - 1]; }

  void count_rows() {
    row_ends_.resize(info_.rows);
    const auto entries = open_();
    for (EntryBlock block; entries->next(block);) {
      for (const std::int64_t row : block.rows)
        ++row_ends_[row];
    }
    std::int64_t end = 0;
    for (std::int64_t& count : row_ends_)
      count = end += count;
  }

  /// The largest number of whole row blocks that fit, at least one.
  void fill_window() {
    window_ = {next_row_, next_row_};
    do {
      window_.end = std::min(window_.end + kRowBlockRows, info_.rows);
    } while (window_.end < info_.rows &&
             begin_of(std::min(window_.end + kRowBlockRows, info_.rows)) -
                     begin_of(window_.begin) <=
                 most_entries_);
    const std::int64_t base = begin_of(window_.begin);
    columns_.resize(begin_of(window_.end) - base);
    values_.resize(columns_.size());
    std::vector<std::int64_t> places;  // where the next entry of each row goes
    for (std::int64_t row = window_.begin; row < window_.end; ++row)
      places.push_back(begin_of(row) - base);
    const auto entries = open_();
    for (EntryBlock block; entries->next(block);) {
      for (std::size_t at = 0; at < block.rows.size(); ++at) {
        const std::int64_t row = block.rows[at];
        if (row < window_.begin || row >= window_.end) continue;
        const std::size_t place = places[row - window_.begin]++;
        columns_.at(place) = static_cast<Column>(block.columns[at]);
        values_.at(place) = block.values[at];
      }
    }
  }

  MatrixInfo info_;
  std::function<std::unique_ptr<EntryStream>()> open_;
  std::int64_t most_entries_;
  StringTable none_;
  std::int64_t next_row_ = 0;
  std::vector<std::int64_t> row_ends_;  // entries up to the end of each row
  RowRange window_;                     // rows whose entries are in memory
  std::vector<Column> columns_;
  std::vector<double> values_;
};

}  // namespace

std::unique_ptr<RowStream> rows_of_entries(MatrixInfo info,
                                           std::function<std::unique_ptr<EntryStream>()> open,
                                           std::int64_t most_entries) {
  return std::make_unique<RowsOfEntries>(std::move(info), std::move(open), most_entries);
}

void refuse_value(const std::string& where, double value) {
  throw Error(ExitCode::kDataError,
              where + ": the value is " + (std::isnan(value) ? "not a number" : "infinite"));
}

}  // namespace bulksim
