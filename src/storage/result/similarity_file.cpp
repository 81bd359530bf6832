#include "storage/result/similarity_file.hpp"

#include <cstddef>

#include "core/files/staged_file.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "hdf5/view.hpp"
#include "storage/parts/id_datasets.hpp"
#include "storage/parts/part_set.hpp"
#include "storage/result/write_block_map.hpp"

namespace bulksim {

namespace {

std::vector<h5::Source> sources_of(const TileGrid& grid, const std::vector<PartLayout>& layouts,
                                   const std::vector<std::string>& relative_paths) {
  BULKSIM_EXPECT(layouts.size() == relative_paths.size());
  std::vector<h5::Source> sources;
  for (std::size_t p = 0; p < layouts.size(); ++p) {
    const RowRange items = items_of(layouts[p], grid);
    if (!layouts[p].has_tiles()) continue;
    sources.push_back({relative_paths[p], layouts[p].dataset, static_cast<hsize_t>(items.begin),
                       static_cast<hsize_t>(items.end)});
  }
  return sources;
}

ValueType type_of(const std::vector<PartLayout>& layouts) {
  return layouts.empty() ? ValueType::kFloat32 : layouts.front().type;
}

/// Creates the file with space for its ids, which are not written.
IdPlaces describe_view(const File& view, const TileGrid& grid, ValueType type,
                       const std::vector<h5::Source>& sources, const FileAttributes& attributes,
                       IdSizes ids, const BlockMap* blocks) {
  const h5::Extent extent = h5::extent(grid.shape().queries, grid.shape().items);
  h5::File file = h5::create_file(view);
  h5::write_attributes(file, attributes);
  if (!sources.empty()) {
    h5::create_view(file, "similarity", type, extent, sources);
  } else if (grid.count() == 0) {
    h5::create_empty(file, "similarity", type, extent);
  }
  if (blocks != nullptr) write_block_map(file, *blocks);
  const IdPlaces places = create_ids(file, ids);
  file.close("close '" + view.path() + "'");
  return places;
}

}  // namespace

FileAttributes result_attributes(const TileGrid& grid, const FileAttributes& more) {
  FileAttributes attributes{{"complete", std::int64_t{1}},
                            {"tile_queries", grid.tile().queries},
                            {"tile_items", grid.tile().items}};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

void write_similarity_file(FileCalls& calls, const std::string& path, const TileGrid& grid,
                           const std::vector<PartLayout>& layouts,
                           const std::vector<std::string>& relative_paths,
                           const FileAttributes& attributes, const ResultIds& ids,
                           const BlockMap* blocks) {
  const std::vector<h5::Source> sources = sources_of(grid, layouts, relative_paths);
  StagedFile staged(calls, path);
  const IdPlaces places = describe_view(staged.file(), grid, type_of(layouts), sources, attributes,
                                        sizes_of(ids), blocks);
  write_ids(staged.file(), ids.queries, places.queries);
  write_ids(staged.file(), ids.items, places.items);
  staged.publish();
}

std::int64_t similarity_file_bytes(FileCalls& calls, const std::string& folder,
                                   const TileGrid& grid, const std::vector<PartLayout>& layouts,
                                   const FileAttributes& attributes, IdSizes ids,
                                   const BlockMap* blocks) {
  std::vector<std::string> paths;
  for (std::size_t part = 0; part < layouts.size(); ++part)
    paths.push_back(part_file_name(part));
  const StagedFile described(calls, inside(folder, "similarity.h5"));
  describe_view(described.file(), grid, type_of(layouts), sources_of(grid, layouts, paths),
                attributes, ids, blocks);
  return described.file().size();
}

}  // namespace bulksim
