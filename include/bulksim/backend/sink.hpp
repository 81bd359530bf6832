#pragma once

#include <memory>

#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Receives the stripes of a tile (`Stripe::Work`: of the unit of work of that kind of stripes),
/// one after the other. Each thread of a backend has its own writer.
template <class Stripe>
class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  virtual ~Writer() = default;

  /// Begins a tile, or restarts it after its checks have failed.
  virtual void begin(typename Stripe::Work work) = 0;
  /// The memory of the stripe is valid only during the call.
  virtual void write(const Stripe& stripe) = 0;
  /// Every stripe has been written and the work has passed all checks.
  virtual void finish() = 0;
};

/// Receives the tiles of a run.
template <class Stripe>
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  /// Called once per thread of the backend, possibly concurrently.
  virtual std::unique_ptr<Writer<Stripe>> make_writer() = 0;
};

}  // namespace bulksim
