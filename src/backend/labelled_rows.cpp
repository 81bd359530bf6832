#include "backend/labelled_rows.hpp"

namespace bulksim {

void LabelledRows::reserve(std::int64_t rows, std::int64_t nnz) {
  offsets_.reserve(static_cast<std::size_t>(rows) + 1);
  entries_.reserve(static_cast<std::size_t>(nnz));
}

void LabelledRows::assign(const UnitRows& rows, RowRange range, const Vocabulary& vocabulary) {
  offsets_.assign(1, 0);
  entries_.clear();
  longest_ = 0;
  signs_ = Signs::kNonNegative;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const auto columns = rows.columns_of(row);
    const auto values = rows.values_of(row);
    for (std::size_t entry = 0; entry < values.size(); ++entry) {
      const std::uint32_t label = vocabulary.label(columns[entry]);
      if (label == RankedSet::kAbsent) continue;
      entries_.push_back({label, values[entry]});
      if (values[entry] < 0) signs_ = Signs::kAny;
    }
    const auto end = static_cast<std::int64_t>(entries_.size());
    longest_ = std::max(longest_, end - offsets_.back());
    offsets_.push_back(end);
  }
}

}  // namespace bulksim
