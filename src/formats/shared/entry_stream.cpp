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
    if (block_ends_.empty()) count_entries();
    const std::int64_t block = next_row_ / kRowBlockRows;
    if (block == window_.end) fill_window();
    out.columns = info_.columns;
    const std::int64_t rows = std::min(kRowBlockRows, info_.rows - next_row_);
    sort_into_rows(block, rows, out);
    next_row_ += rows;
    return true;
  }

 private:
  std::int64_t begin_of(std::int64_t block) const {
    return block == 0 ? 0 : block_ends_[block - 1];
  }

  void count_entries() {
    block_ends_.resize(divide_up(info_.rows, kRowBlockRows));
    const auto entries = open_();
    for (EntryBlock some; entries->next(some);) {
      for (const std::int64_t row : some.rows)
        ++block_ends_[row / kRowBlockRows];
    }
    std::int64_t end = 0;
    for (std::int64_t& count : block_ends_)
      count = end += count;
  }

  /// The largest number of row blocks whose entries fit, at least one.
  void fill_window() {
    window_ = {window_.end, window_.end + 1};
    const std::int64_t base = begin_of(window_.begin);
    while (window_.end < std::ssize(block_ends_) &&
           begin_of(window_.end + 1) - base <= most_entries_) {
      ++window_.end;
    }
    expect_to_fit(info_.path, {next_row_, std::min(window_.end * kRowBlockRows, info_.rows)},
                  begin_of(window_.end) - base, most_entries_);
    rows_.resize(begin_of(window_.end) - base);
    columns_.resize(rows_.size());
    values_.resize(rows_.size());
    std::vector<std::int64_t> places;  // where the next entry of each row block goes
    for (std::int64_t block = window_.begin; block < window_.end; ++block)
      places.push_back(begin_of(block) - base);
    const auto entries = open_();
    for (EntryBlock some; entries->next(some);) {
      for (std::size_t at = 0; at < some.rows.size(); ++at) {
        const std::int64_t block = some.rows[at] / kRowBlockRows;
        if (block < window_.begin || block >= window_.end) continue;
        const std::size_t place = places[block - window_.begin]++;
        rows_.at(place) = static_cast<std::uint16_t>(some.rows[at] % kRowBlockRows);
        columns_.at(place) = static_cast<Column>(some.columns[at]);
        values_.at(place) = some.values[at];
      }
    }
  }

  /// The entries of a row block in memory, by row.
  void sort_into_rows(std::int64_t block, std::int64_t rows, CsrMatrix& out) const {
    const std::size_t begin = begin_of(block) - begin_of(window_.begin);
    const std::size_t end = begin_of(block + 1) - begin_of(window_.begin);
    out.row_offsets.assign(rows + 1, 0);
    for (std::size_t at = begin; at < end; ++at)
      ++out.row_offsets[rows_[at] + 1];
    for (std::int64_t row = 0; row < rows; ++row)
      out.row_offsets[row + 1] += out.row_offsets[row];
    out.col_indices.resize(end - begin);
    out.values.resize(end - begin);
    std::vector<std::int64_t> places(out.row_offsets);  // where the next entry of each row goes
    for (std::size_t at = begin; at < end; ++at) {
      const std::size_t place = places[rows_[at]]++;
      out.col_indices[place] = columns_[at];
      out.values[place] = values_[at];
    }
  }

  MatrixInfo info_;
  std::function<std::unique_ptr<EntryStream>()> open_;
  std::int64_t most_entries_;
  StringTable none_;
  std::int64_t next_row_ = 0;
  std::vector<std::int64_t> block_ends_;  // entries up to the end of each row block
  RowRange window_;                       // row blocks whose entries are in memory
  std::vector<std::uint16_t> rows_;       // of the entries, each in its row block
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
