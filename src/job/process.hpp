#pragma once

#include "core/run/log.hpp"

namespace bulksim {

/// Prepares the process once, before other threads run and files are opened: freed memory is
/// returned to the system, a closed pipe or a file size limit gives an error code instead of a
/// signal, and HDF5 ignores environment variables (which are logged) and loads no plugins. A
/// process of a launcher dies with it, and core dumps are disabled.
void prepare_process(Log& log);

/// Lets the limits of the system decide about core dumps.
void allow_core_dumps();

}  // namespace bulksim
