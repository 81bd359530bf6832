#include <algorithm>
#include <cstring>

#include "formats/store/block_sparse_store.hpp"
#include "formats/store/store_header.hpp"
#include "fuzz.hpp"

namespace bulksim::fuzz {
namespace {

/// The bytes with checksums that match, so that what lies behind them is tested as well.
class Mended {
 public:
  explicit Mended(std::string_view bytes) : bytes_(bytes) {
    if (bytes_.size() < sizeof header_) return;
    std::memcpy(&header_, bytes_.data(), sizeof header_);
    for (ArrayPlace& place : header_.arrays) {
      if (&place != header_.arrays.data() && is_inside(place)) place.crc = crc32c(span_of(place));
    }
    mend_row_blocks();
    header_.crc = crc_of(header_);
    std::memcpy(bytes_.data(), &header_, sizeof header_);
    set_crc(bytes_, sizeof header_, sizeof header_ + offsetof(StoreHeaderExtension, crc));
  }

  std::string_view bytes() const { return bytes_; }

 private:
  bool is_inside(const ArrayPlace& place) const {
    const std::int64_t size = std::ssize(bytes_);
    return place.at >= 0 && place.at <= size && place.bytes >= 0 && place.bytes <= size - place.at;
  }
  std::span<const std::byte> span_of(const ArrayPlace& place) const {
    return std::as_bytes(std::span(bytes_).subspan(place.at, place.bytes));
  }

  /// The checksum of a row block is at its start and covers the bytes after it.
  void mend_row_blocks() {
    const ArrayPlace& rows = header_.place(StoreArray::kRowBlocks);
    const ArrayPlace& offsets = header_.place(StoreArray::kRowBlockOffsets);
    if (!is_inside(rows) || !is_inside(offsets)) return;
    for (std::int64_t at = 0; at + 16 <= offsets.bytes; at += 8) {
      std::int64_t ends[2];
      std::memcpy(ends, span_of(offsets).data() + at, sizeof ends);
      if (ends[0] < 0 || ends[0] > rows.bytes - 4 || ends[1] < ends[0] + 4 ||
          ends[1] > rows.bytes) {
        continue;
      }
      const std::uint32_t crc = crc32c(span_of(rows).subspan(ends[0] + 4, ends[1] - ends[0] - 4));
      std::memcpy(&bytes_[rows.at + ends[0]], &crc, sizeof crc);
    }
  }

  std::string bytes_;
  StoreHeader header_;
};

const Target kTarget("store", [](std::string_view bytes) {
  const Mended mended(bytes);
  OneFile calls(mended.bytes());
  const auto source = open_block_sparse_store(calls, "x.h5", "x.h5");
  use_source(*source);
  const std::int64_t rows = source->info().rows;
  CsrMatrix out;
  const std::int64_t some = std::min<std::int64_t>(rows, 3);
  source->read({rows - some, rows}, out);
  expect(out.rows() == some, "a range has its rows");
  use_texts(source->ids());
  use_texts(source->terms());
});

}  // namespace
}  // namespace bulksim::fuzz
