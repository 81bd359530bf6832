#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "formats/npz/npz_file.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kEntriesAtOnce = 65536;
constexpr std::int64_t kColumnsAtOnce = 4096;

/// The common part of csc and coo: an array of rows, an array of values.
class NpzEntries : public EntryStream {
 public:
  NpzEntries(const NpzFile& npz, NpyReader rows)
      : info_(npz.info()),
        rows_(std::move(rows)),
        values_(npz.open_array("data.npy")),
        count_(values_.left()) {}

  bool next(EntryBlock& out) final {
    const std::size_t count = std::min(count_ - done_, kEntriesAtOnce);
    out.rows.resize(count);
    out.columns.resize(count);
    out.values.resize(count);
    rows_.read(std::span(out.rows));
    values_.read(std::span(out.values));
    read_columns(out.columns);
    check(out);
    done_ += count;
    if (count == 0) finish();
    return count > 0;
  }

 protected:
  /// Fills the columns of the next entries.
  virtual void read_columns(std::span<std::int64_t> columns) = 0;
  /// Reads and checks what follows the last entry.
  virtual void finish() = 0;

  const MatrixInfo& info() const { return info_; }
  std::int64_t count() const { return count_; }
  std::int64_t done() const { return done_; }

 private:
  void check(const EntryBlock& block) const {
    for (std::size_t at = 0; at < block.rows.size(); ++at) {
      const std::int64_t row = block.rows[at];
      const std::int64_t column = block.columns[at];
      if (0 <= row && row < info_.rows && 0 <= column && column < info_.columns &&
          std::isfinite(block.values[at])) {
        continue;
      }
      const std::string where = ": entry " + std::to_string(done_ + static_cast<std::int64_t>(at));
      if (row < 0 || row >= info_.rows) refuse_index(rows_.shown() + where, row, "row", info_.rows);
      if (!std::isfinite(block.values[at])) refuse_value(values_.shown() + where, block.values[at]);
      refuse_index("'" + info_.path + "'" + where, column, "column", info_.columns);
    }
  }

  const MatrixInfo& info_;
  NpyReader rows_;
  NpyReader values_;
  std::int64_t count_ = 0;
  std::int64_t done_ = 0;
};

class CscEntries final : public NpzEntries {
 public:
  explicit CscEntries(const NpzFile& npz)
      : NpzEntries(npz, npz.open_array("indices.npy")),
        offsets_(npz, npz.info().columns, "column", count()) {
    expect_one_each(npz.open_array("indices.npy"), count());
  }

 private:
  void read_columns(std::span<std::int64_t> columns) override {
    for (std::size_t at = 0; at < columns.size(); ++at) {
      while (done() + static_cast<std::int64_t>(at) >= end_)
        next_column();
      columns[at] = column_;
    }
  }

  void finish() override {
    while (next_end_ < ends_.size() || offsets_.left() > 0)
      next_column();
  }

  void next_column() {
    if (next_end_ == ends_.size()) {
      if (offsets_.left() == 0) {
        throw Error(ExitCode::kDataError, offsets_.shown() + " ends with " + std::to_string(end_) +
                                              ", but there are " + std::to_string(count()) +
                                              " values");
      }
      ends_.clear();
      offsets_.read(std::min(offsets_.left(), kColumnsAtOnce), ends_);
      next_end_ = 0;
    }
    end_ = ends_[next_end_++];
    ++column_;
  }

  OffsetReader offsets_;
  std::vector<std::int64_t> ends_;  // of some columns
  std::size_t next_end_ = 0;        // the first of them that is not used yet
  std::int64_t column_ = -1;
  std::int64_t end_ = 0;  // of the entries of `column_`
};

/// Rows and columns in separate arrays.
class CooEntries final : public NpzEntries {
 public:
  CooEntries(const NpzFile& npz, NpyReader rows, NpyReader columns)
      : NpzEntries(npz, std::move(rows)), columns_(std::move(columns)) {}

 private:
  void read_columns(std::span<std::int64_t> columns) override { columns_.read(columns); }
  void finish() override { columns_.finish(); }

  NpyReader columns_;
};

std::unique_ptr<EntryStream> open_coo(const NpzFile& npz) {
  const std::int64_t count = npz.open_array("data.npy").left();
  if (!npz.has("coords.npy")) {
    NpyReader rows = npz.open_array("row.npy");
    NpyReader columns = npz.open_array("col.npy");
    expect_one_each(rows, count);
    expect_one_each(columns, count);
    return std::make_unique<CooEntries>(npz, std::move(rows), std::move(columns));
  }
  // one array of two rows: the rows of all entries, then their columns
  NpyReader rows = npz.open("coords.npy");
  NpyReader columns = npz.open("coords.npy");
  if (rows.header().shape != std::vector<std::int64_t>{2, count} || rows.header().fortran_order) {
    throw Error(ExitCode::kDataError, rows.shown() + " is not two rows, in C order, of " +
                                          std::to_string(count) + " numbers");
  }
  columns.skip(count);
  return std::make_unique<CooEntries>(npz, std::move(rows), std::move(columns));
}

}  // namespace

std::unique_ptr<EntryStream> open_npz_entries(const NpzFile& npz) {
  if (npz.format() == "csc") return std::make_unique<CscEntries>(npz);
  return open_coo(npz);
}

}  // namespace bulksim
