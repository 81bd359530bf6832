#include "formats/npz/npz.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bulksim/core/types.hpp"
#include "formats/npz/npz_file.hpp"
#include "formats/shared/entry_stream.hpp"

namespace bulksim {

namespace {

class CsrStream final : public RowStream {
 public:
  CsrStream(std::unique_ptr<NpzFile> npz, std::int64_t most_entries)
      : npz_(std::move(npz)),
        info_(npz_->info()),
        most_entries_(most_entries),
        columns_(npz_->open_array("indices.npy")),
        values_(npz_->open_array("data.npy")),
        offsets_(*npz_, info_.rows, "row", values_.left()) {
    info_.nnz = values_.left();
    expect_one_each(columns_, info_.nnz);
  }

  const MatrixInfo& info() const override { return info_; }
  const StringTable& ids() const override { return none_; }
  const StringTable& terms() const override { return none_; }
  double progress() const override {
    return info_.rows == 0 ? 1.0 : static_cast<double>(next_row_) / static_cast<double>(info_.rows);
  }

  bool next(CsrMatrix& out) override {
    const std::int64_t count = std::min(kRowBlockRows, info_.rows - next_row_);
    if (count == 0) {
      finish();
      return false;
    }
    out.clear();
    out.columns = info_.columns;
    offsets_.read(count, out.row_offsets);
    for (std::size_t row = 1; row < out.row_offsets.size(); ++row)
      out.row_offsets[row] -= next_entry_;
    next_entry_ += out.nnz();
    expect_to_fit(info_.path, {next_row_, next_row_ + count}, out.nnz(), most_entries_);
    const std::size_t nnz = out.nnz();
    indices_.resize(nnz);
    columns_.read(std::span(indices_));
    out.values.resize(nnz);
    values_.read(std::span(out.values));
    out.col_indices.resize(nnz);
    for (std::size_t at = 0; at < nnz; ++at)
      out.col_indices[at] = static_cast<Column>(indices_[at]);
    check(out);
    next_row_ += count;
    return true;
  }

 private:
  void check(const CsrMatrix& rows) const {
    bool good = true;
    for (std::size_t at = 0; at < indices_.size(); ++at) {
      good &= 0 <= indices_[at] && indices_[at] < info_.columns && std::isfinite(rows.values[at]);
    }
    if (good) return;
    std::size_t at = 0;
    while (0 <= indices_[at] && indices_[at] < info_.columns && std::isfinite(rows.values[at]))
      ++at;
    const auto& offsets = rows.row_offsets;
    const std::int64_t entry = at;
    const auto row = std::upper_bound(offsets.begin(), offsets.end(), entry) - offsets.begin() - 1;
    const std::string where = ": row " + std::to_string(next_row_ + row) + ", entry " +
                              std::to_string(entry - offsets[row]);
    if (std::isfinite(rows.values[at])) {
      refuse_index(columns_.shown() + where, indices_[at], "column", info_.columns);
    }
    refuse_value(values_.shown() + where, rows.values[at]);
  }

  /// Reads what follows the last row: the checksums cover whole members.
  void finish() {
    columns_.finish();
    values_.finish();
  }

  std::unique_ptr<NpzFile> npz_;
  MatrixInfo info_;
  std::int64_t most_entries_;
  NpyReader columns_;
  NpyReader values_;
  OffsetReader offsets_;
  StringTable none_;
  std::vector<std::int64_t> indices_;
  std::int64_t next_row_ = 0;
  std::int64_t next_entry_ = 0;
};

}  // namespace

std::unique_ptr<RowStream> open_npz(FileCalls& calls, const std::string& path,
                                    const RowStreamOptions& options) {
  auto npz = std::make_unique<NpzFile>(calls, path);
  if (npz->format() == "csr") {
    return std::make_unique<CsrStream>(std::move(npz), options.most_entries);
  }
  MatrixInfo info = npz->info();
  info.nnz = npz->open_array("data.npy").left();
  const std::shared_ptr<const NpzFile> shared = std::move(npz);
  return rows_of_entries(
      std::move(info), [shared] { return open_npz_entries(*shared); }, options.most_entries);
}

}  // namespace bulksim
