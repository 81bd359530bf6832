#pragma once

#include <cstdint>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

/// XXH3-128 of canonical rows: lengths, columns, float64 values.
Digest row_block_digest(CsrView canonical);

/// Digest of an input: XXH3-128 over the digests of its row blocks, in their order.
class ContentHasher {
 public:
  void add(const Digest& row_block);
  Digest digest() const { return hasher_.digest(); }

 private:
  Hasher hasher_;
};

/// The number of nonzeros of the longest row.
std::int64_t longest_row(CsrView rows);

/// What the values of rows are.
struct ValueInfo {
  bool integers = true;  ///< whole numbers of less than 2^31 in magnitude, all of them
  double longest = 0.0;  ///< the largest norm of a row

  ValueInfo& operator+=(const ValueInfo& other);
  bool operator==(const ValueInfo&) const = default;
};

ValueInfo value_info(CsrView canonical);

/// What one pass over the rows of a matrix tells, row block by row block of 1,024 rows; the last
/// row block may be shorter.
struct RowSurvey {
  std::int64_t longest_row = 0;             ///< nonzeros, in canonical form
  CanonicalizationCounts counts;            ///< of the rows as they were before
  std::vector<Digest> row_block_digests;    ///< `row_block_digest` of each row block
  std::vector<std::int64_t> row_block_nnz;  ///< of the canonical rows

  bool operator==(const RowSurvey&) const = default;
};

}  // namespace bulksim
