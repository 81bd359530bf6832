#pragma once

#include <cstdint>
#include <optional>

#include "backend/cuda/cuda_backend.hpp"
#include "comm/communicator.hpp"

namespace bulksim {

/// The resources of the host that a rank may use.
struct RankResources {
  int threads = 1;
  int cores = 1;            ///< cores that the affinity mask and the cgroup quota leave
  std::int64_t memory = 0;  ///< bytes that this rank may use
  std::int64_t held = 0;    ///< bytes of memory in use already
  std::int64_t peak = 0;    ///< peak bytes of memory so far
  std::optional<CudaDevice> device = std::nullopt;  ///< none: it computes on its cores
};

/// Without `threads`, the cores of the affinity mask or the cgroup quota, shared by the ranks of
/// the same host and mask; without `memory`, 70 % of the smaller of the available memory and the
/// cgroup limit, shared by the ranks of the host. A collective.
RankResources survey_resources(std::optional<int> threads, std::optional<std::int64_t> memory,
                               Communicator& comm);

}  // namespace bulksim
