#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "job/verify/verification.hpp"
#include "storage/parts/tile_files.hpp"
#include "storage/parts/tile_index.hpp"
#include "storage/parts/tile_inspection.hpp"

namespace bulksim {

Damage damaged_tile(const ResultInfo& info, TileId tile, const std::string& what) {
  const std::size_t part = part_of(info.parts.layouts, tile.column);
  return {info.names[part],
          what,
          part,
          tile,
          info.grid.queries(tile.row),
          info.grid.items(tile.column),
          info.parts.layouts[part].offset(info.grid, tile)};
}

namespace {

/// Checks the tiles that share one digest in the index.
void verify_group(const ResultInfo& info, std::span<const std::int64_t> tiles,
                  std::span<const TileFinding> findings, Verdict& verdict) {
  std::vector<Digest> group;
  for (const TileFinding& finding : findings)
    group.push_back(finding.digest);
  const bool whole =
      info.digests.empty() || digest_of_group(group) == info.digests[tiles.front() / info.group];
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const TileId id = info.grid.id(tiles[t]);
    const std::int64_t others = findings[t].outside - findings[t].explained;
    if (!whole) {
      verdict.damage.push_back(damaged_tile(info, id, "the tile differs from what was published"));
    } else if (others > 0) {
      verdict.damage.push_back(
          damaged_tile(info, id, std::to_string(others) + " values are not scores"));
    }
  }
}

}  // namespace

void verify_tiles(FileCalls& calls, const ResultInfo& info, int threads, Verdict& verdict) {
  constexpr std::int64_t kTilesAtOnce = 4096;
  TileFiles files(calls, info.grid, info.parts.paths, info.parts.layouts, TileAccess::kRead);
  const auto nan_rows = info.has_nan_rows ? WholeNanRows::kCount : WholeNanRows::kIgnore;
  std::int64_t explained = 0;
  const std::int64_t step = divide_up(kTilesAtOnce, info.group) * info.group;
  for (std::int64_t begin = 0; begin < info.grid.count(); begin += step) {
    std::vector<std::int64_t> tiles;
    for (std::int64_t tile = begin; tile < std::min(begin + step, info.grid.count()); ++tile) {
      if (info.readable[part_of(info.parts.layouts, info.grid.id(tile).column)] == 1) {
        tiles.push_back(tile);
      }
    }
    const auto findings = inspect_tiles(files, info.grid, tiles, threads, nan_rows,
                                        largest_score(info.arithmetic.metric));
    verdict.tiles += std::ssize(tiles);
    for (const TileFinding& finding : findings)
      explained += finding.explained;
    for (std::size_t i = 0; i < tiles.size(); i += info.group) {
      const std::size_t size = std::min(tiles.size() - i, static_cast<std::size_t>(info.group));
      verify_group(info, std::span(tiles).subspan(i, size), std::span(findings).subspan(i, size),
                   verdict);
    }
  }
  if (verdict.damage.empty() && explained != info.nan_cells) {
    verdict.damage.push_back({info.names.front(), std::to_string(explained) +
                                                      " cells of empty rows are NaN instead of " +
                                                      std::to_string(info.nan_cells)});
  }
}

}  // namespace bulksim
