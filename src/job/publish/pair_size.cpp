#include "job/publish/pair_size.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "job/plan/output_layout.hpp"
#include "job/publish/pair_publication.hpp"
#include "storage/result/text_format.hpp"

namespace bulksim {

namespace {

/// Lines of two row numbers, or ids of average length, and a score.
PairResultSize size_of_text(const Plan& plan, std::int64_t pairs) {
  constexpr std::int64_t kLeastLine = 4;     // two tabs, a digit and the end of the line
  constexpr std::int64_t kMostOfScore = 18;  // two tabs, "-1.23456789e-05" and the end of the line
  const auto name = [](std::int64_t rows, const std::optional<IdInfo>& ids) {
    return ids ? divide_up(ids->bytes, std::max<std::int64_t>(rows, 1))
               : std::ssize(std::to_string(rows));
  };
  const MatrixShape shape = plan.grid.shape();
  const std::int64_t most =
      name(shape.queries, plan.query_ids) + name(shape.items, plan.item_ids) + kMostOfScore;
  const auto header = std::ssize(tsv_header(false, false));
  return {header + kLeastLine * pairs, header + most * pairs};
}

/// scipy has indices and indptr of the same type.
std::int64_t bytes_of_npz(const Plan& plan, const std::vector<std::int64_t>& row_offsets) {
  constexpr std::int64_t kMostNarrow = std::numeric_limits<std::int32_t>::max();
  const std::int64_t pairs = row_offsets.back();
  const bool is_narrow = plan.grid.shape().items <= kMostNarrow && pairs <= kMostNarrow;
  return (is_narrow ? 4 : 8) * (pairs + std::ssize(row_offsets)) + 4 * pairs;
}

}  // namespace

PairResultSize pair_result_size(const Plan& plan, const std::vector<std::int64_t>& row_offsets,
                                std::optional<FileForm> form) {
  if (is_text(form)) return size_of_text(plan, row_offsets.back());
  const std::int64_t bytes = form == FileForm::kNpz
                                 ? bytes_of_npz(plan, row_offsets)
                                 : pair_result_bytes(plan, row_offsets) + id_bytes(plan);
  return {bytes, bytes};
}

std::int64_t bytes_of_a_pair(const Plan& plan, std::optional<FileForm> form) {
  return is_text(form) ? size_of_text(plan, 1).least - size_of_text(plan, 0).least : 8;
}

}  // namespace bulksim
