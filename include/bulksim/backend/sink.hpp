#pragma once

#include <memory>

#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Takes the stripes of one tile after the other. Each thread of a backend has one of its own.
template <class Stripe>
class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  virtual ~Writer() = default;

  /// Begins a tile, or begins it again when its checks have failed.
  virtual void begin(TileId tile) = 0;
  /// The memory of the stripe is the backend's after the call.
  virtual void write(const Stripe& stripe) = 0;
  /// Every stripe was written and every check of the tile has held.
  virtual void finish() = 0;
};

/// Where the tiles of a run go.
template <class Stripe>
class Sink {
 public:
  Sink() = default;
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;
  virtual ~Sink() = default;

  /// Called once per thread of the backend, possibly at the same time.
  virtual std::unique_ptr<Writer<Stripe>> make_writer() = 0;
};

}  // namespace bulksim
