#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

// Block-Sparse CSR: canonical rows in row blocks of at most 1,024 rows, each of which is read
// alone.
//
//   header    32 bytes: CRC32C of all that follows it, rows, codings, sizes (little-endian)
//   lengths   nonzeros of each row, as varints of 7 bits a byte
//   columns   blocks: column / 1024 of each nonzero, less that of the nonzero before it in its row,
//                     as varints; then column % 1024 of all nonzeros, four in five bytes
//             short:  16 bits a column, where no column needs more and that takes fewer bytes
//   values    the narrowest of float16, float32 and float64 that holds every value of the row block
//             exactly
//
// The caller of both functions knows the number of columns of the matrix: it is not in the row
// block.

/// Appends a row block of canonical rows, columns ascending in each, to `out`.
void encode_row_block(CsrView rows, std::vector<std::byte>& out);

/// Appends the rows of a row block to `out`, whose `columns` are those of the matrix.
///
/// Returns what is wrong with the row block, or nothing: any bytes are safe to give. When something
/// is wrong, `out` holds rows of no meaning. Columns ascend and are inside the matrix, values are
/// finite.
[[nodiscard]] std::string decode_row_block(std::span<const std::byte> row_block, CsrMatrix& out);

/// As `decode_row_block`, without a look at the checksum.
[[nodiscard]] std::string decode_unchecked(std::span<const std::byte> row_block, CsrMatrix& out);

}  // namespace bulksim
