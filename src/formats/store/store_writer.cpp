#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/crc.hpp"
#include "formats/store/block_sparse_store.hpp"
#include "formats/store/store_header.hpp"
#include "hdf5/arrays.hpp"
#include "hdf5/attributes.hpp"
#include "sparse/block_sparse.hpp"

namespace bulksim {

namespace {

static_assert(std::endian::native == std::endian::little,
              "arrays are written as they are in memory");

/// Row blocks are written in pieces of about this size.
constexpr std::size_t kBytesAtOnce = std::size_t{4} << 20;

/// One array to be written.
struct NewArray {
  StoreArray which;
  const char* name;
  h5::Element element;
  std::vector<hsize_t> extent;
  std::span<const std::byte> content;
};

h5::Attributes attributes_of(const StoreHeader& header, const RoundingInfo& rounding) {
  return {{"format", "bulksim Block-Sparse CSR"},
          {"version", std::int64_t{header.version}},
          {"rows", header.rows},
          {"columns", header.columns},
          {"nonzeros", header.nnz},
          {"longest_row", header.longest_row},
          {"longest_rounded_row", rounding.longest_rounded_row},
          {"exact_rows", rounding.exact_rows},
          {"zero_rows", header.counts.zero_rows},
          {"unsorted_rows", header.counts.unsorted_rows},
          {"duplicates", header.counts.duplicates},
          {"explicit_zeros", header.counts.explicit_zeros}};
}

void add_texts(const StringTable& texts, std::array<StoreArray, 2> which,
               std::array<const char*, 2> names, std::vector<NewArray>& arrays) {
  if (texts.empty()) return;
  arrays.push_back(
      {which[0], names[0], h5::Element::kInt64, {texts.offsets.size()}, bytes_of(texts.offsets)});
  arrays.push_back({which[1],
                    names[1],
                    h5::Element::kByte,
                    {texts.bytes.size()},
                    std::as_bytes(std::span(texts.bytes))});
}

}  // namespace

struct StoreWriter::Layout {
  h5::File file;
};

StoreWriter::StoreWriter(FileCalls& calls, std::string path)
    : staged_(calls, std::move(path)), layout_(new Layout{h5::create_array_file(staged_.file())}) {}

StoreWriter::~StoreWriter() = default;

void StoreWriter::append(CsrView canonical) {
  BULKSIM_EXPECT(rows_ % kRowBlockRows == 0 && canonical.rows() <= kRowBlockRows);
  const std::size_t before = pending_.size();
  encode_row_block(canonical, pending_);
  row_block_offsets_.push_back(row_block_offsets_.back() +
                               static_cast<std::int64_t>(pending_.size() - before));
  survey_.row_block_digests.push_back(row_block_digest(canonical));
  survey_.row_block_nnz.push_back(canonical.nnz());
  survey_.longest_row = std::max(survey_.longest_row, longest_row(canonical));
  values_ += value_info(canonical);
  rows_ += canonical.rows();
  nnz_ += canonical.nnz();
  if (pending_.size() >= kBytesAtOnce) flush();
}

/// The row blocks are where HDF5 will place the first array, which it creates only in `finish`.
void StoreWriter::flush() {
  const std::int64_t size = pending_.size();
  staged_.file().write(pending_, h5::kArraysAt + row_block_offsets_.back() - size);
  pending_.clear();
}

StoreSizes StoreWriter::finish(const StoreInfo& store_info) {
  flush();
  StoreHeader header = header_of(store_info);
  write_arrays(store_info, header);
  h5::write_attributes(layout_->file, attributes_of(header, values_.rounding));
  layout_->file.close("close '" + staged_.path() + "'");
  header.crc = crc_of(header);
  staged_.file().write(std::as_bytes(std::span(&header, 1)), 0);
  StoreHeaderExtension extension{values_.rounding};
  extension.crc = crc_of(extension);
  staged_.file().write(std::as_bytes(std::span(&extension, 1)), sizeof header);
  staged_.publish();
  return sizes_of(header);
}

StoreHeader StoreWriter::header_of(const StoreInfo& store_info) const {
  StoreHeader header;
  header.ends_with_last_column = store_info.ends_with_last_column;
  header.rows = rows_;
  header.columns = store_info.columns;
  header.nnz = nnz_;
  header.longest_row = survey_.longest_row;
  header.counts = store_info.counts;
  header.vocabulary = store_info.terms.digest();
  return header;
}

void StoreWriter::write_arrays(const StoreInfo& store_info, StoreHeader& header) const {
  using enum StoreArray;
  using enum h5::Element;
  const auto row_blocks = survey_.row_block_digests.size();
  ArrayPlace& rows = header.arrays[static_cast<std::size_t>(kRowBlocks)];
  rows = {h5::create_array(layout_->file, "row_blocks", kByte,
                           {static_cast<hsize_t>(row_block_offsets_.back())}),
          row_block_offsets_.back(), 0, 1};
  if (rows.at != h5::kArraysAt) {
    throw Error(ExitCode::kSoftware, "HDF5 has placed the row blocks of '" + staged_.path() +
                                         "' at byte " + std::to_string(rows.at) + " instead of " +
                                         std::to_string(h5::kArraysAt));
  }
  std::vector<NewArray> arrays{
      {kRowBlockOffsets,
       "row_block_offsets",
       kInt64,
       {row_blocks + 1},
       bytes_of(row_block_offsets_)},
      {kRowBlockDigests,
       "row_block_digests",
       kUint64,
       {row_blocks, 2},
       bytes_of(survey_.row_block_digests)},
      {kRowBlockNnz, "row_block_nnz", kInt64, {row_blocks}, bytes_of(survey_.row_block_nnz)}};
  add_texts(store_info.ids, {kIdOffsets, kIdBytes}, {"id_offsets", "id_bytes"}, arrays);
  add_texts(store_info.terms, {kTermOffsets, kTermBytes}, {"term_offsets", "term_bytes"}, arrays);
  for (const NewArray& array : arrays) {
    const std::int64_t at =
        h5::create_array(layout_->file, array.name, array.element, array.extent);
    header.arrays[static_cast<std::size_t>(array.which)] = {at, std::ssize(array.content),
                                                            crc32c(array.content), 1};
    staged_.file().write(array.content, at);
  }
}

}  // namespace bulksim
