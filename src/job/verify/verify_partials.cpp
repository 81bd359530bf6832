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

constexpr std::uint64_t kRowsOfATile = 2;  // formed again, in each tile

Damage damaged_partials(const ResultFacts& facts, TileId tile, const std::string& what) {
  Damage damage = damaged_tile(facts, tile, what);
  damage.file = partial_file_name(*damage.part);
  return damage;
}

/// Whether the partials of a row are those of its cosines.
bool row_agrees(TileFiles& files, const ResultFacts& facts, TileId tile, std::int64_t row,
                std::span<const SoftmaxPartial> partials) {
  const RowRange items = facts.grid.items(tile.column);
  std::vector<float> cosines(static_cast<std::size_t>(items.size()));
  files.read(tile, cosines, row * facts.grid.tile().items);
  // cosines with an item without values count as 0
  if (facts.has_nan_rows) {
    std::ranges::replace_if(
        cosines, [](float cosine) { return std::isnan(cosine); }, 0.0F);
  }
  std::span<const float> left(cosines);
  for (const SoftmaxPartial& partial : partials) {
    const auto block = left.first(std::min(left.size(), std::size_t{kFineRows}));
    left = left.subspan(block.size());
    // a row without values has no partials, and nothing here tells whether it has any
    if (block.empty()
            ? partial != SoftmaxPartial{}
            : partial != SoftmaxPartial{} &&
                  partial != softmax_partial(block, 0, exp_scale(*facts.plan->softmax_scale),
                                             inverse_one(facts.arithmetic))) {
      return false;
    }
  }
  return true;
}

bool rows_agree(TileFiles& files, const ResultFacts& facts, TileId tile,
                std::span<const SoftmaxPartial> partials) {
  const auto rows = static_cast<std::uint64_t>(facts.grid.queries(tile.row).size());
  const auto blocks = static_cast<std::size_t>(FineGrid(facts.grid).columns_of_a_tile());
  const auto number = static_cast<std::uint64_t>(facts.grid.number(tile));
  for (std::uint64_t k = 0; k < kRowsOfATile; ++k) {
    const std::size_t row = mix(number, k) % rows;
    if (!row_agrees(files, facts, tile, static_cast<std::int64_t>(row),
                    partials.subspan(row * blocks, blocks))) {
      return false;
    }
  }
  return true;
}

/// Reads the partials of every tile; returns the tiles that could be read.
std::vector<std::int64_t> look_at_partials(PartialFiles& partials, TileFiles& tiles,
                                           const ResultFacts& facts, Verdict& verdict) {
  std::vector<SoftmaxPartial> some(static_cast<std::size_t>(partials_per_tile(facts.grid)));
  std::vector<std::int64_t> whole;
  std::set<TileId> damaged;  // whose cosines are not to be believed
  for (const Damage& damage : verdict.damage)
    if (damage.tile) damaged.insert(*damage.tile);
  for (std::int64_t number = 0; number < facts.grid.count(); ++number) {
    const TileId tile = facts.grid.id(number);
    if (facts.readable[part_of(facts.parts.layouts, tile.column)] == 0) continue;
    const auto digest = partials.digest_of_whole(tile);
    const bool published = facts.parts.has_matrix() || facts.digests.empty() ||
                           digest == facts.digests[static_cast<std::size_t>(number)];
    if (!digest || !published) {
      verdict.damage.push_back(damaged_partials(
          facts, tile, "the terms of the tile have other bytes than were published"));
      continue;
    }
    whole.push_back(number);
    // values of float16 have lost what the partials were made of
    if (!facts.parts.has_matrix() || facts.value_type != ValueType::kFloat32 ||
        damaged.contains(tile)) {
      continue;
    }
    partials.read(tile, some);
    if (!rows_agree(tiles, facts, tile, some)) {
      verdict.damage.push_back(
          damaged_partials(facts, tile, "terms of the tile are not those of its cosines"));
    }
  }
  return whole;
}

}  // namespace

void verify_blocks(FileCalls& calls, const ResultFacts& facts, const std::string& folder,
                   Verdict& verdict) {
  PartialFiles partials(calls, facts.grid, facts.parts.partials, facts.parts.layouts,
                        TileAccess::kRead);
  TileFiles tiles(calls, facts.grid, facts.parts.paths, facts.parts.layouts, TileAccess::kRead);
  const auto whole = look_at_partials(partials, tiles, facts, verdict);
  const bool known_damage = std::ranges::any_of(
      verdict.damage, [](const Damage& damage) { return damage.file == "similarity.h5"; });
  if (known_damage || std::ssize(whole) != facts.grid.count()) return;
  const auto alone = make_self_communicator();
  const BlockMap sums = reduce_block_sums(
      *facts.plan, [&](TileId tile, std::span<SoftmaxPartial> to) { partials.read(tile, to); },
      whole, *alone);
  try {
    if (read_block_map(calls, folder) == sums) return;
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError) throw;
  }
  verdict.damage.push_back(
      {"similarity.h5", "the block sums are not those of the terms", {}, {}, {}, {}, 0});
}

}  // namespace bulksim
