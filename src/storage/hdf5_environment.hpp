#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bulksim {

/// Shields HDF5 from the environment: turns plugins off and removes all variables HDF5_* (drivers,
/// source prefixes, plugin paths). Returns the removed names and values, for the log. Must be
/// called at the start of a process, before other threads start and before any file is opened.
std::vector<std::pair<std::string, std::string>> shield_hdf5_from_environment();

}  // namespace bulksim
