#include "storage/run/tile_log.hpp"

#include <chrono>

#include "bulksim/core/error.hpp"

namespace bulksim {

TileLog::TileLog(Journal& journal, RunFiles& files, std::int64_t tile_bytes, CommitPolicy policy)
    : journal_(journal),
      files_(files),
      tile_bytes_(tile_bytes),
      policy_(policy),
      thread_([this](const std::stop_token& stop) { watch(stop); }) {}

TileLog::~TileLog() {
  if (finished_) return;
  try {
    finish();  // a failed or stopped run keeps its tiles, or records that they may be lost
  } catch (const Error&) {
    // the run has failed already, and a resumed run checks the unconfirmed tiles
  }
}

void TileLog::tile_done(std::int64_t tile, const Digest& digest) {
  journal_.tile_done(tile, digest);
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  waiting_bytes_ += tile_bytes_;
  if (waiting_bytes_ >= policy_.bytes) due_.notify_all();
}

void TileLog::finish() {
  finished_ = true;
  thread_.request_stop();
  thread_.join();
  if (failure_) std::rethrow_exception(failure_);
  if (waiting_bytes_ > 0) commit();
}

void TileLog::watch(const std::stop_token& stop) {
  const std::chrono::duration<double> interval(policy_.seconds);
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    due_.wait_for(lock, stop, interval, [this] { return waiting_bytes_ >= policy_.bytes; });
    if (stop.stop_requested() || waiting_bytes_ == 0) continue;
    waiting_bytes_ = 0;
    lock.unlock();
    std::exception_ptr failure;
    try {
      commit();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    if (failure_) return;
  }
}

void TileLog::commit() {
  // tiles in the journal at this point were written before, so the sync covers them
  const std::int64_t records = journal_.records();
  try {
    files_.sync();
  } catch (const Error&) {
    try {
      journal_.sync_failed();
    } catch (const Error&) {
      // the first failure is more informative than a second one of the same disk
    }
    throw;
  }
  journal_.synced(records);
}

}  // namespace bulksim
