#pragma once

#include <memory>
#include <string>

#include "bulksim/core/file.hpp"
#include "formats/shared/row_stream.hpp"

namespace bulksim {

/// A matrix that scipy.sparse.save_npz wrote, compressed or not: csr, csc or coo; values of any
/// integer, float or bool type up to 64 bits, of either byte order; 32 or 64-bit indices.
///
/// csr is read with bounded memory. csc and coo take 8 bytes per row, and at most 1 GiB for the
/// entries of as many rows as fit: the file is read once per such part. The options of streams are
/// ignored.
std::unique_ptr<RowStream> open_npz(FileCalls& calls, const std::string& path,
                                    const RowStreamOptions& options = {});

}  // namespace bulksim
