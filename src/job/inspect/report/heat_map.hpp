#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bulksim {

/// The values of a heat map: the mass of each block as a multiple of its even share.
struct HeatMap {
  std::int64_t rows = 0;     ///< of blocks, along the queries
  std::int64_t columns = 0;  ///< of blocks, along the items
  std::int64_t query_rows = 0;
  std::int64_t item_rows = 0;
  std::vector<double> lift;            ///< row-major; 0: unknown or empty
  std::vector<std::uint8_t> outlined;  ///< 1 for each block with an outline; may be empty
};

/// The map as a picture with axes in rows and a colour scale: one <svg> element.
std::string draw(const HeatMap& map);

}  // namespace bulksim
