#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/stream/candidate_rows.hpp"
#include "backend/cuda/stream/recompute_tile.hpp"
#include "backend/cuda/stream/tile_feeder.hpp"
#include "backend/cuda/stream/tile_ring.hpp"
#include "backend/rows/pair_filter.hpp"
#include "backend/rows/tile_batch_queue.hpp"
#include "core/bounded_queue.hpp"
#include "cuda/device.hpp"

namespace bulksim::cuda {

/// The work on one query batch: one thread feeds the device, others check the downloaded tiles and
/// write them. The first failure of any thread ends all.
class Pipeline {
 public:
  /// Whole tiles go to `sink`.
  Pipeline(const CudaBackendOptions& options, const Device& device, const QueryBatch& batch,
           TileSink& sink)
      : Pipeline(options, device, batch, sink, nullptr) {}
  /// Only the candidates of tiles go to `filter`, or whole tiles if that is less.
  Pipeline(const CudaBackendOptions& options, const Device& device, const QueryBatch& batch,
           PairFilter& filter)
      : Pipeline(options, device, batch, filter, &filter) {}
  ~Pipeline() { halt(); }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  void submit(ItemChunk chunk);
  void drain();
  std::int64_t recomputed() const { return recomputed_; }

 private:
  Pipeline(const CudaBackendOptions& options, const Device& device, const QueryBatch& batch,
           TileSink& sink, PairFilter* filter);

  template <class Body>
  void guarded(Body body);
  template <class Step>
  void halting_on_failure(const Step& step);
  void fail(std::exception_ptr failure);
  void halt();
  void stop();
  void feed(const std::stop_token& stop);
  void write_tiles();
  void write_pairs();
  template <class Take>
  void for_each_tile(const Take& take);
  void write_whole(TileWriter& writer, TileId tile, const PinnedTile& pinned) const;
  void write_candidates(PairFilter::Writer& writer, TileId tile, const CandidateRows& rows) const;
  void verify(const ItemChunk& chunk, TileId tile, PinnedTile& pinned);
  void compute_again(const ItemChunk& chunk, TileId tile, PinnedTile& pinned);
  bool holds(const ItemChunk& chunk, TileId tile, const PinnedTile& pinned) const;
  bool partial_holds(const ItemChunk& chunk, TileId tile, std::int64_t row, std::int64_t item,
                     const PinnedTile& pinned) const;
  bool candidates_hold(const ItemChunk& chunk, TileId tile, const PinnedTile& pinned,
                       const CandidateRows& rows) const;
  float exact_score_of(const ItemChunk& chunk, TileId tile, std::int64_t row,
                       std::int64_t item) const;

  static constexpr std::int64_t kChunksInFlight = 2;

  const CudaBackendOptions& options_;
  const Device& device_;
  const QueryBatch& batch_;
  TileSink& sink_;
  PairFilter* filter_;
  TileBatchQueue chunks_{1, kChunksInFlight};
  TileRing ring_;
  BoundedQueue<Delivery> deliveries_;
  TileFeeder feeder_;
  RecomputeTile recompute_;
  std::atomic<bool> stopped_ = false;
  std::atomic<std::int64_t> recomputed_ = 0;
  std::vector<std::jthread> threads_;  // last: the threads end before anything they use
};

}  // namespace bulksim::cuda
