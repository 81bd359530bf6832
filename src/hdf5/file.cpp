#include "hdf5/file.hpp"

#include <cstddef>
#include <memory>
#include <utility>

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

/// What is wrong with a dataset, or "".
std::string fault_of_dataset(hid_t dataset, bool may_be_virtual) {
  const PropertyList creation(H5Dget_create_plist(dataset), "inspect a dataset",
                              ExitCode::kDataError);
  if (H5Pget_external_count(creation.get()) > 0) return "keeps its values in another file";
  if (H5Pget_nfilters(creation.get()) != 0) return "uses a filter";
  if (H5Pget_layout(creation.get()) == H5D_VIRTUAL && !may_be_virtual)
    return "is a virtual dataset";
  return "";
}

/// Visits every link without following any that leads elsewhere.
struct PlainCheck {
  const std::string& path;
  const std::string& view;  ///< the dataset that may be virtual
  std::string fault;
  std::string prefix;
  int depth;

  void group(hid_t id) {
    constexpr int kDeepest = 8;  // a group may contain itself
    if (++depth > kDeepest) fault = "its groups are nested too deep";
    hsize_t at = 0;
    const herr_t done =
        fault.empty() ? H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, &at, visit, this) : 0;
    h5::check(done, "list the contents of '" + path + "'", ExitCode::kDataError);
    --depth;
  }

  static herr_t visit(hid_t group, const char* name, const H5L_info_t* info, void* self) {
    auto& check = *static_cast<PlainCheck*>(self);
    try {
      check.link(group, name, info->type);
    } catch (const Error& error) {  // must not pass through HDF5
      check.fault = error.what();
    }
    return check.fault.empty() ? 0 : 1;
  }

  void link(hid_t group_id, const std::string& name, H5L_type_t type) {
    const std::string whole = prefix + name;
    if (type != H5L_TYPE_HARD) {
      fault = "'" + whole + "' is a link to another place";
      return;
    }
    const Handle<H5Oclose> object(H5Oopen(group_id, name.c_str(), H5P_DEFAULT),
                                  "open '" + whole + "' of '" + path + "'", ExitCode::kDataError);
    const H5I_type_t kind = H5Iget_type(object.get());
    if (kind == H5I_DATASET) {
      const std::string what = fault_of_dataset(object.get(), whole == view);
      if (!what.empty()) fault = "'" + whole + "' " + what;
    } else if (kind == H5I_GROUP) {
      const std::string outer = std::exchange(prefix, whole + "/");
      group(object.get());
      prefix = outer;
    }
  }
};

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

void require_plain(const File& file, const std::string& path, const std::string& view) {
  PlainCheck check{path, view, "", {}, 0};
  check.group(file.get());
  if (check.fault.empty()) return;
  throw Error(ExitCode::kDataError, "'" + path + "' is not a result of bulksim: " + check.fault);
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
