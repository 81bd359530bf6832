#include "hdf5/file.hpp"

#include <cstddef>
#include <memory>

namespace bulksim::h5 {

namespace {

constexpr std::size_t kCacheBytes = std::size_t{4}
                                    << 20;  // more than a file takes when it is opened

/// Throws std::bad_alloc in time: HDF5 crashes when the caches of a file find no memory.
void require_memory() {
  const std::unique_ptr<std::byte[]> room(new std::byte[kCacheBytes]);
  std::byte* volatile used = room.get();  // or the compiler leaves both calls out
  static_cast<void>(used);
}

}  // namespace

PropertyList file_access() {
  require_memory();
  check(H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr), "silence HDF5");
  PropertyList list(H5Pcreate(H5P_FILE_ACCESS), "make file access properties");
#if H5_VERSION_GE(1, 10, 7)
  check(H5Pset_file_locking(list.get(), false, true), "turn file locking off");
#endif
  return list;
}

File create_file(const std::string& path) {
  const PropertyList access = file_access();
  const auto block = static_cast<hsize_t>(kDataOffset);
  // In this format object headers and indexes carry checksums, and an index of fixed chunks needs
  // no bytes at all.
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "set the format");
  // All metadata goes into one block at the front, so what comes next begins behind it.
  check(H5Pset_meta_block_size(access.get(), block), "set the metadata block");
  check(H5Pset_alignment(access.get(), block, block), "set the alignment");
  // No list of texts shares a block with another.
  check(H5Pset_small_data_block_size(access.get(), 0), "set the block of small data");
  const PropertyList creation(H5Pcreate(H5P_FILE_CREATE), "make file creation properties");
  check(H5Pset_obj_track_times(creation.get(), false), "turn time stamps off");
  return {H5Fcreate(path.c_str(), H5F_ACC_EXCL, creation.get(), access.get()),
          "create '" + path + "'"};
}

File open_file(const std::string& path) {
  const PropertyList access = file_access();
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), "open '" + path + "'",
          ExitCode::kDataError};
}

bool has_attribute(const std::string& path, const std::string& name) {
  const PropertyList access = file_access();
  const hid_t id = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (id < 0) return false;
  const File file(id, "open '" + path + "'");
  return H5Aexists(file.get(), name.c_str()) > 0;
}

PropertyList dataset_creation() {
  PropertyList list(H5Pcreate(H5P_DATASET_CREATE), "make dataset properties");
  check(H5Pset_obj_track_times(list.get(), false), "turn time stamps off");
  return list;
}

}  // namespace bulksim::h5
