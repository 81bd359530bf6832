#include "backend/cpu/way_costs.hpp"

#include <algorithm>
#include <limits>

namespace bulksim {

namespace {

constexpr double kEnoughSeconds = 5e-3;  // of measured cells to replace an estimate
constexpr double kFarApart = 4.0;

}  // namespace

void WayCosts::begin_band() {
  for (State& state : states_) {
    if (state.seconds > kEnoughSeconds) state.estimate.per_cell = state.seconds / state.cells;
    state.is_inverted = false;
    state.cells = 0.0;
    state.seconds = 0.0;
  }
}

bool WayCosts::is_decided() const {
  double least = std::numeric_limits<double>::infinity();
  double second = least;
  for (const State& state : states_) {
    if (state.excluded) continue;
    if (!state.is_known) return false;
    const double cost = state.estimate.per_cell;
    second = std::min(second, std::max(least, cost));
    least = std::min(least, cost);
  }
  return second > kFarApart * least;
}

double WayCosts::expected(const State& state, std::int64_t cells, std::int64_t items) {
  const double per_cell =
      state.seconds > kEnoughSeconds ? state.seconds / state.cells : state.estimate.per_cell;
  const double inversion = state.is_inverted ? 0.0 : state.estimate.per_item;
  return per_cell * static_cast<double>(cells) + inversion * static_cast<double>(items);
}

PairWay WayCosts::choose(std::int64_t cells, std::int64_t items) const {
  PairWay best = PairWay::kFilter;
  double least = std::numeric_limits<double>::infinity();
  for (const PairWay way : kPairWays) {
    if (at(way).excluded) continue;
    const double cost = expected(at(way), cells, items);
    if (cost < least) {
      least = cost;
      best = way;
    }
  }
  return best;
}

void WayCosts::add(PairWay way, std::int64_t cells, double seconds) {
  State& state = at(way);
  state.is_inverted = true;
  state.cells += static_cast<double>(cells);
  state.seconds += seconds;
}

}  // namespace bulksim
