#include "storage/result/pair_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/files/file_appender.hpp"
#include "hdf5/arrays.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "storage/parts/id_datasets.hpp"
#include "storage/result/archive_comment.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostNarrowItems = std::int64_t{1} << 31;

/// Writes a string attribute of variable length, as in AnnData.
void write_text(const h5::File& file, const std::string& group, const char* name,
                const char* value) {
  const h5::Datatype type(H5Tcopy(H5T_C_S1), "create a string type");
  h5::check(H5Tset_size(type.get(), H5T_VARIABLE), "create a string type");
  h5::check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "create a string type");
  const h5::Dataspace scalar(H5Screate(H5S_SCALAR), "create a scalar dataspace");
  const h5::Attribute attribute(
      H5Acreate_by_name(file.get(), group.c_str(), name, type.get(), scalar.get(), H5P_DEFAULT,
                        H5P_DEFAULT, H5P_DEFAULT),
      "create an attribute");
  h5::check(H5Awrite(attribute.get(), type.get(), static_cast<const void*>(&value)),
            "write an attribute");
}

void write_shape(const h5::File& file, const std::string& group, MatrixShape shape) {
  const std::array<std::int64_t, 2> values{shape.queries, shape.items};
  const hsize_t two = 2;
  const h5::Dataspace space(H5Screate_simple(1, &two, nullptr), "create a dataspace");
  const h5::Attribute attribute(
      H5Acreate_by_name(file.get(), group.c_str(), "shape", H5T_STD_I64LE, space.get(), H5P_DEFAULT,
                        H5P_DEFAULT, H5P_DEFAULT),
      "create an attribute");
  h5::check(H5Awrite(attribute.get(), H5T_NATIVE_INT64, values.data()), "write an attribute");
}

/// The bytes before HDF5, given the digest of those after them.
std::string preface_of(const Digest& digest) {
  std::string preface = "bulksim\nXXH3-128 of the bytes from " + std::to_string(h5::kPrefaceBytes) +
                        " on: " + digest.hex() + "\n";
  preface.resize(h5::kPrefaceBytes, '\0');
  return preface;
}

Digest digest_after_preface(const File& file) {
  return digest_of(file, std::min(h5::kPrefaceBytes, file.size()), file.size());
}

}  // namespace

PairFileWriter::PairFileWriter(const File& file, const std::string& group, PairLayout layout,
                               const PairExtent& extent, const FileAttributes& attributes,
                               const ResultIds& ids)
    : file_(file),
      hdf5_(h5::create_array_file(file)),
      layout_(layout),
      width_(extent.width),
      wide_(layout == PairLayout::kLists || extent.shape.items >= kMostNarrowItems) {
  h5::write_attributes(hdf5_, attributes);
  h5::create_group(hdf5_, group);
  std::vector<hsize_t> dimensions{static_cast<hsize_t>(extent.row_offsets.back())};
  std::array<const char*, 2> names{"/indices", "/data"};
  if (layout == PairLayout::kCsr) {
    write_text(hdf5_, group, "encoding-type", "csr_matrix");
    write_text(hdf5_, group, "encoding-version", "0.1.0");
    add(group + "/indptr", h5::Element::kInt64, {extent.row_offsets.size()});
    arrays_.front().content.append(bytes_of(extent.row_offsets));
  } else {
    dimensions = {static_cast<hsize_t>(extent.shape.queries), static_cast<hsize_t>(extent.width)};
    names = {"/items", "/scores"};
  }
  write_shape(hdf5_, group, extent.shape);
  add(group + names[0], wide_ ? h5::Element::kInt64 : h5::Element::kInt32, dimensions);
  add(group + names[1], h5::Element::kFloat32, dimensions);
  const IdPlaces places = create_ids(hdf5_, sizes_of(ids));
  write_ids(file, ids.queries, places.queries);
  write_ids(file, ids.items, places.items);
}

PairFileWriter::~PairFileWriter() = default;

/// Creates the next array.
void PairFileWriter::add(const std::string& name, h5::Element element,
                         const std::vector<hsize_t>& extent) {
  arrays_.push_back({name, FileAppender(file_, h5::create_array(hdf5_, name, element, extent))});
}

void PairFileWriter::append_row(std::span<const std::int64_t> items,
                                std::span<const float> scores) {
  FileAppender& to_items = arrays_[arrays_.size() - 2].content;
  FileAppender& to_scores = arrays_.back().content;
  if (wide_) {
    to_items.append(std::as_bytes(items));
  } else {
    narrow_.assign(items.begin(), items.end());
    to_items.append(bytes_of(narrow_));
  }
  to_scores.append(std::as_bytes(scores));
  if (layout_ == PairLayout::kCsr) return;
  for (std::int64_t place = std::ssize(items); place < width_; ++place) {
    to_items.append_value(std::int64_t{-1});
    to_scores.append_value(std::numeric_limits<float>::quiet_NaN());
  }
}

void PairFileWriter::finish() {
  for (Array& array : arrays_)
    array.content.flush();
  for (const Array& array : arrays_)
    h5::write_text_attribute(hdf5_, array.name, kDigestAttribute, array.content.digest().hex());
  hdf5_.close("close '" + file_.path() + "'");
  const std::string preface = preface_of(digest_after_preface(file_));
  file_.write(std::as_bytes(std::span(preface)), 0);
}

std::int64_t pair_bytes(PairLayout layout, const PairExtent& extent) {
  if (layout == PairLayout::kLists) return 12 * extent.shape.queries * extent.width;
  const std::int64_t item_bytes = extent.shape.items >= kMostNarrowItems ? 8 : 4;
  return 8 * std::ssize(extent.row_offsets) + (item_bytes + 4) * extent.row_offsets.back();
}

FileDigest check_digest(FileCalls& calls, const std::string& path) {
  if (file_form(path) == FileForm::kNpz) return check_archive(calls, path);
  const File file = File::open(calls, path, O_RDONLY);
  std::string preface(std::min(h5::kPrefaceBytes, file.size()), '\0');
  file.read(std::as_writable_bytes(std::span(preface)), 0);
  if (preface.find_first_not_of('\0') == std::string::npos) return FileDigest::kNone;
  return preface == preface_of(digest_after_preface(file)) ? FileDigest::kMatches
                                                           : FileDigest::kDiffers;
}

std::string plan_of_pair_file(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) return {};
  if (file_form(path) == FileForm::kNpz) {
    const auto attributes = read_archive_attributes(calls, path);
    return find_attribute<std::string>(attributes, "plan").value_or("");
  }
  if (file_form(path) != FileForm::kHdf5 || !h5::has_attribute(path, "complete") ||
      !h5::has_attribute(path, "plan")) {
    return {};
  }
  const h5::File file = h5::open_file(path);
  if (h5::exists(file, "similarity", path)) return {};  // a matrix
  return find_attribute<std::string>(h5::read_attributes(file, path), "plan").value_or("");
}

}  // namespace bulksim
