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

/// When finished tiles are made durable: whichever comes first.
struct CommitPolicy {
  std::int64_t bytes = std::int64_t{1} << 30;
  double seconds = 30.0;
};

/// Notes finished tiles in the journal and makes them durable group by group, on a thread of its
/// own: first the tiles, then the record that says so. A lost machine costs one group.
class TileLog {
 public:
  /// `journal` and `files` must outlive the log.
  TileLog(Journal& journal, RunFiles& files, std::int64_t tile_bytes, CommitPolicy policy);
  /// Finishes when nobody has, and stays silent.
  ~TileLog();
  TileLog(const TileLog&) = delete;
  TileLog& operator=(const TileLog&) = delete;
  TileLog(TileLog&&) = delete;
  TileLog& operator=(TileLog&&) = delete;

  /// From any thread; throws what went wrong with an earlier group.
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
  std::jthread thread_;  // last: it uses everything above
};

}  // namespace bulksim
