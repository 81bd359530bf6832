#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "job/config/job_config.hpp"
#include "job/input/survey.hpp"
#include "job/plan/plan.hpp"
#include "job/plan/resources.hpp"

namespace bulksim {

/// Bytes of memory, by what they are for.
using MemoryTable = std::vector<std::pair<std::string, std::int64_t>>;

/// How a run executes its plan: nothing here affects the bytes of the result.
struct Schedule {
  std::int64_t chunk_columns = 1;     ///< columns of tiles in a chunk
  std::string chunk_limit;            ///< what limits the chunk
  std::int64_t chunks_in_flight = 2;  ///< in the backend; one more is being read
  std::int64_t query_batch_rows = 1;  ///< rows of tiles whose queries are held at once
  std::string query_limit;            ///< what limits the batch
  MemoryTable memory;                 ///< expected memory of the run
  std::int64_t peak_before = 0;       ///< peak bytes of the survey

  /// Columns of tiles computed at once; as many wait.
  std::int64_t columns_at_work() const { return chunk_columns * chunks_in_flight / 2; }
  /// Expected peak of the process, in bytes.
  std::int64_t memory_peak() const;
};

/// Chooses chunk and query batch so that the expected peak stays within `resources.memory`; throws
/// Error (71) with the table when even the smallest choice does not.
///
/// On a device there are three more limits: queries and two item blocks fill at most half of its L2
/// cache, the tiles of a chunk are copied in at most 0.1 s, and everything takes at most 0.7 of its
/// free memory.
Schedule make_schedule(const JobConfig& config, const Plan& plan, const Surveys& surveys,
                       const RankResources& resources);

}  // namespace bulksim
