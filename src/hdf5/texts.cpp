#include "hdf5/texts.hpp"

#include "hdf5/attributes.hpp"
#include "hdf5/file.hpp"

namespace bulksim::h5 {

std::int64_t create_texts(const File& file, const std::string& name, std::int64_t count,
                          std::int64_t width) {
  const auto extent = static_cast<hsize_t>(count);
  const Dataspace space(H5Screate_simple(1, &extent, nullptr), "create a dataspace");
  const Datatype type = text_type(width);
  const PropertyList creation = dataset_creation();
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), "allocate early");
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "turn fill values off");
  const Dataset texts(H5Dcreate2(file.get(), name.c_str(), type.get(), space.get(), H5P_DEFAULT,
                                 creation.get(), H5P_DEFAULT),
                      "create the list '" + name + "'");
  return H5Dget_offset(texts.get());
}

Texts find_texts(const File& file, const std::string& name, const std::string& path) {
  const std::string what = "open the list '" + name + "' of '" + path + "'";
  const Dataset texts(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), what, ExitCode::kDataError);
  const Dataspace space(H5Dget_space(texts.get()), what, ExitCode::kDataError);
  const Datatype type(H5Dget_type(texts.get()), what, ExitCode::kDataError);
  const haddr_t at = H5Dget_offset(texts.get());
  if (H5Sget_simple_extent_ndims(space.get()) != 1 || H5Tget_class(type.get()) != H5T_STRING ||
      H5Tis_variable_str(type.get()) != 0 || at == HADDR_UNDEF) {
    throw Error(ExitCode::kDataError, "'" + name + "' of '" + path + "' is not a list of strings");
  }
  hsize_t count = 0;
  check(H5Sget_simple_extent_dims(space.get(), &count, nullptr), what, ExitCode::kDataError);
  return {static_cast<std::int64_t>(at), static_cast<std::int64_t>(count),
          static_cast<std::int64_t>(H5Tget_size(type.get()))};
}

}  // namespace bulksim::h5
