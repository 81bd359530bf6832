#include "storage/result/block_map.hpp"

#include <limits>

#include "blocks/fine_grid.hpp"
#include "hdf5/arrays.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "hdf5/require_plain.hpp"
#include "storage/damaged.hpp"
#include "storage/parts/part_layout.hpp"
#include "storage/result/result_path.hpp"
#include "storage/result/write_block_map.hpp"

namespace bulksim {

namespace {

constexpr const char* kGroup = "block_sums";

std::vector<hsize_t> extent(std::int64_t rows, std::int64_t columns) {
  return {static_cast<hsize_t>(rows), static_cast<hsize_t>(columns)};
}

/// The scalars of a block map, by attribute name.
struct Scalars {
  const FileAttributes& attributes;
  const std::string& path;

  template <class T>
  T get(const std::string& name) const {
    const auto value = find_attribute<T>(attributes, name);
    if (!value) throw damaged(path, "has block sums but no attribute '" + name + "'");
    return *value;
  }
};

template <class T>
std::vector<T> read(const h5::File& file, const char* name, h5::Element element,
                    std::int64_t count) {
  std::vector<T> values(count);
  h5::read_array(file, std::string(kGroup) + "/" + name, element, values.size(), values.data());
  return values;
}

/// The fine blocks of an unlimited matrix.
FineGrid endless(TileShape tile) {
  constexpr std::int64_t kRows = std::numeric_limits<std::int64_t>::max() / 2;
  return FineGrid(TileGrid({kRows, kRows}, tile));
}

}  // namespace

TileShape BlockMap::block() const {
  return endless(tile).block();
}

RowRange BlockMap::queries(std::int64_t row) const {
  return endless(tile).queries(row);
}

RowRange BlockMap::items(std::int64_t column) const {
  return endless(tile).items(column);
}

void write_block_map(const h5::File& file, const BlockMap& map) {
  using enum h5::Element;
  h5::write_attributes(file, {{"softmax_scale", map.softmax_scale},
                              {"block_queries", map.block().queries},
                              {"block_items", map.block().items},
                              {"block_rows", map.rows},
                              {"block_columns", map.columns},
                              {"coarse_rows", map.coarse_rows},
                              {"coarse_columns", map.coarse_columns},
                              {"block_sums_estimated", std::int64_t{map.is_estimate ? 1 : 0}}});
  h5::create_group(file, kGroup);
  const auto add = [&](const char* name, h5::Element element, const std::vector<hsize_t>& shape,
                       const void* values) {
    h5::write_array(file, std::string(kGroup) + "/" + name, element, shape, values);
  };
  const auto fine = extent(map.rows, map.columns);
  add("fine", kFloat64, fine, map.fine.data());
  add("coarse", kFloat64, extent(map.coarse_rows, map.coarse_columns), map.coarse.data());
  add("share", kFloat64, fine, map.share.data());
  add("mask", kByte, fine, map.mask.data());
  add("live_rows", kInt64, {static_cast<hsize_t>(map.rows)}, map.live_rows.data());
}

std::optional<BlockMap> read_block_map(FileCalls& calls, const std::string& path) {
  using enum h5::Element;
  const std::string place = find_result(calls, path);
  const h5::File file = h5::open_file(place);
  if (!h5::exists(file, kGroup, place)) return std::nullopt;
  h5::require_plain(file, place, "similarity");
  const h5::Attributes attributes = h5::read_attributes(file, place);
  const Scalars scalars{attributes, place};
  BlockMap map;
  map.softmax_scale = scalars.get<double>("softmax_scale");
  map.tile = {scalars.get<std::int64_t>("tile_queries"), scalars.get<std::int64_t>("tile_items")};
  if (map.tile.queries < 1 || map.tile.items < 1) throw damaged(place, "has an invalid tile shape");
  map.rows = scalars.get<std::int64_t>("block_rows");
  map.columns = scalars.get<std::int64_t>("block_columns");
  map.coarse_rows = scalars.get<std::int64_t>("coarse_rows");
  map.coarse_columns = scalars.get<std::int64_t>("coarse_columns");
  map.is_estimate = scalars.get<std::int64_t>("block_sums_estimated") == 1;
  map.fine = read<double>(file, "fine", kFloat64, map.rows * map.columns);
  map.coarse = read<double>(file, "coarse", kFloat64, map.coarse_rows * map.coarse_columns);
  map.share = read<double>(file, "share", kFloat64, map.rows * map.columns);
  map.mask = read<std::uint8_t>(file, "mask", kByte, map.rows * map.columns);
  map.live_rows = read<std::int64_t>(file, "live_rows", kInt64, map.rows);
  return map;
}

}  // namespace bulksim
