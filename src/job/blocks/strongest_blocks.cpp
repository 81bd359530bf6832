#include "job/blocks/strongest_blocks.hpp"

#include <ostream>

#include "blocks/selection.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

nlohmann::ordered_json strongest_blocks(const BlockMap& map, std::int64_t most) {
  auto blocks = nlohmann::ordered_json::array();
  for (const std::int64_t block : by_share(map.share)) {
    if (std::ssize(blocks) == most) break;
    blocks.push_back({{"query_row", map.queries(block / map.columns).begin},
                      {"item_row", map.items(block % map.columns).begin},
                      {"share", map.share[static_cast<std::size_t>(block)]}});
  }
  return blocks;
}

void print_blocks(const nlohmann::ordered_json& blocks, std::ostream& out) {
  if (!blocks.empty()) out << "strongest  query row   item row   share of its queries\n";
  for (const auto& block : blocks) {
    out << formatted("          %10lld %10lld   %8.4f %%\n", block["query_row"].get<long long>(),
                     block["item_row"].get<long long>(), 100 * block["share"].get<double>());
  }
}

}  // namespace bulksim
