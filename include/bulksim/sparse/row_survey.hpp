#pragma once

#include <cstdint>
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

/// Properties of the values of rows.
struct ValueInfo {
  bool integers = true;  ///< all values are whole numbers below 2^31 in magnitude
  double longest = 0.0;  ///< largest norm of a row

  ValueInfo& operator+=(const ValueInfo& other);
  bool operator==(const ValueInfo&) const = default;
};

ValueInfo value_info(CsrView canonical);

/// Results of one pass over the rows of a matrix, in row blocks of 1,024 rows; the last may be
/// shorter.
struct RowSurvey {
  std::int64_t longest_row = 0;             ///< largest number of nonzeros, in canonical form
  CanonicalizationCounts counts;            ///< of the rows as stored
  std::vector<Digest> row_block_digests;    ///< `row_block_digest` of each row block
  std::vector<std::int64_t> row_block_nnz;  ///< of the canonical rows

  bool operator==(const RowSurvey&) const = default;
};

}  // namespace bulksim
