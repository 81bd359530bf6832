#include "fuzz.hpp"
#include "storage/parts/tile_index.hpp"

namespace bulksim::fuzz {
namespace {

const Target kTarget("tile_index", [](std::string_view bytes) {
  const std::vector<Digest> tiles = decode_tile_index(std::string(bytes));
  expect(encode_tile_index(tiles) == bytes, "an index is encoded in one way");
});

}  // namespace
}  // namespace bulksim::fuzz
