#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "job/config/job_context.hpp"
#include "job/run/prepare_run.hpp"
#include "job/sinks/nan_rows.hpp"
#include "job/sinks/watched_sink.hpp"

namespace bulksim {

/// What each tile passes on its way to an output: the watchdog, and the policy for empty rows. It
/// must outlive the backend, whose threads use it.
class RunSink {
 public:
  /// `output` must outlive the sink.
  RunSink(const Plan& plan, TileSink& output, JobContext context);

  TileSink& entrance();
  /// Null where empty rows have cosine 0.
  NanForZeroRows* nan() { return nan_ ? &*nan_ : nullptr; }

 private:
  WatchedSink<TileStripe> watched_;
  std::optional<NanForZeroRows> nan_;
};

/// Reads, computes and checks these tiles (ascending numbers) and hands them to `sink`, which must
/// outlive the backend. Reading the next chunk, computing others and writing finished stripes
/// overlap. Throws Stopped at a tile border when a stop was requested; tiles in progress may still
/// be finished until the backend is destroyed.
void stream_tiles(const RunSetup& setup, const std::vector<std::int64_t>& tiles,
                  SimilarityBackend& backend, RunSink& sink);

/// The same for the requested pairs. The backend keeps its queries from one call of run() to the
/// next where the tiles are of the same batch, or the rows serve both sides.
class PairStream {
 public:
  /// All must outlive the stream, and `sink` the backend.
  PairStream(const RunSetup& setup, PairBackend& backend, PairSink& sink);
  ~PairStream();

  void run(const std::vector<std::int64_t>& tiles);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// The tiles of a whole run that each rank computes.
std::vector<std::vector<std::int64_t>> share_all_tiles(const RunSetup& setup, int ranks);

}  // namespace bulksim
