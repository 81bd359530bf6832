#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/tile_files.hpp"

namespace bulksim {

/// One in so many of the tiles without known problems is read again as a sample.
inline constexpr std::int64_t kTilesPerSample = 100;

/// Results of reading a tile.
struct TileFinding {
  Digest digest;
  std::int64_t outside = 0;    ///< invalid values: NaN, or larger in magnitude than a score can be
  std::int64_t explained = 0;  ///< of these, NaN in whole rows or columns; counted with kCount
};

/// Whether whole rows and columns of NaN are counted.
enum class WholeNanRows { kIgnore, kCount };

/// Number of values that are NaN or outside [-most, most].
std::int64_t count_outside(std::span<const float> values, float most = 1.0F);

/// Reads tiles (by number) on several threads; returns findings in the order of `tiles`. Valid
/// values are in [-most, most]. Throws the first read error.
std::vector<TileFinding> inspect_tiles(TileFiles& files, const TileGrid& grid,
                                       const std::vector<std::int64_t>& tiles, int threads,
                                       WholeNanRows nan_rows = WholeNanRows::kIgnore,
                                       float most = 1.0F);

}  // namespace bulksim
