#include "backend/rows/labelled_rows.hpp"

#include "core/run/parallel.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kRowsAtOnce = 4096;
constexpr std::ptrdiff_t kShort = 32;  // entries up to which insertion is the fastest sort

void sort_entries(LabelledEntry* begin, LabelledEntry* end) {
  if (end - begin > kShort) {
    std::sort(begin, end,
              [](const LabelledEntry& a, const LabelledEntry& b) { return a.label < b.label; });
    return;
  }
  for (LabelledEntry* next = begin; next < end; ++next) {
    const LabelledEntry entry = *next;
    LabelledEntry* hole = next;
    for (; hole > begin && hole[-1].label > entry.label; --hole)
      *hole = hole[-1];
    *hole = entry;
  }
}

}  // namespace

void LabelledRows::assign(const QuantizedRows& rows, RowRange range, const Vocabulary& vocabulary) {
  offsets_.reserve(range.size() + 1);
  offsets_.assign(1, 0);
  scales_.assign(rows.scales.begin() + range.begin, rows.scales.begin() + range.end);
  longest_ = 0;
  signs_ = Signs::kNonNegative;
  const std::int64_t first = rows.row_offsets[range.begin];
  const std::int64_t last = rows.row_offsets[range.end];
  const std::size_t nnz = last - first;
  if (entries_.size() < nnz) entries_.resize(nnz);
  LabelledEntry* const entries = entries_.data();
  LabelledEntry* end = entries;
  std::int32_t signs = 0;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const Column* column = rows.columns_of(row).data();
    for (const std::int32_t value : rows.values_of(row)) {
      const Vocabulary::Place place = vocabulary.place(*column++);
      *end = {place.label, value};
      end += place.present;
      signs |= value;
    }
    longest_ = std::max(longest_, end - entries - offsets_.back());
    offsets_.push_back(end - entries);
  }
  if (signs < 0) signs_ = Signs::kAny;
}

void LabelledRows::sort_by_label(RowRange range, int threads) {
  run_in_parallel(divide_up(range.size(), kRowsAtOnce), threads, [&](std::int64_t some) {
    const std::int64_t begin = range.begin + some * kRowsAtOnce;
    for (std::int64_t row = begin; row < std::min(begin + kRowsAtOnce, range.end); ++row)
      sort_entries(entries_.data() + offsets_[row], entries_.data() + offsets_[row + 1]);
  });
}

}  // namespace bulksim
