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
#include "storage/parts/part_file.hpp"

namespace bulksim {

/// Bytes before the partials of the first tile.
inline constexpr std::int64_t kPartialHeadBytes = 32;

/// Bytes of the partials of one tile, their digest included.
std::int64_t partial_section_bytes(const TileGrid& grid);

/// Bytes of the file of partials beside a part.
std::int64_t partial_file_bytes(const TileGrid& grid, const PartLayout& layout);

/// Makes files of partials, none of which may exist, reserves their space where the file system
/// can, and syncs them and their folders.
void preallocate_partials(FileCalls& calls, const TileGrid& grid,
                          const std::vector<std::string>& paths,
                          const std::vector<PartLayout>& layouts);

/// The partials of the block sums, beside the tiles, for any number of threads.
///
///   "BSTERMS1"  tile.queries  tile.items  columns of tiles       int64 each, little-endian
///   tile (0, first): its partials, int64 pairs m and L, row-major; their XXH3-128
///   tile (0, first + 1) ..  tile (1, first) ..
///
/// A section carries its own digest, so that it can be believed or not without the journal.
class PartialFiles {
 public:
  /// `paths[p]` belongs to `layouts[p]`, as in TileFiles.
  PartialFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
               std::vector<PartLayout> layouts, TileAccess access);

  /// Writes the partials of a whole tile, `partials_per_tile` of them; returns their digest.
  Digest write(TileId tile, std::span<const SoftmaxPartial> partials);
  /// Reads the partials of a whole tile and tells their digest; throws Error (65) when it is not
  /// the one they were written with.
  Digest read(TileId tile, std::span<SoftmaxPartial> to);
  /// The digest of a tile's partials; nothing when they are not as they were written.
  std::optional<Digest> digest_of_whole(TileId tile);
  /// As FilePool.
  void sync() { files_.sync(); }

 private:
  std::optional<Digest> read_section(TileId tile, std::vector<std::byte>& section);
  std::int64_t offset(std::size_t part, TileId tile) const;

  TileGrid grid_;
  std::vector<std::string> paths_;
  std::vector<PartLayout> layouts_;
  FilePool files_;
};

/// Whether a file of partials can be filled on, or read: it has the planned size and head.
bool reopen_partials(FileCalls& calls, const std::string& path, const TileGrid& grid,
                     const PartLayout& layout);

}  // namespace bulksim
