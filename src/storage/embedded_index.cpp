#include "bulksim/storage/embedded_index.hpp"

#include <algorithm>
#include <span>

#include "bulksim/core/types.hpp"
#include "bulksim/storage/manifest.hpp"
#include "hdf5/file.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kHeaderBytes = 16;
constexpr std::int64_t kDigestBytes = 16;
constexpr std::int64_t kMostDigests =
    (h5::kDataOffset - kEmbeddedIndexAt - kHeaderBytes) / kDigestBytes;

}  // namespace

std::int64_t tiles_of_a_digest(std::int64_t tiles) {
  return std::max<std::int64_t>(1, divide_up(tiles, kMostDigests));
}

Digest digest_of_group(std::span<const Digest> tiles) {
  return tiles.size() == 1 ? tiles.front() : digest_of(std::as_bytes(tiles));
}

std::string encode_embedded_index(const std::vector<Digest>& tiles) {
  const auto size = static_cast<std::size_t>(tiles_of_a_digest(std::ssize(tiles)));
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
