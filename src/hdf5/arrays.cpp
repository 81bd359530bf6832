#include "hdf5/arrays.hpp"

#include <algorithm>

#include "hdf5/file.hpp"

namespace bulksim::h5 {

namespace {

hid_t type_of(Element element) {
  switch (element) {
    case Element::kByte:
      return H5T_STD_U8LE;
    case Element::kInt32:
      return H5T_STD_I32LE;
    case Element::kInt64:
      return H5T_STD_I64LE;
    case Element::kUint64:
      return H5T_STD_U64LE;
    case Element::kFloat32:
      return H5T_IEEE_F32LE;
    case Element::kFloat64:
      return H5T_IEEE_F64LE;
  }
  return -1;
}

}  // namespace

File create_array_file(const bulksim::File& file) {
  const PropertyList access = creation_access();
  // All metadata goes into one block after the preface, and no array shares a block with another.
  check(H5Pset_meta_block_size(access.get(), kArraysAt - kPrefaceBytes), "set the metadata block");
  check(H5Pset_small_data_block_size(access.get(), 0), "set the block of small data");
  const PropertyList creation(H5Pcreate(H5P_FILE_CREATE), "create file creation properties");
  check(H5Pset_userblock(creation.get(), kPrefaceBytes), "set the user block");
  check(H5Pset_obj_track_times(creation.get(), false), "turn time stamps off");
  return {H5Fcreate(file.handle().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()),
          "create '" + file.path() + "'"};
}

std::int64_t create_array(const File& file, const std::string& name, Element element,
                          const std::vector<hsize_t>& extent) {
  const Dataspace space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                        "create a dataspace");
  const PropertyList creation = dataset_creation();
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), "allocate early");
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "turn fill values off");
  const Dataset array(H5Dcreate2(file.get(), name.c_str(), type_of(element), space.get(),
                                 H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                      "create the array '" + name + "'");
  // HDF5 does not allocate an empty array, and returns no usable offset for it.
  if (std::find(extent.begin(), extent.end(), 0) != extent.end()) return kArraysAt;
  return H5Dget_offset(array.get());
}

void create_group(const File& file, const std::string& name) {
  const PropertyList creation(H5Pcreate(H5P_GROUP_CREATE), "create group properties");
  check(H5Pset_obj_track_times(creation.get(), false), "turn time stamps off");
  const Handle<H5Gclose> group(
      H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
      "create the group '" + name + "'");
}

void write_array(const File& file, const std::string& name, Element element,
                 const std::vector<hsize_t>& extent, const void* elements) {
  const Dataspace space(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                        "create a dataspace");
  const PropertyList creation = dataset_creation();
  const Dataset array(H5Dcreate2(file.get(), name.c_str(), type_of(element), space.get(),
                                 H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                      "create the array '" + name + "'");
  check(H5Dwrite(array.get(), type_of(element), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements),
        "write the array '" + name + "'");
}

Array find_array(const File& file, const std::string& name, Element element,
                 const std::string& path) {
  const std::string what = "open '" + name + "' of '" + path + "'";
  const Dataset array(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), what, ExitCode::kDataError);
  const Dataspace space(H5Dget_space(array.get()), what, ExitCode::kDataError);
  const Datatype type(H5Dget_type(array.get()), what, ExitCode::kDataError);
  const std::int64_t count = H5Sget_simple_extent_npoints(space.get());
  const haddr_t at = count > 0 ? H5Dget_offset(array.get()) : 0;
  if (H5Sget_simple_extent_ndims(space.get()) != 1 || H5Tequal(type.get(), type_of(element)) <= 0 ||
      count < 0 || at == HADDR_UNDEF) {
    throw Error(ExitCode::kDataError, "'" + name + "' of '" + path + "' is not a plain array");
  }
  return {static_cast<std::int64_t>(at), count};
}

void read_array(const File& file, const std::string& name, Element element, std::size_t count,
                void* to) {
  const std::string what = "read the array '" + name + "'";
  const Dataset array(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), what, ExitCode::kDataError);
  const Dataspace space(H5Dget_space(array.get()), what, ExitCode::kDataError);
  if (H5Sget_simple_extent_npoints(space.get()) != static_cast<hssize_t>(count)) {
    throw Error(ExitCode::kDataError, "the array '" + name + "' does not have the expected size");
  }
  check(H5Dread(array.get(), type_of(element), H5S_ALL, H5S_ALL, H5P_DEFAULT, to), what,
        ExitCode::kDataError);
}

}  // namespace bulksim::h5
