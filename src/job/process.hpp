#pragma once

#include "core/run/log.hpp"

namespace bulksim {

/// Prepares the process once, before other threads run and files are opened: memory that is freed
/// goes back to the system, a closed pipe or a file size limit is an error code and not the end,
/// and HDF5 listens to no environment variable and loads no plugin. What was found there is logged.
/// A process of a launcher dies with it, and nothing leaves a core dump.
void prepare_process(Log& log);

/// Lets the limits of the system decide about core dumps.
void allow_core_dumps();

}  // namespace bulksim
