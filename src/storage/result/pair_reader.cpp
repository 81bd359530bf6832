#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "hdf5/require_plain.hpp"
#include "storage/damaged.hpp"
#include "storage/parts/id_datasets.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

namespace {

std::int64_t size_of(const h5::Dataset& array) {
  const h5::Dataspace space(H5Dget_space(array.get()), "inspect an array", ExitCode::kDataError);
  return H5Sget_simple_extent_npoints(space.get());
}

/// Opens an array whose elements are all in the file, so that its size can be trusted.
h5::Dataset open_array(const h5::File& file, const std::string& name, const std::string& path) {
  h5::Dataset array(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT),
                    "open '" + name + "' in '" + path + "'", ExitCode::kDataError);
  const h5::Datatype type(H5Dget_type(array.get()), "inspect an array", ExitCode::kDataError);
  const hsize_t stored = H5Dget_storage_size(array.get());
  if (size_of(array) < 0 ||
      stored / H5Tget_size(type.get()) != static_cast<hsize_t>(size_of(array)))
    throw damaged(path, "does not store all of '" + name + "'");
  return array;
}

/// Rows and columns; the first dimension of an array without a second.
std::array<hsize_t, 2> extent_of(const h5::Dataset& array) {
  const h5::Dataspace space(H5Dget_space(array.get()), "inspect an array", ExitCode::kDataError);
  std::array<hsize_t, 2> extent{};
  if (H5Sget_simple_extent_ndims(space.get()) <= 2)
    H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr);
  return extent;
}

MatrixShape shape_of(const h5::File& file, const std::string& group, const std::string& path) {
  const h5::Attribute attribute(
      H5Aopen_by_name(file.get(), group.c_str(), "shape", H5P_DEFAULT, H5P_DEFAULT),
      "open the shape of '" + path + "'", ExitCode::kDataError);
  const h5::Dataspace space(H5Aget_space(attribute.get()), "inspect the shape");
  if (H5Sget_simple_extent_npoints(space.get()) != 2) throw damaged(path, "has no valid shape");
  std::array<std::int64_t, 2> shape{};
  h5::check(H5Aread(attribute.get(), H5T_NATIVE_INT64, shape.data()), "read the shape",
            ExitCode::kDataError);
  if (shape[0] < 0 || shape[1] < 0) throw damaged(path, "has no valid shape");
  return {shape[0], shape[1]};
}

std::vector<std::int64_t> read_indptr(const h5::File& file, const std::string& group,
                                      MatrixShape shape, const std::string& path) {
  const h5::Dataset indptr = open_array(file, group + "/indptr", path);
  if (size_of(indptr) - 1 != shape.queries)
    throw damaged(path, "has an indptr of the wrong length");
  std::vector<std::int64_t> offsets(shape.queries + 1);
  h5::check(H5Dread(indptr.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, offsets.data()),
            "read indptr", ExitCode::kDataError);
  return offsets;
}

std::vector<std::int64_t> offsets_of_lists(const h5::Dataset& items, const h5::Dataset& scores,
                                           MatrixShape shape, const std::string& path) {
  const auto [rows, width] = extent_of(items);
  if (rows != static_cast<hsize_t>(shape.queries) || extent_of(scores) != extent_of(items))
    throw damaged(path, "has lists that do not match its shape");
  std::vector<std::int64_t> offsets(shape.queries + 1);
  for (std::size_t row = 0; row < offsets.size(); ++row)
    offsets[row] = static_cast<std::int64_t>(row * width);
  return offsets;
}

}  // namespace

struct PairFileReader::Impl {
  std::string path;
  h5::File file;
  std::string group;
  MatrixShape shape;
  PairLayout layout;
  std::vector<std::int64_t> offsets;  ///< of rows, counted in places
  h5::Dataset items;
  h5::Dataset scores;
  IdPlaces ids;
  FileAttributes attributes;
  File file_itself;
};

PairFileReader::PairFileReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PairFileReader::~PairFileReader() = default;

std::unique_ptr<PairFileReader> PairFileReader::open(FileCalls& calls, const std::string& path) {
  const std::string place = find_result(calls, path);
  h5::File file = h5::open_file(place);
  h5::require_plain(file, place, "similarity");
  FileAttributes attributes = h5::read_attributes(file, place);
  if (find_attribute<std::int64_t>(attributes, "complete") != 1) {
    throw Error(ExitCode::kDataError, "'" + place + "' is not a finished result");
  }
  std::string group;
  for (const char* name : {"pairs", "nonzero", "topk"}) {
    if (h5::exists(file, name, place)) group = name;
  }
  if (group.empty()) return nullptr;
  const PairLayout layout = group == "topk" ? PairLayout::kLists : PairLayout::kCsr;
  const MatrixShape shape = shape_of(file, group, place);
  h5::Dataset items =
      open_array(file, group + (layout == PairLayout::kCsr ? "/indices" : "/items"), place);
  h5::Dataset scores =
      open_array(file, group + (layout == PairLayout::kCsr ? "/data" : "/scores"), place);
  std::vector<std::int64_t> offsets = layout == PairLayout::kCsr
                                          ? read_indptr(file, group, shape, place)
                                          : offsets_of_lists(items, scores, shape, place);
  if (!std::ranges::is_sorted(offsets) || offsets.front() != 0 ||
      offsets.back() != size_of(items) || offsets.back() != size_of(scores)) {
    throw damaged(place, "has row offsets that do not match its pairs");
  }
  const IdPlaces ids = find_ids(file, shape, place);
  return std::unique_ptr<PairFileReader>(new PairFileReader(std::unique_ptr<Impl>(new Impl{
      place, std::move(file), group, shape, layout, std::move(offsets), std::move(items),
      std::move(scores), ids, std::move(attributes), File::open(calls, place, O_RDONLY)})));
}

MatrixShape PairFileReader::shape() const {
  return impl_->shape;
}

PairLayout PairFileReader::layout() const {
  return impl_->layout;
}

const std::string& PairFileReader::group() const {
  return impl_->group;
}

std::int64_t PairFileReader::places(RowRange queries) const {
  return impl_->offsets[queries.end] - impl_->offsets[queries.begin];
}

void PairFileReader::read(RowRange queries, std::vector<std::int64_t>& items,
                          std::vector<float>& scores) const {
  const std::int64_t count = places(queries);
  items.resize(count);
  scores.resize(count);
  if (count == 0) return;
  const std::int64_t width = count / queries.size();
  std::array<hsize_t, 2> start{};
  std::array<hsize_t, 2> extent{};
  int rank = 1;
  if (impl_->layout == PairLayout::kCsr) {
    start[0] = impl_->offsets[queries.begin];
    extent[0] = count;
  } else {
    rank = 2;
    start[0] = queries.begin;
    extent[0] = queries.size();
    extent[1] = width;
  }
  const auto read_into = [&](const h5::Dataset& array, hid_t type, void* to) {
    const h5::Dataspace there(H5Dget_space(array.get()), "inspect an array");
    h5::check(H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(),
                                  nullptr),
              "select rows");
    const h5::Dataspace here(H5Screate_simple(rank, extent.data(), nullptr), "create a dataspace");
    h5::check(H5Dread(array.get(), type, here.get(), there.get(), H5P_DEFAULT, to),
              "read pairs of '" + impl_->path + "'", ExitCode::kDataError);
  };
  read_into(impl_->items, H5T_NATIVE_INT64, items.data());
  read_into(impl_->scores, H5T_NATIVE_FLOAT, scores.data());
}

void PairFileReader::for_each_row(const TakeRow& take) const {
  constexpr std::int64_t kPlacesAtOnce = std::int64_t{4} << 20;
  const std::int64_t queries = shape().queries;
  std::vector<std::int64_t> items;
  std::vector<float> scores;
  for (RowRange band{0, 0}; band.begin < queries; band.begin = band.end) {
    band.end = band.begin + 1;
    while (band.end < queries && places({band.begin, band.end + 1}) < kPlacesAtOnce)
      ++band.end;
    read(band, items, scores);
    std::size_t at = 0;
    for (std::int64_t query = band.begin; query < band.end; ++query) {
      const std::size_t count = places({query, query + 1});
      take(query, std::span(items).subspan(at, count), std::span(scores).subspan(at, count));
      at += count;
    }
  }
}

ResultIds PairFileReader::ids() const {
  return {load_ids(impl_->file_itself, impl_->ids.queries, {0, impl_->ids.queries.size.count}),
          load_ids(impl_->file_itself, impl_->ids.items, {0, impl_->ids.items.size.count})};
}

const FileAttributes& PairFileReader::attributes() const {
  return impl_->attributes;
}

std::vector<PairFileReader::ArrayDigest> PairFileReader::array_digests() const {
  std::vector<ArrayDigest> digests;
  const auto add = [&](const std::string& name, std::string expected) {
    const h5::Dataset array = open_array(impl_->file, name, impl_->path);
    const haddr_t at = H5Dget_offset(array.get());
    const hsize_t bytes = H5Dget_storage_size(array.get());
    const auto begin = static_cast<std::int64_t>(bytes == 0 ? 0 : at);
    const auto end = begin + static_cast<std::int64_t>(bytes);
    if (begin < 0 || end < begin) throw damaged(impl_->path, "has an invalid array '" + name + "'");
    digests.push_back({name, std::move(expected), digest_of(impl_->file_itself, begin, end).hex()});
  };
  const bool lists = impl_->layout == PairLayout::kLists;
  for (const char* name : {"/indptr", "/indices", "/data", "/items", "/scores"}) {
    const bool of_lists = name == std::string_view("/items") || name == std::string_view("/scores");
    if (of_lists != lists) continue;
    add(impl_->group + name,
        h5::read_text_attribute(impl_->file, impl_->group + name, kDigestAttribute, impl_->path));
  }
  const ResultIds all = ids();
  for (const auto& [side, table] :
       {std::pair("query_ids", &all.queries), {"item_ids", &all.items}}) {
    const auto expected =
        find_attribute<std::string>(impl_->attributes, std::string(side) + "_digest");
    if (expected) digests.push_back({side, *expected, table->digest().hex()});
  }
  return digests;
}

}  // namespace bulksim
