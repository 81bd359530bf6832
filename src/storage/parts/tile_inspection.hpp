#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/tile_files.hpp"

namespace bulksim {

/// Of tiles that nothing speaks against, one of so many is read again to be sure.
inline constexpr std::int64_t kTilesPerSample = 100;

/// What reading a tile tells.
struct TileFinding {
  Digest digest;
  std::int64_t outside = 0;    ///< values that are no scores: NaN, or larger than they may be
  std::int64_t explained = 0;  ///< of these, NaN in whole rows or columns, where that is looked for
};

/// Whether whole rows and columns of NaN are looked for.
enum class WholeNanRows { kIgnore, kCount };

/// How many of these values are NaN, or outside of [-most, most].
std::int64_t count_outside(std::span<const float> values, float most = 1.0F);

/// Reads tiles (by number) on several threads; findings in the order of `tiles`. Values may be in
/// [-most, most]. Throws the first error of reading.
std::vector<TileFinding> inspect_tiles(TileFiles& files, const TileGrid& grid,
                                       const std::vector<std::int64_t>& tiles, int threads,
                                       WholeNanRows nan_rows = WholeNanRows::kIgnore,
                                       float most = 1.0F);

}  // namespace bulksim
