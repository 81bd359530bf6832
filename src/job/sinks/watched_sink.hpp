#pragma once

#include <memory>

#include "bulksim/backend/sink.hpp"
#include "job/config/job_context.hpp"

namespace bulksim {

/// Passes tiles, whole or as pairs, to another sink, supervised by the watchdog; throws Stopped
/// instead of beginning a tile after a stop request.
template <class Stripe>
class WatchedSink final : public Sink<Stripe> {
 public:
  /// `sink` must outlive this object.
  WatchedSink(Sink<Stripe>& sink, JobContext context) : sink_(sink), context_(context) {}

  std::unique_ptr<Writer<Stripe>> make_writer() override;

 private:
  Sink<Stripe>& sink_;
  JobContext context_;
};

}  // namespace bulksim
