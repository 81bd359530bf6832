#include "storage/parts/part_layout.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <set>

#include "core/files/staged_file.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "hdf5/tiles.hpp"
#include "storage/damaged.hpp"
#include "storage/parts/id_datasets.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostChunkBytes = (std::int64_t{1} << 32) - 1;  // limit of HDF5

h5::Extent extent_of_part(const TileGrid& grid, const PartLayout& layout) {
  return h5::extent(grid.shape().queries, items_of(layout, grid).size());
}

h5::Extent chunk_of_grid(const TileGrid& grid) {
  return h5::extent(grid.tile().queries, grid.tile().items);
}

/// Whether the tiles are where the layout expects them in HDF5. The chunks of a fixed-size dataset
/// have no index, only a start and a row-major order, so it suffices to compare the corners.
bool offsets_agree(const h5::Dataset& tiles, const TileGrid& grid, const PartLayout& layout,
                   const std::string& path) {
  for (const std::int64_t row : {std::int64_t{0}, grid.rows() - 1}) {
    for (const std::int64_t column : {layout.tile_columns.begin, layout.tile_columns.end - 1}) {
      const h5::Extent cell{
          static_cast<hsize_t>(row * grid.tile().queries),
          static_cast<hsize_t>((column - layout.tile_columns.begin) * grid.tile().items)};
      if (h5::chunk_offset(tiles, cell, path) != layout.offset(grid, {row, column})) return false;
    }
  }
  return true;
}

/// Position that HDF5 gives to an array: at the end of the file, and aligned if it is large.
std::int64_t place_array(std::int64_t bytes, std::int64_t& end) {
  const std::int64_t at =
      bytes < h5::kDataOffset ? end : divide_up(end, h5::kDataOffset) * h5::kDataOffset;
  if (__builtin_add_overflow(at, bytes, &end)) {
    throw Error(ExitCode::kUsage,
                std::to_string(bytes) + " bytes of ids exceed the largest possible file size");
  }
  return at;
}

IdPlace place_ids(const IdSize& size, std::int64_t& end) {
  IdPlace place{.size = size};
  if (size.width > 0) {
    place.text = place_array(size.file_bytes(), end);
  } else if (size.count > 0) {
    place.offsets = place_array(size.file_bytes() - size.bytes, end);
    if (size.bytes > 0) place.text = place_array(size.bytes, end);
  }
  return place;
}

/// Whether the ids are where the layout expects them in HDF5.
bool ids_agree(const h5::File& file, const TileGrid& grid, const PartLayout& layout,
               const std::string& path) {
  return find_ids(file, {grid.shape().queries, items_of(layout, grid).size()}, path) == layout.ids;
}

/// Creates a part with its HDF5 metadata; the space of its tiles is a hole.
void describe_part(const File& part, const TileGrid& grid, const PartLayout& layout,
                   const FileAttributes& attributes) {
  const std::string& path = part.path();
  h5::File file = h5::create_file(part);
  h5::write_attributes(file, attributes);
  if (layout.has_tiles()) {
    const h5::Dataset tiles = h5::create_tiles(file, layout.dataset, layout.type,
                                               extent_of_part(grid, layout), chunk_of_grid(grid));
    create_ids(file, layout.ids.sizes());
    if (!offsets_agree(tiles, grid, layout, path) || !ids_agree(file, grid, layout, path)) {
      throw Error(ExitCode::kSoftware, "HDF5 does not lay out '" + path +
                                           "' as planned: this version of HDF5 cannot be used");
    }
  } else {
    h5::create_empty(file, layout.dataset, layout.type, extent_of_part(grid, layout));
  }
  file.close("close '" + path + "'");
}

void require_space(FileCalls& calls, const std::string& folder, std::int64_t needed) {
  const std::int64_t free = calls.free_bytes(folder.c_str());
  if (free == -1) throw system_error("determine the free space of", folder, errno);
  if (free < needed) {
    throw Error(ExitCode::kIoError, "the output needs " + std::to_string(needed) +
                                        " bytes, but only " + std::to_string(free) +
                                        " are free in '" + folder +
                                        "': free some space, or choose another output");
  }
}

Reservation preallocate_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                             const PartLayout& layout) {
  StagedFile staged(calls, path);
  describe_part(staged.file(), grid, layout, {});
  bool reserved = true;
  if (layout.has_tiles()) {
    reserved = staged.file().reserve(layout.data_offset, layout.file_bytes - layout.data_offset);
  }
  staged.publish_new();
  return reserved ? Reservation::kReserved : Reservation::kNotSupported;
}

void check_size(FileCalls& calls, const std::string& path, const PartLayout& layout) {
  const auto status = find_status(calls, path);
  if (!status) throw damaged(path, "is missing");
  if (!S_ISREG(status->st_mode)) throw damaged(path, "is not a regular file");
  if (!layout.has_tiles() || status->st_size == layout.file_bytes) return;
  const std::string sizes =
      std::to_string(status->st_size) + " of " + std::to_string(layout.file_bytes) + " bytes";
  throw damaged(path, status->st_size < layout.file_bytes ? "is truncated (" + sizes + ")"
                                                          : "is too long (" + sizes + ")");
}

}  // namespace

PartLayout plan_part(const TileGrid& grid, RowRange tile_columns, const std::string& dataset,
                     IdSizes ids, ValueType type) {
  const TileShape tile = grid.tile();
  if (tile.items > kMostChunkBytes / bytes_of(type) / tile.queries) {
    throw Error(ExitCode::kUsage,
                "a tile of " + std::to_string(tile.queries) + " x " + std::to_string(tile.items) +
                    " values does not fit in an HDF5 chunk of at most " +
                    std::to_string(kMostChunkBytes) + " bytes: choose a smaller --tile");
  }
  PartLayout layout{dataset, tile_columns, 0, 0, 0, {}, type};
  if (grid.rows() == 0 || tile_columns.empty()) return layout;
  layout.data_offset = h5::kDataOffset;
  layout.tile_bytes = tile.cells() * bytes_of(type);
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(grid.rows() * tile_columns.size(), layout.tile_bytes, &bytes) ||
      __builtin_add_overflow(bytes, layout.data_offset, &layout.file_bytes)) {
    throw Error(ExitCode::kUsage,
                "a file of " + std::to_string(grid.rows()) + " x " +
                    std::to_string(tile_columns.size()) +
                    " tiles exceeds the largest possible file size: use more --parts");
  }
  layout.ids.queries = place_ids(ids.queries, layout.file_bytes);
  layout.ids.items = place_ids(ids.items, layout.file_bytes);
  return layout;
}

std::size_t part_of(const std::vector<PartLayout>& layouts, std::int64_t tile_column) {
  const auto after = std::partition_point(
      layouts.begin(), layouts.end(),
      [&](const PartLayout& layout) { return layout.tile_columns.end <= tile_column; });
  BULKSIM_EXPECT(after != layouts.end());
  return after - layouts.begin();
}

RowRange items_of(const PartLayout& layout, const TileGrid& grid) {
  if (layout.tile_columns.empty()) return {0, 0};
  return {grid.items(layout.tile_columns.begin).begin, grid.items(layout.tile_columns.end - 1).end};
}

Reservation preallocate_parts(FileCalls& calls, const TileGrid& grid,
                              const std::vector<std::string>& paths,
                              const std::vector<PartLayout>& layouts) {
  BULKSIM_EXPECT(paths.size() == layouts.size());
  std::int64_t needed = 0;
  std::set<std::string> folders;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    needed += layouts[p].file_bytes;
    folders.insert(parent_of(paths[p]));
  }
  for (const std::string& folder : folders)
    require_space(calls, folder, needed);
  Reservation result = Reservation::kReserved;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    const Reservation one = preallocate_part(calls, paths[p], grid, layouts[p]);
    if (one == Reservation::kNotSupported) result = one;
  }
  for (const std::string& folder : folders)
    sync_directory(calls, folder);
  return result;
}

std::vector<std::byte> part_head(FileCalls& calls, const std::string& folder, const TileGrid& grid,
                                 const PartLayout& layout, const FileAttributes& attributes) {
  const StagedFile described(calls, inside(folder, "head"));
  describe_part(described.file(), grid, layout, attributes);
  std::vector<std::byte> head(layout.has_tiles() ? layout.data_offset : described.file().size());
  described.file().read(head, 0);
  return head;
}

void write_attributes(FileCalls& calls, const std::string& path, const TileGrid& grid,
                      const PartLayout& layout, const FileAttributes& attributes) {
  check_size(calls, path, layout);
  const auto head = part_head(calls, parent_of(path), grid, layout, attributes);
  if (!layout.has_tiles()) {
    replace_file(calls, path, {reinterpret_cast<const char*>(head.data()), head.size()});
    return;
  }
  const File file = File::open(calls, path, O_RDWR | O_NOFOLLOW);
  file.write(head, 0);
  file.sync();
}

bool reopen_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                 const PartLayout& layout) {
  const auto status = find_status(calls, path);
  if (!status || !S_ISREG(status->st_mode)) return false;
  const auto head = part_head(calls, parent_of(path), grid, layout, {});
  const auto bytes = layout.has_tiles() ? layout.file_bytes : std::ssize(head);
  if (status->st_size != bytes) return false;
  std::vector<std::byte> found(head.size());
  File::open(calls, path, O_RDONLY | O_NOFOLLOW).read(found, 0);
  if (found == head) return true;
  if (status->st_nlink > 1) return false;  // it is a hard link to a file of a published version
  if (calls.chmod(path.c_str(), 0600) == -1) throw system_error("set the mode of", path, errno);
  const File file = File::open(calls, path, O_RDWR | O_NOFOLLOW);
  file.write(head, 0);
  file.sync();
  return true;
}

void check_part(FileCalls& calls, const std::string& path, const TileGrid& grid,
                const PartLayout& layout) {
  check_size(calls, path, layout);
  const h5::File file = h5::open_file(path);
  const h5::Dataset dataset = h5::open_matrix(file, layout.dataset, path);
  if (h5::extent_of(dataset, path) != extent_of_part(grid, layout)) {
    throw damaged(path, "contains a matrix of another shape");
  }
  if (h5::value_type_of(dataset, path) != layout.type) {
    throw damaged(path, "contains values of another type");
  }
  if (!layout.has_tiles()) return;
  if (h5::chunk_of(dataset, path) != chunk_of_grid(grid)) {
    throw damaged(path, "contains tiles of another shape");
  }
  if (!offsets_agree(dataset, grid, layout, path) || !ids_agree(file, grid, layout, path))
    throw damaged(path, "does not have the expected layout");
}

}  // namespace bulksim
