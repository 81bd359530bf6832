#include "hdf5/require_plain.hpp"

#include <utility>

namespace bulksim::h5 {

namespace {

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

void require_plain(const File& file, const std::string& path, const std::string& view) {
  PlainCheck check{path, view, "", {}, 0};
  check.group(file.get());
  if (check.fault.empty()) return;
  throw Error(ExitCode::kDataError, "'" + path + "' is not a result of bulksim: " + check.fault);
}

}  // namespace bulksim::h5
