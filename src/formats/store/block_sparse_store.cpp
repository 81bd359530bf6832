#include "formats/store/block_sparse_store.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/crc.hpp"
#include "formats/shared/input_files.hpp"
#include "formats/store/store_header.hpp"
#include "sparse/block_sparse.hpp"

namespace bulksim {

namespace {

class BlockSparseStore final : public MatrixSource {
 public:
  BlockSparseStore(File file, std::string name) : file_(std::move(file)), name_(std::move(name)) {
    read_header();
    info_.path = name_;
    info_.format = "store";
    info_.rows = header_.rows;
    info_.columns = header_.columns;
    info_.nnz = header_.nnz;
    info_.has_ids = header_.place(StoreArray::kIdOffsets).is_there != 0;
    info_.ends_with_last_column = header_.ends_with_last_column != 0;
    if (header_.place(StoreArray::kTermOffsets).is_there != 0) {
      info_.vocabulary = header_.vocabulary;
    }
    read_survey();
  }

  const MatrixInfo& info() const override { return info_; }
  std::int64_t entries_of(RowRange range) const override {
    std::int64_t sum = 0;
    for (std::int64_t block = range.begin / kRowBlockRows; block * kRowBlockRows < range.end;
         ++block) {
      sum += survey_.row_block_nnz[block];
    }
    return sum;
  }
  const RowSurvey* survey() const override { return &survey_; }
  StoreSizes sizes() const { return sizes_of(header_); }
  StringTable ids() const override { return read_texts(StoreArray::kIdOffsets, info_.rows); }
  StringTable terms() const override { return read_texts(StoreArray::kTermOffsets, info_.columns); }

  void read(RowRange range, CsrMatrix& out) const override {
    BULKSIM_EXPECT(0 <= range.begin && range.begin <= range.end && range.end <= info_.rows);
    out.clear();
    out.columns = info_.columns;
    if (range.empty()) return;
    const std::int64_t first = range.begin / kRowBlockRows;
    const std::int64_t last = divide_up(range.end, kRowBlockRows);
    std::vector<std::byte> bytes(offset(last) - offset(first));
    file_.read(bytes, header_.place(StoreArray::kRowBlocks).at + offset(first));
    for (std::int64_t row_block = first; row_block < last; ++row_block) {
      const std::size_t at = offset(row_block) - offset(first);
      const std::size_t size = offset(row_block + 1) - offset(row_block);
      decode(row_block, std::span(bytes).subspan(at, size), out);
    }
    slice(out, {range.begin - first * kRowBlockRows, range.end - first * kRowBlockRows});
  }

 private:
  void read_header() {
    const std::int64_t size = file_.size();
    const auto bytes = std::as_writable_bytes(std::span(&header_, 1));
    if (size >= std::int64_t{sizeof header_}) file_.read(bytes, 0);
    if (size < std::int64_t{sizeof header_} || header_.magic != kStoreMagic) {
      refuse_compressed(file_, name_);
      throw Error(ExitCode::kDataError,
                  "'" + name_ + "' is not a store: import a matrix first (bulksim import)");
    }
    if (header_.version < 1 || header_.version > kStoreVersion) {
      throw Error(ExitCode::kDataError, "'" + name_ + "' is a store of version " +
                                            std::to_string(header_.version) +
                                            ", which is not supported: import the matrix again");
    }
    if (header_.crc != crc_of(header_)) fail("the checksum of its header does not match");
    const bool shape = 0 <= header_.rows && 0 <= header_.columns &&
                       header_.columns <= kMostColumns && 0 <= header_.nnz &&
                       header_.rows < std::numeric_limits<std::int64_t>::max() / 16;
    if (!shape) fail("its header is invalid");
    for (const ArrayPlace& place : header_.arrays) {
      const bool inside =
          0 <= place.at && place.at <= size && 0 <= place.bytes && place.bytes <= size - place.at;
      if (!inside) fail("it is truncated");
    }
  }

  void read_survey() {
    const std::int64_t row_blocks = divide_up(info_.rows, kRowBlockRows);
    offsets_ = read_array<std::int64_t>(StoreArray::kRowBlockOffsets, row_blocks + 1);
    survey_.row_block_digests = read_array<Digest>(StoreArray::kRowBlockDigests, row_blocks);
    survey_.row_block_nnz = read_array<std::int64_t>(StoreArray::kRowBlockNnz, row_blocks);
    survey_.longest_row = header_.longest_row;
    survey_.counts = header_.counts;
    if (header_.version > 1) survey_.rounding = read_extension().rounding;
    if (offsets_.front() != 0 || !std::is_sorted(offsets_.begin(), offsets_.end()) ||
        offsets_.back() != header_.place(StoreArray::kRowBlocks).bytes) {
      fail("the offsets of its row blocks are invalid");
    }
    for (std::int64_t row_block = 0; row_block < row_blocks; ++row_block) {
      const std::int64_t nnz = survey_.row_block_nnz[row_block];
      // a nonzero takes more than a byte, so memory that is reserved for them is bounded
      if (nnz < 0 || nnz > offset(row_block + 1) - offset(row_block))
        fail("its row blocks are too small");
    }
  }

  StoreHeaderExtension read_extension() const {
    StoreHeaderExtension extension;
    if (file_.size() < std::int64_t{sizeof header_ + sizeof extension}) fail("it is truncated");
    file_.read(std::as_writable_bytes(std::span(&extension, 1)), sizeof header_);
    if (extension.crc != crc_of(extension)) fail("the checksum of its header does not match");
    const RoundingInfo& rounding = extension.rounding;
    if (rounding.exact_rows < 0 || rounding.exact_rows > header_.rows ||
        rounding.longest_rounded_row < 0 || rounding.longest_rounded_row > header_.longest_row) {
      fail("its header is invalid");
    }
    return extension;
  }

  /// An array with a known number of elements, checked.
  template <class T>
  std::vector<T> read_array(StoreArray array, std::int64_t count) const {
    const ArrayPlace& place = header_.place(array);
    // compared before the product is formed: both sides are small then
    if (place.bytes / std::int64_t{sizeof(T)} != count ||
        place.bytes % std::int64_t{sizeof(T)} != 0) {
      fail("an array does not have the size given in the header");
    }
    std::vector<T> values(count);
    const auto bytes = std::as_writable_bytes(std::span(values));
    file_.read(bytes, place.at);
    if (crc32c(bytes) != place.crc) fail("the checksum of an array does not match");
    return values;
  }

  StringTable read_texts(StoreArray offsets, std::int64_t count) const {
    StringTable texts;
    if (header_.place(offsets).is_there == 0) return texts;
    const auto bytes = static_cast<StoreArray>(static_cast<int>(offsets) + 1);
    texts.offsets = read_array<std::int64_t>(offsets, count + 1);
    const auto content = read_array<char>(bytes, header_.place(bytes).bytes);
    texts.bytes.assign(content.begin(), content.end());
    if (texts.offsets.front() != 0 || !std::is_sorted(texts.offsets.begin(), texts.offsets.end()) ||
        texts.offsets.back() != std::ssize(texts.bytes)) {
      fail("the offsets of its ids or terms are invalid");
    }
    return texts;
  }

  std::int64_t offset(std::int64_t row_block) const { return offsets_[row_block]; }

  void decode(std::int64_t row_block, std::span<const std::byte> bytes, CsrMatrix& out) const {
    const std::int64_t before = out.rows();
    const std::int64_t rows = std::min(kRowBlockRows, info_.rows - row_block * kRowBlockRows);
    std::string fault = decode_row_block(bytes, out);
    if (fault.empty() && out.rows() - before != rows) fault = "its number of rows is wrong";
    if (fault.empty()) return;
    const std::int64_t begin = row_block * kRowBlockRows;
    throw Error(ExitCode::kDataError, "'" + name_ + "', rows " + std::to_string(begin) + " to " +
                                          std::to_string(begin + rows - 1) +
                                          ": the row block is damaged (" + fault +
                                          "); import the matrix again");
  }

  /// Keeps only the rows of a range.
  static void slice(CsrMatrix& rows, RowRange range) {
    const std::int64_t first = rows.row_offsets[range.begin];
    const std::int64_t last = rows.row_offsets[range.end];
    const auto keep = [](auto& values, std::int64_t from, std::int64_t to) {
      values.resize(to);
      values.erase(values.begin(), values.begin() + from);
    };
    keep(rows.row_offsets, range.begin, range.end + 1);
    keep(rows.col_indices, first, last);
    keep(rows.values, first, last);
    for (std::int64_t& offset : rows.row_offsets)
      offset -= first;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ExitCode::kDataError,
                "'" + name_ + "' is a damaged store: " + what + "; import the matrix again");
  }

  File file_;
  std::string name_;
  StoreHeader header_;
  MatrixInfo info_;
  std::vector<std::int64_t> offsets_;
  RowSurvey survey_;
};

}  // namespace

bool is_block_sparse_store(FileCalls& calls, const std::string& path) {
  return starts_with(calls, path, {kStoreMagic.data(), kStoreMagic.size()});
}

StoreSizes read_store_sizes(FileCalls& calls, const std::string& path) {
  return BlockSparseStore(File::open_input(calls, path), path).sizes();
}

std::unique_ptr<MatrixSource> open_block_sparse_store(FileCalls& calls, const std::string& path,
                                                      const std::string& name) {
  return std::make_unique<BlockSparseStore>(File::open_input(calls, path), name);
}

}  // namespace bulksim
