#include "storage/parts/tile_index.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "bulksim/core/error.hpp"
#include "bulksim/core/types.hpp"
#include "hdf5/file.hpp"

namespace bulksim {

namespace {

constexpr std::string_view kTileIndexMagic = "BSTILES1";
constexpr std::int64_t kHeaderBytes = 16;
constexpr std::int64_t kDigestBytes = 16;
constexpr std::int64_t kMostDigests =
    (h5::kDataOffset - kEmbeddedIndexAt - kHeaderBytes) / kDigestBytes;

Error not_a_tile_index(const std::string& reason) {
  return Error(ExitCode::kDataError, "tiles.idx is damaged: " + reason);
}

}  // namespace

std::string encode_tile_index(const std::vector<Digest>& tiles) {
  std::string bytes(kTileIndexMagic);
  const auto append = [&](auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  append(std::ssize(tiles));
  for (const Digest& tile : tiles) {
    append(tile.high);
    append(tile.low);
  }
  return bytes;
}

std::vector<Digest> decode_tile_index(const std::string& bytes) {
  if (std::ssize(bytes) < kHeaderBytes || !bytes.starts_with(kTileIndexMagic)) {
    throw not_a_tile_index("it does not begin with " + std::string(kTileIndexMagic));
  }
  std::int64_t count = 0;
  std::memcpy(&count, bytes.data() + kTileIndexMagic.size(), sizeof count);
  const std::int64_t body = std::ssize(bytes) - kHeaderBytes;
  if (body % kDigestBytes != 0 || body / kDigestBytes != count) {
    throw not_a_tile_index("its header counts " + std::to_string(count) + " tiles, but it has " +
                           std::to_string(bytes.size()) + " bytes");
  }
  std::vector<Digest> tiles(count);
  for (std::int64_t i = 0; i < count; ++i) {
    const char* entry = bytes.data() + kHeaderBytes + i * kDigestBytes;
    std::memcpy(&tiles[i].high, entry, sizeof tiles[i].high);
    std::memcpy(&tiles[i].low, entry + sizeof tiles[i].high, sizeof tiles[i].low);
  }
  return tiles;
}

std::int64_t tiles_of_a_digest(std::int64_t tiles) {
  return std::max<std::int64_t>(1, divide_up(tiles, kMostDigests));
}

Digest digest_of_group(std::span<const Digest> tiles) {
  return tiles.size() == 1 ? tiles.front() : digest_of(std::as_bytes(tiles));
}

std::string encode_embedded_index(const std::vector<Digest>& tiles) {
  const std::size_t size = tiles_of_a_digest(std::ssize(tiles));
  std::vector<Digest> groups;
  for (std::size_t first = 0; first < tiles.size(); first += size) {
    groups.push_back(
        digest_of_group(std::span(tiles).subspan(first, std::min(size, tiles.size() - first))));
  }
  return encode_tile_index(groups);
}

void embed_tile_index(FileCalls& calls, const std::string& path, const std::string& index) {
  const File file = File::open(calls, path, O_RDWR | O_NOFOLLOW);
  file.write(std::as_bytes(std::span<const char>(index)), kEmbeddedIndexAt);
  file.sync();
}

}  // namespace bulksim
