#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backend/cuda/kernels/filter.hpp"

namespace bulksim::cuda {

/// The candidates of a tile by row.
class CandidateRows {
 public:
  /// `counts` has one number per row.
  CandidateRows(std::span<const unsigned> counts, std::span<const Candidate> candidates);

  /// Whether the counts match, and items ascend and are below `items`.
  bool are_in_order(std::int64_t items) const;
  std::span<const Candidate> row(std::int64_t row) const;
  /// The score of an item, if it is a candidate.
  std::optional<float> find(std::int64_t row, std::int64_t item) const;

 private:
  std::vector<std::size_t> ends_;
  std::span<const Candidate> candidates_;
};

}  // namespace bulksim::cuda
