#include "job/plan/tile_partition.hpp"

#include <algorithm>

#include "sparse/row_partition.hpp"

namespace bulksim {

std::vector<std::vector<std::int64_t>> share_tiles(const std::vector<std::int64_t>& to_do,
                                                   const Plan& plan, const InputSurvey& items,
                                                   int ranks) {
  const auto column_costs = tile_column_costs(plan.grid, items);
  std::vector<std::int64_t> costs;
  costs.reserve(to_do.size());
  for (const std::int64_t number : to_do) {
    const std::size_t column = plan.grid.id(number).column;
    costs.push_back(std::max<std::int64_t>(1, column_costs[column] / plan.grid.rows()));
  }
  std::vector<std::vector<std::int64_t>> shares;
  for (const RowRange run : partition_by_cost(costs, ranks)) {
    shares.emplace_back(to_do.begin() + run.begin, to_do.begin() + run.end);
  }
  return shares;
}

std::vector<ChunkTask> make_chunks(const std::vector<std::int64_t>& tiles, const TileGrid& grid,
                                   RowRange batch, std::int64_t chunk_columns) {
  std::vector<ChunkTask> chunks;
  std::int64_t first_column = 0;
  for (const std::int64_t number : tiles) {
    const TileId tile = grid.id(number);
    if (tile.row < batch.begin || tile.row >= batch.end) continue;
    if (chunks.empty() || tile.column >= first_column + chunk_columns) {
      first_column = tile.column;
      chunks.push_back({grid.items(tile.column), {}});
    }
    chunks.back().items.end = grid.items(tile.column).end;
    chunks.back().tiles.push_back(tile);
  }
  for (std::size_t at = chunks.size(); at-- > 1;)
    chunks[at - 1].tiles_to_come = chunks[at].tiles_to_come + std::ssize(chunks[at].tiles);
  return chunks;
}

std::vector<std::int64_t> tiles_of(const Plan& plan) {
  std::vector<std::int64_t> tiles;
  for (std::int64_t tile = 0; tile < plan.grid.count(); ++tile) {
    const TileId id = plan.grid.id(tile);
    if (plan.filter &&
        !plan.filter->touches(plan.grid.queries(id.row), plan.grid.items(id.column))) {
      continue;
    }
    tiles.push_back(tile);
  }
  return tiles;
}

}  // namespace bulksim
