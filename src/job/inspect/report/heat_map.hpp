#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bulksim {

/// What a heat map shows: how many times its even share of the mass each block holds.
struct HeatMap {
  std::int64_t rows = 0;     ///< of blocks, along the queries
  std::int64_t columns = 0;  ///< of blocks, along the items
  std::int64_t query_rows = 0;
  std::int64_t item_rows = 0;
  std::vector<double> lift;            ///< row-major; 0: nothing is known, or nothing is there
  std::vector<std::uint8_t> outlined;  ///< 1 for each block with an outline; may be empty
};

/// The map as a picture with axes in rows and a colour scale: one <svg> element.
std::string draw(const HeatMap& map);

}  // namespace bulksim
