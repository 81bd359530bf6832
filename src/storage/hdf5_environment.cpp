#include "storage/hdf5_environment.hpp"

#include <cstdlib>
#include <string_view>

#include <hdf5.h>
#include <unistd.h>

#include "hdf5/handle.hpp"

namespace bulksim {

std::vector<std::pair<std::string, std::string>> shield_hdf5_from_environment() {
  std::vector<std::pair<std::string, std::string>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (text.substr(0, 5) == "HDF5_" && equals != std::string_view::npos) {
      found.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  for (const auto& [name, value] : found)
    ::unsetenv(name.c_str());
  // HDF5 crashes at exit when it closes a file again that it could not close before
  H5dont_atexit();
  h5::check(H5PLset_loading_state(0), "turn HDF5 plugins off");
  return found;
}

}  // namespace bulksim
