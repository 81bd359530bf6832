#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// `tiles.idx`: "BSTILES1", int64 count, then the XXH3-128 of every tile (high, low) by number;
/// little-endian. Decoding throws Error (65) on anything else.
std::string encode_tile_index(const std::vector<Digest>& tiles);
std::vector<Digest> decode_tile_index(const std::string& bytes);

/// Where a single-file result holds the digests of its tiles: between what HDF5 says of them and
/// the first tile, in bytes that HDF5 does not use. Encoded as `tiles.idx`.
inline constexpr std::int64_t kEmbeddedIndexAt = std::int64_t{128} << 10;

/// Neighbouring tiles that share one digest: one, until the place is full.
std::int64_t tiles_of_a_digest(std::int64_t tiles);

/// The digest of some tiles: the tile's own when it is alone, else that of the tiles' digests.
Digest digest_of_group(std::span<const Digest> tiles);

/// The bytes of the index of these tiles.
std::string encode_embedded_index(const std::vector<Digest>& tiles);

/// Writes the index into a laid out file and syncs it.
void embed_tile_index(FileCalls& calls, const std::string& path, const std::string& index);

}  // namespace bulksim
