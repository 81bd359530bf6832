#include "hdf5/view.hpp"

#include <limits>

#include "hdf5/file.hpp"

namespace bulksim::h5 {

namespace {

void map_source(const PropertyList& creation, const Dataspace& view, Extent extent,
                const Source& source) {
  const Extent start{0, source.begin};
  const Extent count{extent[0], source.end - source.begin};
  const Dataspace space(H5Screate_simple(2, count.data(), nullptr), "create a source dataspace");
  check(
      H5Sselect_hyperslab(view.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr),
      "select the columns of a source");
  check(H5Pset_virtual(creation.get(), view.get(), source.file.c_str(), source.dataset.c_str(),
                       space.get()),
        "map '" + source.file + "'");
}

/// Reads a string from an HDF5 function with the interface of snprintf.
template <class Get>
std::string text_of(Get get, const std::string& what) {
  const ssize_t length = get(nullptr, 0);
  check(length, what, ExitCode::kDataError);
  std::string text(length, '\0');
  check(get(text.data(), text.size() + 1), what, ExitCode::kDataError);
  return text;
}

Source source_at(const PropertyList& creation, std::size_t i, const std::string& what) {
  Source source;
  source.file = text_of(
      [&](char* to, std::size_t bytes) {
        return H5Pget_virtual_filename(creation.get(), i, to, bytes);
      },
      what);
  source.dataset = text_of(
      [&](char* to, std::size_t bytes) {
        return H5Pget_virtual_dsetname(creation.get(), i, to, bytes);
      },
      what);
  const Dataspace space(H5Pget_virtual_vspace(creation.get(), i), what, ExitCode::kDataError);
  Extent first{};
  Extent last{};
  check(H5Sget_select_bounds(space.get(), first.data(), last.data()), what, ExitCode::kDataError);
  source.begin = first[1];
  source.end = last[1] + 1;
  return source;
}

}  // namespace

Dataset create_view(const File& file, const std::string& name, ValueType type, Extent extent,
                    const std::vector<Source>& sources) {
  const float missing = std::numeric_limits<float>::quiet_NaN();
  const PropertyList creation = dataset_creation();
  check(H5Pset_fill_value(creation.get(), H5T_NATIVE_FLOAT, &missing), "set the fill value");
  const Dataspace space(H5Screate_simple(2, extent.data(), nullptr), "create a matrix dataspace");
  const Dataspace selection(H5Scopy(space.get()), "create a matrix dataspace");
  for (const Source& source : sources)
    map_source(creation, selection, extent, source);
  return {H5Dcreate2(file.get(), name.c_str(), type_of(type).get(), space.get(), H5P_DEFAULT,
                     creation.get(), H5P_DEFAULT),
          "create the virtual dataset '" + name + "'"};
}

bool is_view(const Dataset& dataset, const std::string& path) {
  return H5Pget_layout(creation_of(dataset, path).get()) == H5D_VIRTUAL;
}

std::vector<Source> sources_of(const Dataset& dataset, const std::string& path) {
  const std::string what = "inspect the sources of '" + path + "'";
  const PropertyList creation = creation_of(dataset, path);
  std::size_t count = 0;
  check(H5Pget_virtual_count(creation.get(), &count), what, ExitCode::kDataError);
  std::vector<Source> sources;
  for (std::size_t i = 0; i < count; ++i)
    sources.push_back(source_at(creation, i, what));
  return sources;
}

}  // namespace bulksim::h5
