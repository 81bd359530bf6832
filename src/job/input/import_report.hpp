#pragma once

#include <cstdint>
#include <string>

#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "formats/store/block_sparse_store.hpp"

namespace bulksim {

/// Result of an import.
struct ImportReport {
  MatrixInfo source;     ///< nnz as in the source
  std::int64_t nnz = 0;  ///< of the canonical rows
  std::int64_t longest_row = 0;
  CanonicalizationCounts counts;
  StoreSizes sizes;
  double seconds = 0.0;

  /// Bytes of the rows per nonzero; plain CSR takes 8 and, for float64, 12.
  double bytes_per_nonzero() const;
  /// One sentence with shape, sizes and what was irregular.
  std::string to_text() const;
  std::string to_json(const std::string& store) const;
};

}  // namespace bulksim
