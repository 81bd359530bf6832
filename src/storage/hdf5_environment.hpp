#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bulksim {

/// Shields HDF5 from the environment: no plugins, and no variable HDF5_* (drivers, prefixes of
/// sources, plugin paths) survives. Returns the names and values found, to be logged once. Called
/// at the start of a process, before other threads and before any file is opened.
std::vector<std::pair<std::string, std::string>> shield_hdf5_from_environment();

}  // namespace bulksim
