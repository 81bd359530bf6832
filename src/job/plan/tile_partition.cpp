#include "job/plan/tile_partition.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

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
  std::vector<std::int64_t> tiles(plan.grid.count());
  std::iota(tiles.begin(), tiles.end(), std::int64_t{0});
  return plan.filter ? tiles_of(*plan.filter, plan.grid, tiles) : tiles;
}

std::vector<std::int64_t> tiles_of(const PairFilterSpec& filter, const TileGrid& grid,
                                   const std::vector<std::int64_t>& tiles) {
  std::vector<std::int64_t> some;
  std::ranges::copy_if(tiles, std::back_inserter(some), [&](std::int64_t tile) {
    const TileId id = grid.id(tile);
    return filter.touches(grid.queries(id.row), grid.items(id.column));
  });
  return some;
}

std::vector<std::int64_t> tiles_in(RowRange rows, const TileGrid& grid,
                                   const std::vector<std::int64_t>& tiles) {
  std::vector<std::int64_t> some;
  std::ranges::copy_if(tiles, std::back_inserter(some), [&](std::int64_t tile) {
    const std::int64_t row = grid.id(tile).row;
    return rows.begin <= row && row < rows.end;
  });
  return some;
}

}  // namespace bulksim
