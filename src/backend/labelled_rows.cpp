#include "backend/labelled_rows.hpp"

namespace bulksim {

void LabelledRows::assign(const UnitRows& rows, RowRange range, const Vocabulary& vocabulary) {
  offsets_.reserve(static_cast<std::size_t>(range.size()) + 1);
  offsets_.assign(1, 0);
  take_norms(rows, range);
  longest_ = 0;
  signs_ = Signs::kNonNegative;
  const std::int64_t first = rows.row_offsets[static_cast<std::size_t>(range.begin)];
  const std::int64_t last = rows.row_offsets[static_cast<std::size_t>(range.end)];
  const auto nnz = static_cast<std::size_t>(last - first);
  if (entries_.size() < nnz) entries_.resize(nnz);
  LabelledEntry* entries = entries_.data();
  std::size_t end = 0;
  std::int32_t signs = 0;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const auto columns = rows.columns_of(row);
    const auto values = rows.values_of(row);
    for (std::size_t entry = 0; entry < values.size(); ++entry) {
      const Vocabulary::Place place = vocabulary.place(columns[entry]);
      entries[end] = {place.label, values[entry]};
      end += place.present;
      signs |= values[entry] & -static_cast<std::int32_t>(place.present);
    }
    longest_ = std::max(longest_, static_cast<std::int64_t>(end) - offsets_.back());
    offsets_.push_back(static_cast<std::int64_t>(end));
  }
  if (signs < 0) signs_ = Signs::kAny;
}

void LabelledRows::take_norms(const UnitRows& rows, RowRange range) {
  norms_.clear();
  unit_ = 1.0;
  if (rows.norms.empty() || range.empty()) return;
  norms_.assign(rows.norms.begin() + range.begin, rows.norms.begin() + range.end);
  unit_ = *std::ranges::max_element(norms_);
  if (unit_ == 0.0) unit_ = 1.0;
  for (double& norm : norms_)
    norm /= unit_;
}

}  // namespace bulksim
