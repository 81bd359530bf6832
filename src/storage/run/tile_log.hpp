#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>

#include "bulksim/core/checksum.hpp"
#include "storage/parts/run_files.hpp"
#include "storage/run/journal.hpp"

namespace bulksim {

/// When finished tiles are made durable: at whichever limit is reached first.
struct CommitPolicy {
  std::int64_t bytes = std::int64_t{1} << 30;
  double seconds = 30.0;
};

/// Records finished tiles in the journal and makes them durable group by group, on its own thread:
/// first the tiles, then the record that says so. A machine crash loses at most one group.
class TileLog {
 public:
  /// `journal` and `files` must outlive the log.
  TileLog(Journal& journal, RunFiles& files, std::int64_t tile_bytes, CommitPolicy policy);
  /// Calls `finish` if it was not called; ignores failures.
  ~TileLog();
  TileLog(const TileLog&) = delete;
  TileLog& operator=(const TileLog&) = delete;
  TileLog(TileLog&&) = delete;
  TileLog& operator=(TileLog&&) = delete;

  /// Thread-safe; throws the error of an earlier group.
  void tile_done(std::int64_t tile, const Digest& digest);
  /// Makes the last group durable.
  void finish();

 private:
  void watch(const std::stop_token& stop);
  void commit();

  Journal& journal_;
  RunFiles& files_;
  const std::int64_t tile_bytes_;
  const CommitPolicy policy_;
  std::mutex mutex_;
  std::condition_variable_any due_;
  std::int64_t waiting_bytes_ = 0;
  bool finished_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;  // last, because it uses all other members
};

}  // namespace bulksim
