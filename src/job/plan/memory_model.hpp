#pragma once

#include <cstdint>

#include "backend/cuda/cuda_backend.hpp"
#include "backend/cuda/device_memory.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "job/input/survey.hpp"
#include "job/plan/plan.hpp"
#include "job/plan/resources.hpp"
#include "job/plan/schedule.hpp"

namespace bulksim {

// The memory of a run, in bytes: every byte count of a plan is computed here.

/// The options of the backend of a rank.
CpuBackendOptions cpu_options(const Plan& plan, const RankResources& resources,
                              const Schedule& schedule);
CudaBackendOptions cuda_options(const Plan& plan, const RankResources& resources);

/// The largest batch of queries and chunk of items of a schedule.
struct Extent {
  std::int64_t batch_rows;
  std::int64_t batch_nnz;
  std::int64_t chunk_rows;
  std::int64_t chunk_nnz;
};

Extent extent_of(const Schedule& schedule, const Plan& plan, const Surveys& surveys);

/// Nonzeros of the fullest run of `length` rows that begins at a multiple of it.
std::int64_t fullest(const InputSurvey& survey, std::int64_t length);

/// The memory of a rank that executes this schedule.
MemoryTable memory_table(const Plan& plan, const Surveys& surveys, const RankResources& resources,
                         const Schedule& schedule);

/// Device memory with the smallest groups, which the backend uses when memory is short.
cuda::DeviceMemory device_memory(const Schedule& schedule, const Plan& plan,
                                 const Surveys& surveys);

/// Memory for block sums: two integers per query row, fine blocks as they are reduced and written,
/// and partials of a tile on each thread.
std::int64_t block_sum_bytes(const Plan& plan, int threads);

}  // namespace bulksim
