#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "storage/run/lease.hpp"

namespace bulksim {

/// The state of an output, read from its files alone, without MPI, on any host that sees them. It
/// may be up to 30 seconds old.
struct OutputStatus {
  std::string phase;    ///< "idle", "unfinished", "compute", "publish" ..
  std::string current;  ///< version that is published, or the file; may be empty
  std::string plan;     ///< of the unfinished work, 8 hex digits; may be empty
  int attempt = 0;
  std::int64_t tiles = 0;  ///< of the unfinished work
  std::int64_t tiles_done = 0;
  double tiles_per_s = 0.0;  ///< of this attempt
  std::optional<double> seconds_left;
  std::optional<LeaseHolder> holder;
  std::string holder_state;  ///< "alive", "dead" or "unknown"
  std::string last_error;
  std::optional<int> last_error_code;

  /// The code that a job script should act on: 0 published and nothing unfinished, 73 a run is in
  /// progress, the code of the last error, 75 unfinished without an error, 66 nothing there.
  ExitCode code() const;
  std::string to_text() const;
  std::string to_json() const;
};

/// `now` is in seconds since 1970, by the clock of the file system.
OutputStatus read_status(FileCalls& calls, const std::string& output, std::int64_t now);

}  // namespace bulksim
