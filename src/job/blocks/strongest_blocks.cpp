#include "job/blocks/strongest_blocks.hpp"

#include "blocks/selection.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

std::vector<StrongBlock> strongest_blocks(const BlockMap& map, std::int64_t most) {
  std::vector<StrongBlock> blocks;
  for (const std::int64_t block : by_share(map.share)) {
    if (std::ssize(blocks) == most) break;
    blocks.push_back({map.queries(block / map.columns).begin, map.items(block % map.columns).begin,
                      map.share[block]});
  }
  return blocks;
}

JsonArray to_json(const std::vector<StrongBlock>& blocks) {
  JsonArray json;
  for (const StrongBlock& block : blocks) {
    json.add(JsonObject()
                 .add("query_row", block.query_row)
                 .add("item_row", block.item_row)
                 .add("share", block.share));
  }
  return json;
}

std::string to_text(const std::vector<StrongBlock>& blocks) {
  if (blocks.empty()) return "";
  std::string text = "strongest  query row   item row   share of its queries\n";
  for (const StrongBlock& block : blocks) {
    text += formatted("          %10ld %10ld   %8.4f %%\n", block.query_row, block.item_row,
                      100 * block.share);
  }
  return text;
}

}  // namespace bulksim
