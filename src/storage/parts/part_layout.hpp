#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Attributes of the root group of an HDF5 file, by name.
using FileAttributes =
    std::vector<std::pair<std::string, std::variant<std::int64_t, double, std::string>>>;

/// The value of an attribute; nothing when there is none with this name and type.
template <class T>
std::optional<T> find_attribute(const FileAttributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes) {
    const auto* found = std::get_if<T>(&value);
    if (key == name && found != nullptr) return *found;
  }
  return std::nullopt;
}

/// One HDF5 file of tiles, preallocated before the first tile is computed and filled with pwrite.
///
///   | HDF5 metadata | tile (0, first) | tile (0, first + 1) .. | tile (1, first) ..   row-major
///   0               data_offset = 1 MiB
///
/// HDF5 writes only the metadata, no values: every byte written by a killed run remains, and no
/// flag must be cleared. Tiles are written whole, with zeros past the edge of the matrix. In a
/// single-file result the ids of rows and columns follow the last tile.
struct PartLayout {
  std::string dataset;           ///< "tiles"; in a single-file result "similarity"
  RowRange tile_columns;         ///< tile columns in this file
  std::int64_t data_offset = 0;  ///< of the first tile, in bytes
  std::int64_t tile_bytes = 0;
  std::int64_t file_bytes = 0;  ///< 0 for a file without tiles
  IdPlaces ids = {};
  ValueType type = ValueType::kFloat32;

  bool has_tiles() const { return file_bytes > 0; }
  /// Index of a tile in this file, row-major.
  std::int64_t place(const TileGrid& grid, TileId tile) const {
    BULKSIM_EXPECT(tile_columns.begin <= tile.column && tile.column < tile_columns.end &&
                   tile.row < grid.rows());
    return tile.row * tile_columns.size() + tile.column - tile_columns.begin;
  }
  std::int64_t offset(const TileGrid& grid, TileId tile) const {
    return data_offset + place(grid, tile) * tile_bytes;
  }
  bool operator==(const PartLayout&) const = default;
};

/// Computes the layout of a part that `preallocate_parts` creates. Throws Error (64) when a tile
/// does not fit in an HDF5 chunk, which must be smaller than 4 GiB.
PartLayout plan_part(const TileGrid& grid, RowRange tile_columns, const std::string& dataset,
                     IdSizes ids = {}, ValueType type = ValueType::kFloat32);

/// Index of the layout that contains a tile column; layouts are in the order of their columns.
std::size_t part_of(const std::vector<PartLayout>& layouts, std::int64_t tile_column);

/// Items of the matrix in a part.
RowRange items_of(const PartLayout& layout, const TileGrid& grid);

/// Whether disk space is reserved for the files.
enum class Reservation { kReserved, kNotSupported };

/// Creates the files `paths[p]` with `layouts[p]`, none of which may exist, reserves their space
/// where the file system supports it, and syncs them and their folders. Equal arguments produce
/// equal bytes. When there is not enough space, throws Error (74) with the needed and free bytes
/// before any file is created.
Reservation preallocate_parts(FileCalls& calls, const TileGrid& grid,
                              const std::vector<std::string>& paths,
                              const std::vector<PartLayout>& layouts);

/// Replaces the attributes of a preallocated file; its tiles stay as they are. After an interrupted
/// call the tiles are intact, and the attributes must be written again.
void write_attributes(FileCalls& calls, const std::string& path, const TileGrid& grid,
                      const PartLayout& layout, const FileAttributes& attributes);

/// Whether the file of an earlier attempt can be resumed: it has the planned size, and the HDF5
/// metadata of `preallocate_parts`, which is rewritten if necessary. Its tiles stay as they are.
bool reopen_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                 const PartLayout& layout);

/// The HDF5 metadata of a part with these attributes, up to its first tile. Made in an unnamed file
/// in `folder`.
std::vector<std::byte> part_head(FileCalls& calls, const std::string& folder, const TileGrid& grid,
                                 const PartLayout& layout, const FileAttributes& attributes);

/// Throws Error (65) with the file when it is missing, truncated, or has another layout.
void check_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                const PartLayout& layout);

}  // namespace bulksim
