#include "backend/rows/tile_checks.hpp"

#include <algorithm>
#include <bit>

#include "bulksim/core/checksum.hpp"
#include "core/run/host.hpp"

namespace bulksim {

void ColumnIdentity::expect(const LabelledRows& queries, RowRange rows, std::uint32_t labels) {
  query_sums_.assign(labels, 0);
  for (const LabelledEntry& entry : queries.entries(rows)) {
    query_sums_[entry.label] += std::int64_t{entry.value};
  }
}

std::int64_t ColumnIdentity::failures(const LabelledRows& items, RowRange range,
                                      const std::int64_t* found) const {
  std::int64_t failed = 0;
  for (std::int64_t item = range.begin; item < range.end; ++item) {
    std::uint64_t sum = 0;
    for (const LabelledEntry& entry : items.row(item)) {
      sum += query_sums_[entry.label] * static_cast<std::uint64_t>(std::int64_t{entry.value});
    }
    failed += sum != static_cast<std::uint64_t>(found[item - range.begin]);
  }
  return failed;
}

std::array<Cell, kSampledCells> sampled_cells(std::int64_t tile_number, std::int64_t rows,
                                              std::int64_t items) {
  std::array<Cell, kSampledCells> cells;
  for (std::size_t k = 0; k < cells.size(); ++k) {
    const std::uint64_t hash = mix(tile_number, k);
    cells[k] = {static_cast<std::int64_t>((hash >> 32) % static_cast<std::uint64_t>(rows)),
                static_cast<std::int64_t>((hash & 0xFFFFFFFF) % static_cast<std::uint64_t>(items))};
  }
  std::ranges::sort(cells);
  return cells;
}

bool is_score_of(float value, const QuantizedRows& queries, std::int64_t query,
                 const QuantizedRows& items, std::int64_t item) {
  const float expected = exact_score(queries, query, items, item);
  return std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(expected);
}

bool is_partial_of(const SoftmaxPartial& partial, std::span<const float> cosines, bool has_values,
                   ExpScale scale) {
  return partial == (has_values ? softmax_partial(cosines, 0, scale) : SoftmaxPartial{});
}

Error wrong_twice(TileId tile) {
  return Error(ExitCode::kSoftware,
               "the tile in row " + std::to_string(tile.row) + ", column " +
                   std::to_string(tile.column) + " failed its checks twice on host '" +
                   host_name() +
                   "' (cpu): test the memory of that host and run the same command on another one");
}

}  // namespace bulksim
