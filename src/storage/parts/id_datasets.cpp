#include "storage/parts/id_datasets.hpp"

#include "hdf5/arrays.hpp"
#include "hdf5/file.hpp"
#include "hdf5/texts.hpp"
#include "storage/damaged.hpp"

namespace bulksim {

namespace {

constexpr const char* kQueries = "query_ids";
constexpr const char* kItems = "item_ids";
constexpr const char* kOffsets = "/offsets";
constexpr const char* kText = "/text";

IdPlace create(const h5::File& file, const std::string& list, const IdSize& size) {
  if (size.count == 0) return {};
  IdPlace place{.size = size};
  if (size.width > 0) {
    place.text = h5::create_texts(file, list, size.count, size.width);
    return place;
  }
  h5::create_group(file, list);
  place.offsets = h5::create_array(file, list + kOffsets, h5::Element::kInt64,
                                   {static_cast<hsize_t>(size.count) + 1});
  const std::int64_t text =
      h5::create_array(file, list + kText, h5::Element::kByte, {static_cast<hsize_t>(size.bytes)});
  if (size.bytes > 0) place.text = text;
  return place;
}

/// The ids of a list, padded in results of older versions.
IdPlace find_list(const h5::File& file, const std::string& list, const std::string& path) {
  if (!h5::exists(file, list, path)) return {};
  if (!h5::is_group(file, list, path)) {
    const h5::Texts texts = h5::find_texts(file, list, path);
    return {{texts.count, 0, texts.width}, 0, texts.at};
  }
  const h5::Array offsets = h5::find_array(file, list + kOffsets, h5::Element::kInt64, path);
  const h5::Array text = h5::find_array(file, list + kText, h5::Element::kByte, path);
  return {{offsets.count - 1, text.count}, offsets.at, text.at};
}

IdPlace find(const h5::File& file, const char* list, std::int64_t count, const std::string& path) {
  IdPlace place = find_list(file, list, path);
  if (place == IdPlace{} || place.size.count == count) return place;
  throw damaged(path, "has " + std::to_string(place.size.count) + " " + list + " for " +
                          std::to_string(count) + " rows");
}

}  // namespace

IdPlaces create_ids(const h5::File& file, IdSizes sizes) {
  return {create(file, kQueries, sizes.queries), create(file, kItems, sizes.items)};
}

IdPlaces find_ids(const h5::File& file, MatrixShape shape, const std::string& path) {
  return {find(file, kQueries, shape.queries, path), find(file, kItems, shape.items, path)};
}

}  // namespace bulksim
