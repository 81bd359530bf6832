#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "formats/store/block_sparse_store.hpp"

namespace bulksim {

/// The contents of a matrix.
struct MatrixDescription {
  MatrixInfo info;
  std::int64_t longest_row = 0;
  std::optional<RoundingInfo> rounding;  ///< none of a store of an older version
  CanonicalizationCounts counts;
  std::optional<StoreSizes> sizes;  ///< of a store

  /// Of a store.
  double bytes_per_nonzero() const;
  std::string to_json() const;
  std::string to_text() const;
};

/// Whether a path is a matrix, not a result.
bool is_matrix(FileCalls& calls, const std::string& path);

/// Describes a matrix of any known format. A store carries most of the figures; other files are
/// read once, without keeping their rows.
MatrixDescription describe_matrix(FileCalls& calls, const std::string& path);

}  // namespace bulksim
