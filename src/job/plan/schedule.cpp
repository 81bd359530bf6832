#include "job/plan/schedule.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "job/input/row_reader.hpp"
#include "job/plan/memory_model.hpp"

namespace bulksim {

namespace {

constexpr double kTransferSeconds = 0.1;  // to copy the tiles of a chunk from the device
constexpr double kShareOfDevice = 0.7;    // of its free memory, as in the backend

Error too_little_memory(const Schedule& schedule, std::int64_t limit) {
  std::string table;
  for (const auto& [purpose, bytes] : schedule.memory) {
    table += (table.empty() ? "" : " + ") + purpose + " " + bytes_text(bytes);
  }
  return Error(ExitCode::kMemory,
               "a rank needs " + bytes_text(schedule.memory_peak()) + " (" + table +
                   ") and may use " + bytes_text(limit) +
                   "; raise --memory, lower --threads or use fewer ranks per node");
}

/// Queries, at 8 bytes per entry, and two item blocks in half of the L2 cache.
bool fits_cache(const Schedule& schedule, const Plan& plan, const Surveys& surveys,
                const CudaDevice& device) {
  const std::int64_t batch_nnz = extent_of(schedule, plan, surveys).batch_nnz;
  const std::int64_t labels = std::min(batch_nnz, plan.columns);
  const std::int64_t block =
      cuda::block_read_bytes(fullest(surveys.items, cuda::kBlockItems), labels);
  return 8 * batch_nnz + 2 * block <= device.l2_bytes / 2;
}

Error too_little_device_memory(const CudaDevice& device, const cuda::DeviceMemory& memory) {
  return Error(ExitCode::kMemory, "the device " + device.description + " has " +
                                      bytes_text(device.free_bytes) +
                                      " free, of which 70 % may be taken, and one column of tiles "
                                      "needs " +
                                      bytes_text(memory.total()) + " = " + memory.text() +
                                      " (choose a smaller --tile, or a device with more memory)");
}

void fit_device_memory(const Plan& plan, const Surveys& surveys, const CudaDevice& device,
                       Schedule& schedule) {
  const auto usable =
      static_cast<std::int64_t>(kShareOfDevice * static_cast<double>(device.free_bytes));
  while (device_memory(schedule, plan, surveys).total() > usable) {
    if (schedule.chunk_columns > 1) {
      schedule.chunk_columns /= 2;
      schedule.chunk_limit = "the memory of the device";
    } else if (schedule.query_batch_rows > 1) {
      schedule.query_batch_rows = divide_up(schedule.query_batch_rows, 2);
      schedule.query_limit = "the memory of the device";
    } else {
      throw too_little_device_memory(device, device_memory(schedule, plan, surveys));
    }
  }
}

/// The first choice on a device, before the memory of the host is checked.
void fit_device(const Plan& plan, const Surveys& surveys, const RankResources& resources,
                Schedule& schedule) {
  const CudaDevice& device = *resources.device;
  while (schedule.query_batch_rows > 1 && !fits_cache(schedule, plan, surveys, device)) {
    schedule.query_batch_rows = divide_up(schedule.query_batch_rows, 2);
    schedule.query_limit = "half of the L2 cache of the device";
  }
  const TileShape tile = plan.grid.tile();
  schedule.chunk_columns =
      std::max<std::int64_t>(1, cuda_options(plan, resources).slice_items / tile.items);
  schedule.chunk_limit = "items that are inverted at once";
  const auto column_bytes = static_cast<double>(4 * schedule.query_batch_rows * tile.cells());
  const double columns = kTransferSeconds * device.download_rate / column_bytes;
  if (!plan.filter && columns < static_cast<double>(schedule.chunk_columns)) {
    schedule.chunk_columns = std::max<std::int64_t>(1, static_cast<std::int64_t>(columns));
    schedule.chunk_limit = "0.1 s of copies from the device";
  }
  fit_device_memory(plan, surveys, device, schedule);
}

/// The first choice on the CPU: short chunks, so that the threads begin early and end together, and
/// two per thread: one being computed and one waiting.
void fit_processors(const Plan& plan, const RankResources& resources, Schedule& schedule) {
  schedule.chunk_columns = divide_up(kRowBlockRows, plan.grid.tile().items);
  schedule.chunk_limit = "a column of tiles, or 1,024 items";
  schedule.chunks_in_flight = 2 * std::int64_t{resources.threads};
}

}  // namespace

std::int64_t Schedule::memory_peak() const {
  std::int64_t sum = 0;
  for (const auto& [purpose, bytes] : memory)
    sum += bytes;
  return std::max(sum, peak_before);
}

Schedule make_schedule(const JobConfig& config, const Plan& plan, const Surveys& surveys,
                       const RankResources& resources) {
  Schedule schedule;
  schedule.peak_before = resources.peak;
  if (plan.grid.count() == 0) return schedule;
  const std::int64_t columns = plan.grid.columns();
  schedule.query_batch_rows = plan.grid.rows();
  schedule.query_limit = "the number of queries";
  if (resources.device) {
    fit_device(plan, surveys, resources, schedule);
  } else {
    fit_processors(plan, resources, schedule);
  }
  if (config.chunk_rows) {
    schedule.chunk_columns = divide_up(*config.chunk_rows, plan.grid.tile().items);
    schedule.chunk_limit = "--chunk";
    schedule.chunks_in_flight = 2;
  }
  if (schedule.chunk_columns >= columns) {
    schedule.chunk_columns = columns;
    schedule.chunk_limit = "the number of items";
  }
  for (;;) {
    schedule.memory = memory_table(plan, surveys, resources, schedule);
    if (schedule.memory_peak() <= resources.memory) return schedule;
    if (schedule.chunks_in_flight > 2) {
      schedule.chunks_in_flight = divide_up(schedule.chunks_in_flight, 2);
    } else if (schedule.chunk_columns > 1 && !config.chunk_rows) {
      schedule.chunk_columns /= 2;
      schedule.chunk_limit = "memory";
    } else if (schedule.query_batch_rows > 1) {
      schedule.query_batch_rows = divide_up(schedule.query_batch_rows, 2);
      schedule.query_limit = "memory";
    } else {
      throw too_little_memory(schedule, resources.memory);
    }
  }
}

}  // namespace bulksim
