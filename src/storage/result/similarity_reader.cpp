#include <algorithm>
#include <cstddef>
#include <utility>

#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "hdf5/require_plain.hpp"
#include "hdf5/view.hpp"
#include "storage/parts/id_datasets.hpp"
#include "storage/parts/tile_files.hpp"
#include "storage/plain_path.hpp"
#include "storage/result/result_path.hpp"
#include "storage/result/similarity_file.hpp"

namespace bulksim {

namespace {

/// Description of /similarity from the attributes and datasets of its file.
struct Description {
  FileAttributes attributes;
  TileGrid grid;
  ValueType type = ValueType::kFloat32;
  std::vector<std::string> paths;
  std::vector<PartLayout> layouts;
  IdPlaces ids;
};

std::int64_t whole_number(const FileAttributes& attributes, const std::string& name,
                          const std::string& file) {
  if (const auto number = find_attribute<std::int64_t>(attributes, name)) return *number;
  throw Error(ExitCode::kDataError,
              "'" + file + "' has no attribute '" + name + "': it is not a finished result");
}

TileShape tile_shape(const FileAttributes& attributes, const std::string& file) {
  const TileShape tile{whole_number(attributes, "tile_queries", file),
                       whole_number(attributes, "tile_items", file)};
  if (tile.queries < 1 || tile.items < 1) {
    throw Error(ExitCode::kDataError, "'" + file + "' has an invalid tile shape");
  }
  return tile;
}

/// Finds the part files of a virtual dataset. They must cover the tile columns without gaps or
/// overlaps.
void describe_sources(const h5::Dataset& view, const std::string& file, Description& result) {
  std::int64_t column = 0;
  for (const h5::Source& source : h5::sources_of(view, file)) {
    const std::int64_t begin = source.begin;
    const std::int64_t end = source.end;
    const RowRange columns{column, divide_up(end, result.grid.tile().items)};
    result.layouts.push_back(plan_part(result.grid, columns, source.dataset, {}, result.type));
    result.paths.push_back(parent_of(file) + "/" + source.file);
    if (!is_plain_path(source.file) || columns.empty() ||
        items_of(result.layouts.back(), result.grid) != RowRange{begin, end}) {
      throw Error(ExitCode::kDataError,
                  "'" + file + "' maps '" + source.file + "', which is not a part of this result");
    }
    column = columns.end;
  }
  if (column != result.grid.columns()) {
    throw Error(ExitCode::kDataError, "'" + file + "' lacks sources for the tile columns from " +
                                          std::to_string(column) + " on");
  }
}

Description describe(const std::string& path) {
  Description result;
  const h5::File file = h5::open_file(path);
  h5::require_plain(file, path, "similarity");
  result.attributes = h5::read_attributes(file, path);
  if (whole_number(result.attributes, "complete", path) != 1) {
    throw Error(ExitCode::kDataError, "'" + path + "' belongs to a run that did not finish");
  }
  if (!h5::exists(file, "similarity", path)) {
    throw Error(ExitCode::kDataError, "'" + path +
                                          "' contains no matrix (a result of --mode blocks has "
                                          "only block sums: see bulksim report)");
  }
  const h5::Dataset dataset = h5::open_matrix(file, "similarity", path);
  const h5::Extent extent = h5::extent_of(dataset, path);
  result.grid =
      TileGrid({static_cast<std::int64_t>(extent[0]), static_cast<std::int64_t>(extent[1])},
               tile_shape(result.attributes, path));
  result.type = h5::value_type_of(dataset, path);
  if (result.grid.count() == 0) return result;
  result.ids = find_ids(file, result.grid.shape(), path);
  if (h5::is_view(dataset, path)) {
    describe_sources(dataset, path, result);
  } else {
    result.layouts.push_back(plan_part(result.grid, {0, result.grid.columns()}, "similarity",
                                       result.ids.sizes(), result.type));
    result.paths.push_back(path);
  }
  return result;
}

}  // namespace

struct SimilarityReader::Impl {
  std::string file;
  TileGrid grid;
  ValueType type;
  FileAttributes attributes;
  IdPlaces ids;
  File file_itself;
  TileFiles tiles;
};

SimilarityReader::SimilarityReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SimilarityReader::~SimilarityReader() = default;
SimilarityReader::SimilarityReader(SimilarityReader&&) noexcept = default;
SimilarityReader& SimilarityReader::operator=(SimilarityReader&&) noexcept = default;

SimilarityReader SimilarityReader::open(FileCalls& calls, const std::string& path) {
  const std::string file = find_result(calls, path);
  Description found = describe(file);
  for (std::size_t p = 0; p < found.paths.size(); ++p) {
    check_part(calls, found.paths[p], found.grid, found.layouts[p]);
  }
  return SimilarityReader(
      std::unique_ptr<Impl>(new Impl{file, found.grid, found.type, std::move(found.attributes),
                                     found.ids, File::open(calls, file, O_RDONLY),
                                     TileFiles(calls, found.grid, std::move(found.paths),
                                               std::move(found.layouts), TileAccess::kRead)}));
}

const std::string& SimilarityReader::file() const {
  return impl_->file;
}
const TileGrid& SimilarityReader::grid() const {
  return impl_->grid;
}
ValueType SimilarityReader::value_type() const {
  return impl_->type;
}
const FileAttributes& SimilarityReader::attributes() const {
  return impl_->attributes;
}

IdSizes SimilarityReader::id_sizes() const {
  return impl_->ids.sizes();
}

StringTable SimilarityReader::query_ids(RowRange queries) const {
  return load_ids(impl_->file_itself, impl_->ids.queries, queries);
}

StringTable SimilarityReader::item_ids(RowRange items) const {
  return load_ids(impl_->file_itself, impl_->ids.items, items);
}

std::vector<float> SimilarityReader::read(RowRange queries, RowRange items) const {
  const TileGrid& grid = impl_->grid;
  BULKSIM_EXPECT(0 <= queries.begin && queries.end <= grid.shape().queries);
  BULKSIM_EXPECT(0 <= items.begin && items.end <= grid.shape().items);
  const TileShape tile = grid.tile();
  std::vector<float> block(queries.size() * items.size());
  auto to = block.begin();
  for (std::int64_t query = queries.begin; query < queries.end; ++query) {
    for (std::int64_t item = items.begin; item < items.end;) {
      const TileId id{query / tile.queries, item / tile.items};
      const std::int64_t end = std::min(items.end, grid.items(id.column).end);
      const std::int64_t cell = query % tile.queries * tile.items + item % tile.items;
      impl_->tiles.read(id, std::span(&*to, end - item), cell);
      to += end - item;
      item = end;
    }
  }
  return block;
}

}  // namespace bulksim
