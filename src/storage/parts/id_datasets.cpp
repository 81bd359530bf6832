#include "storage/parts/id_datasets.hpp"

#include "hdf5/texts.hpp"
#include "storage/damaged.hpp"

namespace bulksim {

namespace {

constexpr const char* kQueries = "query_ids";
constexpr const char* kItems = "item_ids";

IdPlace create(const h5::File& file, const char* list, std::int64_t count, std::int64_t width) {
  if (width == 0) return {};
  return {h5::create_texts(file, list, count, width), count, width};
}

IdPlace find(const h5::File& file, const char* list, std::int64_t count, const std::string& path) {
  const auto texts = h5::find_texts(file, list, path);
  if (!texts) return {};
  if (texts->count != count) {
    throw damaged(path, "has " + std::to_string(texts->count) + " " + list + " for " +
                            std::to_string(count) + " rows");
  }
  return {texts->at, texts->count, texts->width};
}

}  // namespace

IdPlaces create_ids(const h5::File& file, MatrixShape shape, IdWidths widths) {
  return {create(file, kQueries, shape.queries, widths.queries),
          create(file, kItems, shape.items, widths.items)};
}

IdPlaces find_ids(const h5::File& file, MatrixShape shape, const std::string& path) {
  return {find(file, kQueries, shape.queries, path), find(file, kItems, shape.items, path)};
}

}  // namespace bulksim
