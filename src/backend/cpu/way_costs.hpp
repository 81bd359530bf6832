#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bulksim/backend/pair_backend.hpp"

namespace bulksim {

/// What a way costs, in seconds.
struct WayCost {
  double per_item = 0.0;  ///< to invert the items, once
  double per_cell = 0.0;
};

/// Chooses the cheapest way for the cells of a band: by what a sample of queries cost, and by what
/// its cells have cost so far.
class WayCosts {
 public:
  /// Excludes a way that does not find what is wanted.
  void exclude(PairWay way) { at(way).excluded = true; }
  bool is_excluded(PairWay way) const { return at(way).excluded; }
  /// Forgets what is inverted, and what its cells have cost; keeps the estimates.
  void begin_band();
  /// Whether the estimates are so far apart that a new sample would not change the choice.
  bool is_decided() const;
  void estimate(PairWay way, WayCost cost) {
    at(way).estimate = cost;
    at(way).is_known = true;
  }
  /// The way with the least expected cost for this many cells of as many items.
  PairWay choose(std::int64_t cells, std::int64_t items) const;
  /// What these cells have cost; their items are inverted now.
  void add(PairWay way, std::int64_t cells, double seconds);

 private:
  struct State {
    bool excluded = false;
    bool is_known = false;
    bool is_inverted = false;
    WayCost estimate;
    double cells = 0.0;  ///< of this band
    double seconds = 0.0;
  };

  State& at(PairWay way) { return states_[static_cast<std::size_t>(way)]; }
  const State& at(PairWay way) const { return states_[static_cast<std::size_t>(way)]; }
  static double expected(const State& state, std::int64_t cells, std::int64_t items);

  std::array<State, kPairWays.size()> states_;
};

}  // namespace bulksim
