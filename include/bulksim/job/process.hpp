#pragma once

#include "bulksim/core/log.hpp"

namespace bulksim {

/// Prepares the process once, before other threads run and files are opened: memory that is freed
/// goes back to the system, a closed pipe or a file size limit is an error code and not the end,
/// and HDF5 listens to no environment variable and loads no plugin. What was found there is logged.
void prepare_process(Log& log);

}  // namespace bulksim
