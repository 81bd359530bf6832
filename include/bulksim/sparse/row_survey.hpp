#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

/// XXH3-128 of canonical rows: lengths, columns and float64 values.
Digest row_block_digest(CsrView canonical);

/// Digest of an input: XXH3-128 of the digests of its row blocks, in order.
class ContentHasher {
 public:
  void add(const Digest& row_block);
  Digest digest() const { return hasher_.digest(); }

 private:
  Hasher hasher_;
};

/// Largest number of nonzeros per row.
std::int64_t longest_row(CsrView rows);

/// How rows are quantized: exactly (case (a) of the contract in fixed_point.hpp) or rounded (case
/// (b)).
struct RoundingInfo {
  std::int64_t exact_rows = 0;           ///< rows of case (a), empty ones included
  std::int64_t longest_rounded_row = 0;  ///< most nonzeros of a row of case (b); 0 if there is none

  bool operator==(const RoundingInfo&) const = default;
};

/// What the error bounds need to know of the values of rows.
struct ValueInfo {
  RoundingInfo rounding;
  double longest = 0.0;  ///< largest length of a row
  /// Smallest e of the rows of case (a), whose values are integers times 2^e.
  int least_exponent = std::numeric_limits<int>::max();

  ValueInfo& operator+=(const ValueInfo& other);
  bool operator==(const ValueInfo&) const = default;
};

ValueInfo value_info(CsrView canonical);

/// Results of one pass over the rows of a matrix, in row blocks of 1,024 rows; the last may be
/// shorter.
struct RowSurvey {
  std::int64_t longest_row = 0;             ///< largest number of nonzeros, in canonical form
  std::optional<RoundingInfo> rounding;     ///< none in a store of version 1
  CanonicalizationCounts counts;            ///< of the rows as stored
  std::vector<Digest> row_block_digests;    ///< `row_block_digest` of each row block
  std::vector<std::int64_t> row_block_nnz;  ///< of the canonical rows

  bool operator==(const RowSurvey&) const = default;
};

}  // namespace bulksim
