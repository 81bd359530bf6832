#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/rows/tile_batch_queue.hpp"

namespace bulksim {

/// The threads of a backend, each with its own worker, which computes batches of tiles. The
/// first failure of any thread ends all.
template <class Worker>
class TileThreads {
 public:
  TileThreads(const CpuBackendOptions& options,
              const std::function<std::unique_ptr<Worker>(int thread)>& make_worker,
              std::int64_t columns_of_a_band = 1)
      : count_(options.threads),
        queue_(options.threads, options.chunks_in_flight, columns_of_a_band) {
    for (int thread = 0; thread < count_; ++thread)
      workers_.push_back(make_worker(thread));
  }

  /// "cpu (AVX3, 2 threads)"
  std::string description(const std::string& instructions) const {
    return "cpu (" + instructions + ", " + std::to_string(count_) +
           (count_ == 1 ? " thread)" : " threads)");
  }

  /// Waits for the submitted chunks and ends the threads: the queries and the sink are no longer
  /// used.
  void stop() {
    drain();
    threads_.clear();
  }
  /// Starts the threads for new queries: each calls `begin` with its worker first, and `batch_done`
  /// whenever the worker has finished a batch of tiles.
  template <class Sink, class Begin, class BatchDone>
  void start(Sink& sink, const Begin& begin, const BatchDone& batch_done) {
    for (int thread = 0; thread < count_; ++thread) {
      threads_.emplace_back([this, &sink, begin, batch_done, thread](const std::stop_token& stop) {
        try {
          begin(*workers_[thread]);
          work(thread, sink, batch_done, stop);
        } catch (...) {
          queue_.fail(std::current_exception());
        }
      });
    }
  }

  void submit(ItemChunk chunk) {
    stopping_on_failure([&] { queue_.submit(std::move(chunk)); });
  }
  void drain() {
    stopping_on_failure([&] { queue_.drain(); });
  }
  std::int64_t recomputed() const { return recomputed_; }

 private:
  /// Ends the threads before a failure is passed on, because the caller may then drop the queries
  /// and the sink.
  template <class Step>
  void stopping_on_failure(const Step& step) {
    try {
      step();
    } catch (...) {
      threads_.clear();
      throw;
    }
  }

  template <class Sink, class BatchDone>
  void work(int thread, Sink& sink, const BatchDone& batch_done, const std::stop_token& stop) {
    Worker& worker = *workers_[thread];
    const auto writer = sink.make_writer();
    while (auto batch = queue_.take(stop, thread)) {
      const auto is_over = [&] { return stop.stop_requested() || queue_.failed(); };
      recomputed_ += worker.compute(*batch, *writer, is_over);
      if (is_over()) return;
      batch_done(worker);
      queue_.done(*std::move(batch));
    }
  }

  int count_;
  std::vector<std::unique_ptr<Worker>> workers_;
  TileBatchQueue queue_;
  std::atomic<std::int64_t> recomputed_ = 0;
  std::vector<std::jthread> threads_;  // last: the threads end before anything they use
};

}  // namespace bulksim
