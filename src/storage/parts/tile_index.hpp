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

/// Offset of the tile digests in a single-file result: between the HDF5 metadata and the first
/// tile, in bytes that HDF5 does not use. Encoded like `tiles.idx`.
inline constexpr std::int64_t kEmbeddedIndexAt = std::int64_t{128} << 10;

/// Number of consecutive tiles per digest: one, or more when the space does not suffice for all.
std::int64_t tiles_of_a_digest(std::int64_t tiles);

/// The digest of a group of tiles: that of the tile when it is alone, otherwise the digest of the
/// tiles' digests.
Digest digest_of_group(std::span<const Digest> tiles);

/// Encodes the embedded index of these tiles.
std::string encode_embedded_index(const std::vector<Digest>& tiles);

/// Writes the index into a preallocated file and syncs it.
void embed_tile_index(FileCalls& calls, const std::string& path, const std::string& index);

}  // namespace bulksim
