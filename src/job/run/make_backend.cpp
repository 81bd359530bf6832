#include "job/run/make_backend.hpp"

#include <functional>
#include <span>

#include "core/files/failpoint.hpp"
#include "job/plan/memory_model.hpp"

namespace bulksim {

namespace {

/// Changes finished values before they are checked, in a build with failpoints.
std::function<void(TileId, std::span<float>)> before_checks() {
  auto spoil = failing_values("tile.values");
  if (!spoil) return nullptr;
  return [spoil = std::move(spoil)](TileId, std::span<float> values) { spoil(values); };
}

}  // namespace

std::unique_ptr<SimilarityBackend> make_backend(const RunSetup& setup) {
  if (setup.resources.device) {
    return make_cuda_backend(cuda_options(setup.plan, setup.resources));
  }
  CpuBackendOptions options = cpu_options(setup.plan, setup.resources, setup.schedule);
  options.before_checks = before_checks();
  return make_cpu_backend(options);
}

PairFilterSpec searched_filter(const RunSetup& setup, bool all_tiles) {
  PairFilterSpec filter = *setup.plan.filter;
  const RowRange all{0, setup.plan.grid.shape().queries};
  const bool is_whole = filter.queries == all && filter.items == all;
  if (filter.keep == Keep::kBest && setup.rows_serve_both_sides() && filter.is_two_sided() &&
      is_whole && all_tiles) {
    filter.mirrored = true;
    filter.partners = filter.partners == Partners::kAll ? Partners::kNotEarlier : Partners::kLater;
  }
  return filter;
}

std::unique_ptr<PairBackend> make_pair_backend(const RunSetup& setup,
                                               const PairFilterSpec& filter) {
  if (setup.resources.device) {
    return make_cuda_pair_backend(cuda_options(setup.plan, setup.resources), filter);
  }
  return make_cpu_pair_backend(cpu_options(setup.plan, setup.resources, setup.schedule), filter);
}

}  // namespace bulksim
