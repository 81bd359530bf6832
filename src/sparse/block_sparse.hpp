#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

// Block-Sparse CSR: canonical rows in row blocks of at most 1,024 rows, which are read
// independently.
//
//   header    32 bytes: CRC32C of all bytes after it, rows, codings, sizes (little-endian)
//   lengths   nonzeros of each row, as varints of 7 bits per byte
//   columns   blocks: column / 1024 of each nonzero, minus that of the previous nonzero in its row,
//                     as varints; then column % 1024 of all nonzeros, four in five bytes
//             short:  16 bits per column, where no column needs more and this takes fewer bytes
//   values    the narrowest of float16, float32 and float64 that stores every value of the row
//   block
//             exactly
//
// The row block does not contain the number of columns of the matrix; the caller provides it.

/// Encodes canonical rows as a row block and appends it to `out`.
void encode_row_block(CsrView rows, std::vector<std::byte>& out);

/// Decodes a row block and appends its rows to `out`; `out.columns` is the number of columns.
///
/// Returns what is wrong with the row block, or an empty string. Any bytes are safe to decode;
/// after an error, the new rows in `out` are meaningless. Decoded columns ascend and are inside the
/// matrix, and values are finite.
[[nodiscard]] std::string decode_row_block(std::span<const std::byte> row_block, CsrMatrix& out);

/// Like `decode_row_block`, without verifying the checksum.
[[nodiscard]] std::string decode_unchecked(std::span<const std::byte> row_block, CsrMatrix& out);

}  // namespace bulksim
