#include "storage/result/pair_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "core/files/file_appender.hpp"
#include "core/files/scratch_file.hpp"
#include "hdf5/arrays.hpp"
#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"
#include "storage/parts/id_datasets.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kMostNarrowItems = std::int64_t{1} << 31;
constexpr std::string_view kComment = "bulksim plan ";
constexpr std::size_t kPlanDigits = 32;

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

}  // namespace

struct PairFileWriter::Impl {
  FileCalls& calls;
  std::string path;
  PairLayout layout;
  std::int64_t width;
  bool wide;  ///< items have 64 bits
  ScratchFile scratch;
  File file = {};
  std::vector<FileAppender> arrays = {};  ///< items, scores
};

PairFileWriter::PairFileWriter(FileCalls& calls, const std::string& path, const std::string& group,
                               PairLayout layout, const PairExtent& extent,
                               const FileAttributes& attributes, const ResultIds& ids)
    : impl_(new Impl{calls, path, layout, extent.width,
                     layout == PairLayout::kLists || extent.shape.items >= kMostNarrowItems,
                     ScratchFile(calls, path)}) {
  const std::string& scratch = impl_->scratch.path();
  h5::File file = h5::create_array_file(scratch);
  h5::write_attributes(file, attributes);
  h5::create_group(file, group);
  const h5::Element items = impl_->wide ? h5::Element::kInt64 : h5::Element::kInt32;
  std::vector<hsize_t> dimensions{static_cast<hsize_t>(extent.row_offsets.back())};
  std::array<const char*, 2> arrays{"/indices", "/data"};
  std::int64_t offsets_at = 0;
  if (layout == PairLayout::kCsr) {
    write_text(file, group, "encoding-type", "csr_matrix");
    write_text(file, group, "encoding-version", "0.1.0");
    offsets_at =
        h5::create_array(file, group + "/indptr", h5::Element::kInt64, {extent.row_offsets.size()});
  } else {
    dimensions = {static_cast<hsize_t>(extent.shape.queries), static_cast<hsize_t>(extent.width)};
    arrays = {"/items", "/scores"};
  }
  write_shape(file, group, extent.shape);
  const std::int64_t items_at = h5::create_array(file, group + arrays[0], items, dimensions);
  const std::int64_t scores_at =
      h5::create_array(file, group + arrays[1], h5::Element::kFloat32, dimensions);
  const IdPlaces places = create_ids(file, extent.shape, widths_of(ids));
  file.close("close '" + scratch + "'");
  impl_->file = File::open(calls, scratch, O_RDWR | O_NOFOLLOW);
  if (layout == PairLayout::kCsr) impl_->file.write(bytes_of(extent.row_offsets), offsets_at);
  write_ids(impl_->file, ids.queries, places.queries);
  write_ids(impl_->file, ids.items, places.items);
  impl_->arrays.emplace_back(impl_->file, items_at);
  impl_->arrays.emplace_back(impl_->file, scores_at);
}

PairFileWriter::~PairFileWriter() = default;

void PairFileWriter::append_row(std::span<const std::int64_t> items,
                                std::span<const float> scores) {
  FileAppender& to_items = impl_->arrays[0];
  FileAppender& to_scores = impl_->arrays[1];
  for (const std::int64_t item : items) {
    if (impl_->wide) {
      to_items.append_value(item);
    } else {
      to_items.append_value(static_cast<std::int32_t>(item));
    }
  }
  to_scores.append(std::as_bytes(scores));
  if (impl_->layout == PairLayout::kCsr) return;
  for (std::int64_t place = std::ssize(items); place < impl_->width; ++place) {
    to_items.append_value(std::int64_t{-1});
    to_scores.append_value(std::numeric_limits<float>::quiet_NaN());
  }
}

void PairFileWriter::finish() {
  for (FileAppender& array : impl_->arrays)
    array.flush();
  impl_->file.sync();
  impl_->file.close();
  rename_durably(impl_->calls, impl_->scratch.path(), impl_->path);
}

std::int64_t pair_bytes(PairLayout layout, const PairExtent& extent) {
  if (layout == PairLayout::kLists) return 12 * extent.shape.queries * extent.width;
  const std::int64_t item_bytes = extent.shape.items >= kMostNarrowItems ? 8 : 4;
  return 8 * std::ssize(extent.row_offsets) + (item_bytes + 4) * extent.row_offsets.back();
}

std::string archive_comment(const std::string& plan) {
  return std::string(kComment) + plan;
}

std::string plan_of_pair_file(FileCalls& calls, const std::string& path) {
  if (!exists(calls, path)) return {};
  if (file_form(path) == FileForm::kHdf5) {
    if (!h5::has_attribute(path, "complete") || !h5::has_attribute(path, "plan")) return {};
    const h5::File file = h5::open_file(path);
    if (H5Lexists(file.get(), "similarity", H5P_DEFAULT) > 0) return {};  // a matrix
    return find_attribute<std::string>(h5::read_attributes(file, path), "plan").value_or("");
  }
  const File file = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
  std::string tail(kComment.size() + kPlanDigits, '\0');
  const std::int64_t at = file.size() - std::ssize(tail);
  if (at < 0) return {};
  file.read(std::as_writable_bytes(std::span(tail)), at);
  return tail.starts_with(kComment) ? tail.substr(kComment.size()) : std::string();
}

}  // namespace bulksim
