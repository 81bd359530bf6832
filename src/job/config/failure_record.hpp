#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "core/run/watchdog.hpp"

namespace bulksim {

/// Records why a rank has failed: one JSON file per attempt and rank, such as a0003-r0007.json,
/// with cause, exit code, errno, rank, host, phase, work, tile and time. The file that was begun
/// first has root_cause = true.
class FailureRecord {
 public:
  explicit FailureRecord(FileCalls& calls) : calls_(calls) {}

  void set_rank(int rank) { rank_ = rank; }
  /// Failures of this attempt go to `folder` from now on. Once the folder is gone, the run is being
  /// published and nothing is written, because it would become part of the result.
  void open(const std::string& folder, std::int64_t attempt);
  /// Writes the first failure of this process if a folder is open. Never throws.
  void write(ExitCode code, const std::string& sentence, int error_number,
             const Location& where) noexcept;

 private:
  FileCalls& calls_;
  std::atomic<int> rank_ = 0;
  std::mutex mutex_;
  std::string folder_;
  std::int64_t attempt_ = 0;
  bool written_ = false;
};

}  // namespace bulksim
