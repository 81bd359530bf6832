#pragma once

#include <cstdint>
#include <iosfwd>

#include <nlohmann/json.hpp>

#include "storage/result/block_map.hpp"

namespace bulksim {

/// The first rows of the blocks that hold most of the mass of their queries, at most `most` blocks.
nlohmann::ordered_json strongest_blocks(const BlockMap& map, std::int64_t most);

/// A line for each of them, under a heading; nothing when there is none.
void print_blocks(const nlohmann::ordered_json& blocks, std::ostream& out);

}  // namespace bulksim
