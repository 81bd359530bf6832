#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/text/json.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

/// A block of a block map, by its first rows, and its share of the mass of its queries.
struct StrongBlock {
  std::int64_t query_row = 0;
  std::int64_t item_row = 0;
  double share = 0.0;
};

/// The blocks with the largest shares of the mass of their queries, at most `most`, largest first.
std::vector<StrongBlock> strongest_blocks(const BlockMap& map, std::int64_t most);

JsonArray to_json(const std::vector<StrongBlock>& blocks);

/// One line per block, under a heading; empty when there is none.
std::string to_text(const std::vector<StrongBlock>& blocks);

}  // namespace bulksim
