#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "blocks/fine_grid.hpp"
#include "bulksim/core/checksum.hpp"
#include "comm/communicator.hpp"
#include "job/blocks/block_reduction.hpp"
#include "job/verify/verification.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/parts/tile_files.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

namespace {

constexpr std::uint64_t kRowsOfATile = 2;  // recomputed in each tile

Damage damaged_partials(const ResultInfo& info, TileId tile, const std::string& what) {
  Damage damage = damaged_tile(info, tile, what);
  damage.file = partials_of(info.arithmetic_version, *damage.part);
  return damage;
}

/// Whether the partials of a row match its cosines.
bool row_agrees(TileFiles& files, const ResultInfo& info, TileId tile, std::int64_t row,
                std::span<const SoftmaxPartial> partials) {
  const RowRange items = info.grid.items(tile.column);
  std::vector<float> cosines(items.size());
  files.read(tile, cosines, row * info.grid.tile().items);
  // cosines with an empty item count as 0
  if (info.has_nan_rows) {
    std::ranges::replace_if(
        cosines, [](float cosine) { return std::isnan(cosine); }, 0.0F);
  }
  std::span<const float> left(cosines);
  for (const SoftmaxPartial& partial : partials) {
    const auto block = left.first(std::min(left.size(), std::size_t{kFineRows}));
    left = left.subspan(block.size());
    // an empty row has no partials, and it is unknown here which rows are empty
    if (block.empty()
            ? partial != SoftmaxPartial{}
            : partial != SoftmaxPartial{} &&
                  partial != softmax_partial(block, 0, exp_scale(*info.plan->softmax_scale))) {
      return false;
    }
  }
  return true;
}

bool rows_agree(TileFiles& files, const ResultInfo& info, TileId tile,
                std::span<const SoftmaxPartial> partials) {
  const std::uint64_t rows = info.grid.queries(tile.row).size();
  const std::size_t blocks = FineGrid(info.grid).columns_of_a_tile();
  const std::uint64_t number = info.grid.number(tile);
  for (std::uint64_t k = 0; k < kRowsOfATile; ++k) {
    const std::size_t row = mix(number, k) % rows;
    if (!row_agrees(files, info, tile, row, partials.subspan(row * blocks, blocks))) {
      return false;
    }
  }
  return true;
}

/// Reads the partials of every tile; returns the tiles that could be read.
std::vector<std::int64_t> look_at_partials(PartialFiles& partials, TileFiles& tiles,
                                           const ResultInfo& info, Verdict& verdict) {
  std::vector<SoftmaxPartial> some(partials_per_tile(info.grid));
  std::vector<std::int64_t> whole;
  std::set<TileId> damaged;  // whose cosines are not trusted
  for (const Damage& damage : verdict.damage)
    if (damage.tile) damaged.insert(*damage.tile);
  for (std::int64_t number = 0; number < info.grid.count(); ++number) {
    const TileId tile = info.grid.id(number);
    if (info.readable[part_of(info.parts.layouts, tile.column)] == 0) continue;
    const auto digest = partials.digest_of_whole(tile);
    const bool published =
        info.parts.has_matrix() || info.digests.empty() || digest == info.digests[number];
    if (!digest || !published) {
      verdict.damage.push_back(damaged_partials(
          info, tile, "softmax partials of the tile differ from what was published"));
      continue;
    }
    whole.push_back(number);
    // partials cannot be recomputed from rounded float16 values
    if (!info.parts.has_matrix() || info.value_type != ValueType::kFloat32 ||
        info.arithmetic_version != kArithmeticVersion || damaged.contains(tile)) {
      continue;
    }
    partials.read(tile, some);
    if (!rows_agree(tiles, info, tile, some)) {
      verdict.damage.push_back(
          damaged_partials(info, tile, "softmax partials of the tile do not match its cosines"));
    }
  }
  return whole;
}

}  // namespace

void verify_blocks(FileCalls& calls, const ResultInfo& info, const std::string& folder,
                   Verdict& verdict) {
  PartialFiles partials(calls, info.grid, info.parts.partials, info.parts.layouts,
                        TileAccess::kRead);
  TileFiles tiles(calls, info.grid, info.parts.paths, info.parts.layouts, TileAccess::kRead);
  const auto whole = look_at_partials(partials, tiles, info, verdict);
  if (info.arithmetic_version != kArithmeticVersion) return;
  const bool known_damage = std::ranges::any_of(
      verdict.damage, [](const Damage& damage) { return damage.file == "similarity.h5"; });
  if (known_damage || std::ssize(whole) != info.grid.count()) return;
  const auto alone = make_self_communicator();
  const BlockMap sums = reduce_block_sums(
      *info.plan, [&](TileId tile, std::span<SoftmaxPartial> to) { partials.read(tile, to); },
      whole, *alone);
  try {
    if (read_block_map(calls, folder) == sums) return;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError) throw;
  }
  verdict.damage.push_back({"similarity.h5", "the block sums do not match the softmax partials"});
}

}  // namespace bulksim
