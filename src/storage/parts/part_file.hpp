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

/// The value of an attribute; nothing when there is none of this name and type.
template <class T>
std::optional<T> find_attribute(const FileAttributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes) {
    const auto* found = std::get_if<T>(&value);
    if (key == name && found != nullptr) return *found;
  }
  return std::nullopt;
}

/// One HDF5 file of tiles, laid out before the first tile is computed and filled with pwrite.
///
///   | HDF5 metadata | tile (0, first) | tile (0, first + 1) .. | tile (1, first) ..   row-major
///   0               data_offset = 1 MiB
///
/// HDF5 describes the file and never writes a value: a killed run leaves every byte that was
/// written, and no flag to clear. A tile is written whole, with zeros where it hangs over the edge.
/// In a single-file result the ids of rows and columns follow the last tile.
struct PartLayout {
  std::string dataset;           ///< "tiles", or "similarity" in a single-file result
  RowRange tile_columns;         ///< columns of tiles in this file
  std::int64_t data_offset = 0;  ///< of the first tile, in bytes
  std::int64_t tile_bytes = 0;
  std::int64_t file_bytes = 0;  ///< 0 for a file without tiles
  IdPlaces ids = {};
  ValueType type = ValueType::kFloat32;

  bool has_tiles() const { return file_bytes > 0; }
  /// Number of a tile among those of this file, row-major.
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

/// Layout of a part without making a file: what `preallocate_parts` makes. Throws Error (64) when a
/// tile does not fit into an HDF5 chunk, which must be smaller than 4 GiB.
PartLayout plan_part(const TileGrid& grid, RowRange tile_columns, const std::string& dataset,
                     IdWidths widths = {}, ValueType type = ValueType::kFloat32);

/// Place of the layout that holds a column of tiles; layouts are in the order of their columns.
std::size_t part_of(const std::vector<PartLayout>& layouts, std::int64_t tile_column);

/// Item rows of the matrix that a part holds.
RowRange items_of(const PartLayout& layout, const TileGrid& grid);

/// Whether the blocks of the files are set aside for them.
enum class Reservation { kReserved, kNotSupported };

/// Makes the files `paths[p]` of `layouts[p]`, none of which may exist, reserves their space where
/// the file system can, and syncs them and their folders. Equal arguments make equal bytes. Throws
/// Error (74) with needed and free bytes, before any file is made, when the space is not there.
Reservation preallocate_parts(FileCalls& calls, const TileGrid& grid,
                              const std::vector<std::string>& paths,
                              const std::vector<PartLayout>& layouts);

/// Gives a laid out file these attributes in place of those it has; its tiles stay as they are.
/// A stopped call leaves a file whose tiles are whole and whose attributes this call must write
/// again.
void write_attributes(FileCalls& calls, const std::string& path, const TileGrid& grid,
                      const PartLayout& layout, const FileAttributes& attributes);

/// Whether the file of an earlier attempt can be filled on: it has the planned size, and its HDF5
/// metadata are those of `preallocate_parts`, or have been written again. Its tiles stay as they
/// are.
bool reopen_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                 const PartLayout& layout);

/// The HDF5 metadata of a part with these attributes, up to its first tile. `scratch` ids a file
/// that is made for it and removed.
std::vector<std::byte> part_head(FileCalls& calls, const std::string& scratch, const TileGrid& grid,
                                 const PartLayout& layout, const FileAttributes& attributes);

/// Throws Error (65), naming the file, when it is missing, cut short, or not laid out like this.
void check_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                const PartLayout& layout);

}  // namespace bulksim
