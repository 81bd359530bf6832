#pragma once

#include <string>

#include "core/run/watchdog.hpp"

namespace bulksim {

/// Seconds after which a run of at most `hours` stops itself: early enough to finish the tiles in
/// progress.
double stop_after(double hours);

/// Reads "init=180,read=300,tile=120,write=300,collective=120", any of them, or one number for all;
/// throws Error (64) for anything else.
Deadlines parse_deadlines(const std::string& text);

}  // namespace bulksim
