#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/string_table.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "core/files/staged_file.hpp"

namespace bulksim {

// A store: canonical rows as Block-Sparse row blocks in an HDF5 file, with their survey.
//
//   bytes 0 .. 4095         a header with the position, size and CRC32C of everything below, in the
//                           user block, which HDF5 ignores: a store is read without HDF5
//   /row_blocks             the row blocks, one after the other
//   /row_block_offsets      int64[row blocks + 1]: bytes [offsets[b], offsets[b + 1]) are block b
//   /row_block_digests      uint64[row blocks, 2]: XXH3-128 of its canonical rows
//   /row_block_nnz          int64[row blocks]
//   /id_offsets, /id_bytes  ids of the rows, if there are any: that of row r is the bytes
//                           [offsets[r], offsets[r + 1])
//   /term_offsets, /term_bytes   terms of the columns, in the same way
//
// Attributes of the root give the kind of file, its shape and the irregularities of its source.

/// The first bytes of a store.
inline constexpr std::array<char, 16> kStoreMagic{"bulksim store\r\n"};

struct StoreHeader;

/// Opens a store; `name` is what errors call it. Throws Error (65) when it is damaged.
std::unique_ptr<MatrixSource> open_block_sparse_store(FileCalls& calls, const std::string& path,
                                                      const std::string& name);

/// Bytes of a store by what they hold.
struct StoreSizes {
  std::int64_t rows = 0;  ///< row blocks and their offsets
  std::int64_t survey = 0;
  std::int64_t ids = 0;
  std::int64_t vocabulary = 0;
};

/// Whether a file starts like a store.
bool is_block_sparse_store(FileCalls& calls, const std::string& path);

/// Bytes of an existing store; throws as `open_block_sparse_store`.
StoreSizes read_store_sizes(FileCalls& calls, const std::string& path);

/// What a store contains besides its rows.
struct StoreInfo {
  std::int64_t columns = 0;
  bool ends_with_last_column = false;  ///< as in MatrixInfo
  CanonicalizationCounts counts;       ///< of the rows before canonicalization
  StringTable ids;                     ///< one per row, or none
  StringTable terms;                   ///< one per column, or none
};

/// Writes a store, row block by row block, with bounded memory. The file appears when `finish`
/// returns.
class StoreWriter {
 public:
  StoreWriter(FileCalls& calls, std::string path);
  ~StoreWriter();
  StoreWriter(const StoreWriter&) = delete;
  StoreWriter& operator=(const StoreWriter&) = delete;

  /// The next row block of canonical rows: 1,024 of them, fewer only in the last call.
  void append(CsrView canonical);
  /// Writes the rest and makes the file durable under its name. Columns must be below
  /// `store_info.columns`.
  StoreSizes finish(const StoreInfo& store_info);

  std::int64_t rows() const { return rows_; }
  std::int64_t nnz() const { return nnz_; }

 private:
  struct Layout;

  void flush();
  StoreHeader header_of(const StoreInfo& store_info) const;
  void write_arrays(const StoreInfo& store_info, StoreHeader& header) const;

  StagedFile staged_;
  std::unique_ptr<Layout> layout_;  // its HDF5
  std::vector<std::byte> pending_;  // row blocks that are not written yet
  std::vector<std::int64_t> row_block_offsets_{0};
  RowSurvey survey_;
  ValueInfo values_;
  std::int64_t rows_ = 0;
  std::int64_t nnz_ = 0;
};

}  // namespace bulksim
