#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/fixed_point.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "comm/communicator.hpp"

namespace bulksim {

/// The survey of one row block of 1,024 rows; the last row block of an input may be shorter.
struct RowBlockSurvey {
  Digest digest;          ///< `row_block_digest` of the canonical rows
  std::int64_t nnz = 0;   ///< of the canonical rows
  std::int64_t work = 0;  ///< useful multiply-adds against all queries (items only)

  bool operator==(const RowBlockSurvey&) const = default;
};

/// Summary of the ids of the rows of one side.
struct IdInfo {
  Digest digest;           ///< of the list of ids
  std::int64_t bytes = 0;  ///< of all ids together

  bool operator==(const IdInfo&) const = default;
};

/// The result of one pass over an input, the same for any number of ranks and any file format.
struct InputSurvey {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t longest_row = 0;  ///< nonzeros, in canonical form
  CanonicalizationCounts counts;
  ValueInfo values;  ///< where a store carries `rounding`, the rest is of Metric::kDot only
  std::vector<RowBlockSurvey> row_blocks;
  std::optional<IdInfo> ids;         ///< of the rows, where they have ids; known at rank 0
  std::optional<Digest> vocabulary;  ///< of the terms of the columns, if there are any

  std::int64_t nnz() const;
  /// XXH3-128 over the digests of the row blocks.
  Digest content() const;
  /// Nonzeros of the rows of a range, rounded up to whole row blocks.
  std::int64_t nnz_of(RowRange rows) const;
  /// Useful multiply-adds of the rows of a range, in proportion to the row blocks it covers.
  std::int64_t work_of(RowRange rows) const;
};

/// How often each column occurs in the queries, folded to a bounded number of counters: good for
/// predicting cost, and the same on every machine.
class ColumnFrequency {
 public:
  explicit ColumnFrequency(std::int64_t columns);
  void add(std::span<const Column> columns);
  std::int64_t of(Column column) const { return counts_[column & mask_]; }
  std::span<std::int64_t> counts() { return counts_; }

 private:
  Column mask_;  ///< of the bits of a column that select its counter
  std::vector<std::int64_t> counts_;
};

/// The surveys of both sides.
struct Surveys {
  InputSurvey queries;
  InputSurvey items;
};

/// Surveys queries and items; the ranks share the row blocks. Every rank gets the whole result.
/// Where a source carries its survey, its rows are read only for the cost.
Surveys survey_inputs(const MatrixSource& queries, const MatrixSource& items, Irregular irregular,
                      Communicator& comm, Metric metric = Metric::kCosine);

}  // namespace bulksim
