#include "job/compute_job.hpp"

#include <memory>
#include <string>

#include "core/files/unsynced_calls.hpp"
#include "job/run/resume.hpp"
#include "job/run/runs.hpp"

namespace bulksim {

std::string run_compute_seeded(const JobConfig& config, const SeedStaging& seed,
                               JobContext context) {
  std::unique_ptr<FileCalls> unsynced;
  if (config.durability == Durability::kOff) unsynced = without_sync(context.calls);
  const JobContext of_run{context.mpi,      unsynced ? *unsynced : context.calls,
                          context.log,      context.stop,
                          context.watchdog, context.failures};
  return config.filter ? run_pairs(config, seed, of_run) : run_matrix(config, seed, of_run);
}

std::string run_compute(const JobConfig& config, JobContext context) {
  return run_compute_seeded(config, nullptr, context);
}

}  // namespace bulksim
