#include "formats/spmat/spmat.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "bulksim/core/error.hpp"
#include "formats/shared/input_files.hpp"

namespace bulksim {

namespace {

static_assert(std::endian::native == std::endian::little, "files are read as they are in memory");

/// Columns are int32 in the file, so a wider matrix cannot be addressed.
constexpr std::int64_t kMostFileColumns = std::int64_t{1} << 31;

struct SpmatHeader {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t nnz = 0;

  std::int64_t offsets_at() const { return sizeof(SpmatHeader); }
  std::int64_t columns_at() const { return offsets_at() + 8 * (rows + 1); }
  std::int64_t values_at() const { return columns_at() + 4 * nnz; }

  /// Size of the file in bytes; none when it exceeds 64 bits or a number is negative.
  std::optional<std::int64_t> file_bytes() const {
    std::int64_t offsets = 0;
    std::int64_t entries = 0;
    std::int64_t bytes = 0;
    if (rows < 0 || columns < 0 || nnz < 0 || __builtin_mul_overflow(rows, 8, &offsets) ||
        __builtin_mul_overflow(nnz, 8, &entries) ||
        __builtin_add_overflow(offsets, entries, &bytes) ||
        __builtin_add_overflow(bytes, offsets_at() + 8, &bytes)) {
      return std::nullopt;
    }
    return bytes;
  }

  SpmatHeader byte_swapped() const {
    const auto swap = [](std::int64_t value) {
      return static_cast<std::int64_t>(__builtin_bswap64(value));
    };
    return {swap(rows), swap(columns), swap(nnz)};
  }

  std::string text() const {
    return std::to_string(rows) + " rows, " + std::to_string(columns) + " columns and " +
           std::to_string(nnz) + " entries";
  }
};
static_assert(sizeof(SpmatHeader) == 24);

template <class T>
std::span<std::byte> writable_bytes(T& value) {
  return std::as_writable_bytes(std::span<T, 1>(&value, 1));
}

/// The fault of a file of `size` bytes that starts with `header`; empty when there is none.
std::string header_fault(const SpmatHeader& header, std::int64_t size) {
  const auto expected = header.file_bytes();
  if (expected == size && header.columns <= kMostFileColumns) return {};
  if (header.byte_swapped().file_bytes() == size) {
    return "is byte-swapped (written on a big-endian machine): write it again as little-endian";
  }
  const std::string fault = "is not an spmat file: its header has " + header.text();
  if (!expected) return fault + ", which is more than any file can hold";
  if (expected != size) {
    return fault + ", which takes " + std::to_string(*expected) + " bytes, but the file has " +
           std::to_string(size);
  }
  return fault + ", but columns are numbered in 32 bits (at most " +
         std::to_string(kMostFileColumns) + ")";
}

SpmatHeader read_header(const File& file, const std::string& name) {
  const std::int64_t size = file.size();
  SpmatHeader header;
  if (size < header.offsets_at()) {
    throw Error(ExitCode::kDataError, "'" + name + "' is not an spmat file: it has " +
                                          std::to_string(size) +
                                          " bytes, fewer than the header of 24");
  }
  file.read(writable_bytes(header), 0);
  const std::string fault = header_fault(header, size);
  if (fault.empty()) return header;
  refuse_compressed(file, name);
  throw Error(ExitCode::kDataError, "'" + name + "' " + fault);
}

class SpmatSource final : public MatrixSource {
 public:
  SpmatSource(File file, const std::string& name)
      : file_(std::move(file)), header_(read_header(file_, name)) {
    info_.path = name;
    info_.format = "spmat";
    info_.rows = header_.rows;
    info_.columns = header_.columns;
    info_.nnz = header_.nnz;
    const std::int64_t first = offset_of(0);
    const std::int64_t last = offset_of(header_.rows);
    if (first != 0) fail("row_offsets begin with " + std::to_string(first) + " instead of 0");
    if (last != header_.nnz) {
      fail("row_offsets end with " + std::to_string(last) + " instead of the number of entries, " +
           std::to_string(header_.nnz));
    }
  }

  const MatrixInfo& info() const override { return info_; }

  std::int64_t entries_of(RowRange range) const override {
    const std::int64_t first = offset_of(range.begin);
    const std::int64_t last = offset_of(range.end);
    const bool good = 0 <= first && first <= last && last <= header_.nnz;
    return good ? last - first : 0;  // `read` says what is wrong
  }

  void read(RowRange range, CsrMatrix& out) const override {
    BULKSIM_EXPECT(0 <= range.begin && range.begin <= range.end && range.end <= header_.rows);
    out.columns = header_.columns;
    const std::int64_t first = read_offsets(range, out.row_offsets);
    const std::size_t count = out.nnz();
    out.col_indices.resize(count);
    out.values.resize(count);
    file_.read(std::as_writable_bytes(std::span(out.col_indices)),
               header_.columns_at() + 4 * first);
    read_values(first, out.values);
    check(range, out);
  }

  const RowSurvey* survey() const override { return nullptr; }
  StringTable ids() const override { return {}; }
  StringTable terms() const override { return {}; }

 private:
  std::int64_t offset_of(std::int64_t row) const {
    std::int64_t value = 0;
    file_.read(writable_bytes(value), header_.offsets_at() + 8 * row);
    return value;
  }

  /// Offsets of the range, from 0; returns the first entry of the range in the file.
  std::int64_t read_offsets(RowRange range, std::vector<std::int64_t>& offsets) const {
    offsets.resize(range.size() + 1);
    file_.read(std::as_writable_bytes(std::span(offsets)), header_.offsets_at() + 8 * range.begin);
    std::int64_t before = 0;
    for (std::size_t at = 0; at < offsets.size(); ++at) {
      if (offsets[at] < before || offsets[at] > header_.nnz) {
        // the offset that ends row r is at r + 1
        const auto row = std::max<std::int64_t>(0, range.begin + static_cast<std::int64_t>(at) - 1);
        fail("row_offsets not monotone at row " + std::to_string(row) + " (" +
             std::to_string(offsets[at]) + ")");
      }
      before = offsets[at];
    }
    const std::int64_t first = offsets.front();
    for (std::int64_t& offset : offsets)
      offset -= first;
    return first;
  }

  /// Reads the float32 values into the upper half of the float64 ones and widens them in place: a
  /// value is written only over those that were widened before it.
  void read_values(std::int64_t first, std::vector<double>& values) const {
    const auto all = std::as_writable_bytes(std::span(values));
    const auto narrow = all.subspan(all.size() / 2);
    file_.read(narrow, header_.values_at() + 4 * first);
    for (std::size_t entry = 0; entry < values.size(); ++entry) {
      float value = 0.0f;
      std::memcpy(&value, &narrow[4 * entry], sizeof value);
      values[entry] = value;
    }
  }

  void check(RowRange range, const CsrMatrix& rows) const {
    bool good = true;
    for (const Column column : rows.col_indices)
      good &= column < header_.columns;
    for (const double value : rows.values)
      good &= std::isfinite(value);
    if (!good) report_entry(range, rows);
  }

  [[noreturn]] void report_entry(RowRange range, const CsrMatrix& rows) const {
    std::size_t at = 0;
    while (rows.col_indices[at] < header_.columns && std::isfinite(rows.values[at]))
      ++at;
    const auto& offsets = rows.row_offsets;
    const std::int64_t entry = at;
    const auto row = std::upper_bound(offsets.begin(), offsets.end(), entry) - offsets.begin() - 1;
    const std::string where = "row " + std::to_string(range.begin + row) + ", entry " +
                              std::to_string(entry - offsets[row]) + ": ";
    if (rows.col_indices[at] >= header_.columns) {
      fail(where + "column " + std::to_string(static_cast<std::int32_t>(rows.col_indices[at])) +
           " is not one of the " + std::to_string(header_.columns) + " columns");
    }
    fail(where + "the value is " + (std::isnan(rows.values[at]) ? "not a number" : "infinite"));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::kDataError, "'" + info_.path + "', " + what);
  }

  File file_;
  SpmatHeader header_;
  MatrixInfo info_;
};

/// Values that are converted together before they are written.
constexpr std::size_t kValuesAtOnce = 65536;

SpmatHeader header_of(const std::vector<std::int64_t>& row_offsets, std::int64_t columns) {
  return {std::ssize(row_offsets) - 1, columns, row_offsets.back()};
}

}  // namespace

std::unique_ptr<MatrixSource> open_spmat(FileCalls& calls, const std::string& path,
                                         const std::string& name) {
  return std::make_unique<SpmatSource>(File::open_input(calls, path), name);
}

SpmatWriter::SpmatWriter(FileCalls& calls, std::string path, std::int64_t columns,
                         std::vector<std::int64_t> row_offsets)
    : columns_(columns), row_offsets_(std::move(row_offsets)), staged_(calls, std::move(path)) {
  BULKSIM_EXPECT(!row_offsets_.empty() && row_offsets_.front() == 0 && columns <= kMostFileColumns);
}

void SpmatWriter::append(CsrView rows) {
  const std::int64_t first = row_offsets_[next_row_];
  const std::size_t begin = rows.row_offsets.front();
  const std::size_t count = rows.nnz();
  next_row_ += rows.rows();
  BULKSIM_EXPECT(row_offsets_.at(next_row_) == first + rows.nnz());
  const SpmatHeader header = header_of(row_offsets_, columns_);
  staged_.file().write(std::as_bytes(rows.col_indices.subspan(begin, count)),
                       header.columns_at() + 4 * first);
  write_values(rows.values.subspan(begin, count), header.values_at() + 4 * first);
}

void SpmatWriter::write_values(std::span<const double> values, std::int64_t at) {
  std::vector<float> narrow;
  for (std::size_t done = 0; done < values.size(); done += narrow.size()) {
    narrow.resize(std::min(kValuesAtOnce, values.size() - done));
    for (std::size_t entry = 0; entry < narrow.size(); ++entry) {
      narrow[entry] = static_cast<float>(values[done + entry]);
      if (!std::isfinite(narrow[entry])) {
        throw Error(ExitCode::kDataError, "cannot write '" + staged_.path() + "': the value " +
                                              std::to_string(values[done + entry]) +
                                              " is outside the range of float32");
      }
    }
    staged_.file().write(bytes_of(narrow), at + 4 * static_cast<std::int64_t>(done));
  }
}

void SpmatWriter::finish() {
  BULKSIM_EXPECT(next_row_ + 1 == std::ssize(row_offsets_));
  const SpmatHeader header = header_of(row_offsets_, columns_);
  staged_.file().write(std::as_bytes(std::span(&header, 1)), 0);
  staged_.file().write(bytes_of(row_offsets_), header.offsets_at());
  staged_.publish();
}

}  // namespace bulksim
