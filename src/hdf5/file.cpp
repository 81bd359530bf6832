#include "hdf5/file.hpp"

#include <cstddef>
#include <memory>

namespace bulksim::h5 {

namespace {

constexpr std::size_t kCacheBytes = std::size_t{4} << 20;  // more than opening a file needs

/// Throws std::bad_alloc before HDF5 runs out of memory, since HDF5 crashes when it cannot allocate
/// a file's caches.
void require_memory() {
  const std::unique_ptr<std::byte[]> room(new std::byte[kCacheBytes]);
  // volatile, so that the compiler does not remove the allocation
  std::byte* volatile used = room.get();
  static_cast<void>(used);
}

}  // namespace

PropertyList file_access() {
  require_memory();
  check(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr), "silence HDF5");
  PropertyList list(H5Pcreate(H5P_FILE_ACCESS), "create file access properties");
#if H5_VERSION_GE(1, 10, 7)
  check(H5Pset_file_locking(list.get(), false, true), "turn file locking off");
#endif
  return list;
}

PropertyList creation_access() {
  PropertyList access = file_access();
  check(H5Pset_fapl_stdio(access.get()), "set the file driver");
  // In this format object headers and indexes have checksums, and the index of a fixed-size chunked
  // dataset takes no space.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "set the format");
  return access;
}

File create_file(const bulksim::File& file) {
  const PropertyList access = creation_access();
  const auto block = static_cast<hsize_t>(kDataOffset);
  // All metadata goes into one block at the start; datasets begin after it.
  check(H5Pset_meta_block_size(access.get(), block), "set the metadata block");
  check(H5Pset_alignment(access.get(), block, block), "set the alignment");
  // No list of strings shares a block with another.
  check(H5Pset_small_data_block_size(access.get(), 0), "set the block of small data");
  const PropertyList creation(H5Pcreate(H5P_FILE_CREATE), "create file creation properties");
  check(H5Pset_obj_track_times(creation.get(), false), "turn time stamps off");
  return {H5Fcreate(file.handle().c_str(), H5F_ACC_TRUNC, creation.get(), access.get()),
          "create '" + file.path() + "'"};
}

File open_file(const std::string& path) {
  const PropertyList access = file_access();
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "open '" + path + "'",
          ExitCode::kDataError};
}

bool exists(const File& file, const std::string& name, const std::string& path) {
  const htri_t there = H5Lexists(file.get(), name.c_str(), H5P_DEFAULT);
  check(there, "look for '" + name + "' in '" + path + "'", ExitCode::kDataError);
  return there > 0;
}

bool is_group(const File& file, const std::string& name, const std::string& path) {
  const Handle<H5Oclose> object(H5Oopen(file.get(), name.c_str(), H5P_DEFAULT),
                                "open '" + name + "' of '" + path + "'", ExitCode::kDataError);
  return H5Iget_type(object.get()) == H5I_GROUP;
}

bool has_attribute(const std::string& path, const std::string& name) {
  const PropertyList access = file_access();
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0) return false;
  const File file(id, "open '" + path + "'");
  return H5Aexists(file.get(), name.c_str()) > 0;
}

PropertyList dataset_creation() {
  PropertyList list(H5Pcreate(H5P_DATASET_CREATE), "create dataset properties");
  check(H5Pset_obj_track_times(list.get(), false), "turn time stamps off");
  return list;
}

}  // namespace bulksim::h5
