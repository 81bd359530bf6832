#pragma once

#include <memory>

#include "bulksim/backend/sink.hpp"
#include "job/config/job_context.hpp"

namespace bulksim {

/// Passes tiles, whole or as pairs, on to another sink, under the eye of the watchdog; throws
/// Stopped instead of beginning one after a request to stop.
template <class Stripe>
class WatchedSink final : public Sink<Stripe> {
 public:
  /// `sink` must outlive this one.
  WatchedSink(Sink<Stripe>& sink, JobContext context) : sink_(sink), context_(context) {}

  std::unique_ptr<Writer<Stripe>> make_writer() override;

 private:
  Sink<Stripe>& sink_;
  JobContext context_;
};

}  // namespace bulksim
