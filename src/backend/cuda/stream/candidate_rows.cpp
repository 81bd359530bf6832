#include "backend/cuda/stream/candidate_rows.hpp"

#include <algorithm>

namespace bulksim::cuda {

CandidateRows::CandidateRows(std::span<const unsigned> counts,
                             std::span<const Candidate> candidates)
    : candidates_(candidates) {
  std::size_t end = 0;
  for (const unsigned count : counts)
    ends_.push_back(end += count);
}

bool CandidateRows::are_in_order(std::int64_t items) const {
  if (ends_.back() != candidates_.size()) return false;
  for (std::size_t at = 0; at < ends_.size(); ++at) {
    const auto cells = row(at);
    const bool ascending = std::adjacent_find(cells.begin(), cells.end(), [](auto& a, auto& b) {
                             return a.item >= b.item;
                           }) == cells.end();
    if (!ascending || (!cells.empty() && cells.back().item >= items)) return false;
  }
  return true;
}

std::span<const Candidate> CandidateRows::row(std::int64_t row) const {
  const std::size_t at = row;
  const std::size_t begin = at == 0 ? 0 : ends_[at - 1];
  return candidates_.subspan(begin, ends_[at] - begin);
}

std::optional<float> CandidateRows::find(std::int64_t row, std::int64_t item) const {
  const auto cells = this->row(row);
  const auto found = std::lower_bound(
      cells.begin(), cells.end(), item,
      [](const Candidate& cell, std::int64_t wanted) { return cell.item < wanted; });
  if (found == cells.end() || found->item != item) return std::nullopt;
  return found->score;
}

}  // namespace bulksim::cuda
