#pragma once

#include <memory>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "job/config/job_context.hpp"

namespace bulksim {

/// Passes tiles on to another sink, under the eye of the watchdog; throws Stopped instead of
/// beginning one after a request to stop.
class GuardedSink final : public TileSink {
 public:
  /// `sink` must outlive this one.
  GuardedSink(TileSink& sink, JobContext context) : sink_(sink), context_(context) {}

  std::unique_ptr<TileWriter> make_writer() override;

 private:
  TileSink& sink_;
  JobContext context_;
};

/// The same for pairs.
class GuardedPairSink final : public PairSink {
 public:
  /// `sink` must outlive this one.
  GuardedPairSink(PairSink& sink, JobContext context) : sink_(sink), context_(context) {}

  std::unique_ptr<PairWriter> make_writer() override;

 private:
  PairSink& sink_;
  JobContext context_;
};

}  // namespace bulksim
