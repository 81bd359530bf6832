#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/file_pool.hpp"
#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// Bytes before the softmax partials of the first tile.
inline constexpr std::int64_t kPartialHeadBytes = 32;

/// Bytes of the softmax partials of one tile, including their digest.
std::int64_t partial_section_bytes(const TileGrid& grid);

/// Bytes of the file of softmax partials beside a part.
std::int64_t partial_file_bytes(const TileGrid& grid, const PartLayout& layout);

/// Creates files of softmax partials, none of which may exist, reserves their space where the file
/// system supports it, and syncs them and their folders.
void preallocate_partials(FileCalls& calls, const TileGrid& grid,
                          const std::vector<std::string>& paths,
                          const std::vector<PartLayout>& layouts);

/// The softmax partials of the block sums, in files beside the tiles. Thread-safe.
///
///   "BSTERMS1"  tile.queries  tile.items  tile columns       int64 each, little-endian
///   tile (0, first): its partials, int64 pairs m and L, row-major; their XXH3-128
///   tile (0, first + 1) ..  tile (1, first) ..
///
/// A section has its own digest, so that it can be verified without the journal.
class PartialFiles {
 public:
  /// `paths[p]` is the file of `layouts[p]`, as in TileFiles.
  PartialFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
               std::vector<PartLayout> layouts, TileAccess access);

  /// Writes the partials of a whole tile, `partials_per_tile` of them; returns their digest.
  Digest write(TileId tile, std::span<const SoftmaxPartial> partials);
  /// Reads the partials of a whole tile and returns their digest; throws Error (65) when they do
  /// not match the stored digest.
  Digest read(TileId tile, std::span<SoftmaxPartial> to);
  /// The digest of a tile's partials; nothing when they do not match the stored digest.
  std::optional<Digest> digest_of_whole(TileId tile);
  /// See FilePool.
  void sync() { files_.sync(); }

 private:
  std::optional<Digest> read_section(TileId tile, std::vector<std::byte>& section);
  std::int64_t offset(std::size_t part, TileId tile) const;

  TileGrid grid_;
  std::vector<std::string> paths_;
  std::vector<PartLayout> layouts_;
  FilePool files_;
};

/// Whether a file of partials can be resumed or read: it has the planned size and header.
bool reopen_partials(FileCalls& calls, const std::string& path, const TileGrid& grid,
                     const PartLayout& layout);

}  // namespace bulksim
