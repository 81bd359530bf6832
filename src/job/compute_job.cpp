#include "job/compute_job.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include "bulksim/core/error.hpp"
#include "comm/collective_error.hpp"
#include "core/files/process_folder.hpp"
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

namespace {

void copy_to_stream(FileCalls& calls, const std::string& path, std::ostream& out) {
  const File file = File::open(calls, path, O_RDONLY);
  std::string block;
  for (std::int64_t at = 0; at < file.size(); at += std::ssize(block)) {
    block.resize(std::min(file.size() - at, std::int64_t{1} << 20));
    file.read(std::as_writable_bytes(std::span(block)), at);
    out << block;
  }
  out.flush();
  if (!out) throw Error(ExitCode::kIoError, "cannot write to the standard output");
}

}  // namespace

std::string run_compute(const JobConfig& config, JobContext context) {
  return run_compute_seeded(config, nullptr, context);
}

void compute_to_stream(const JobConfig& config, JobContext context, std::ostream& out) {
  run_collectively(context.mpi.world(), [&] {
    if (context.mpi.world().size() == 1) return;
    throw Error(ExitCode::kUsage,
                "-o - works with one process only: give a file that all ranks can write to");
  });
  const ProcessFolder folder(context.calls, std::filesystem::temp_directory_path(), context.log);
  make_directories(context.calls, folder.path(), 0700);
  JobConfig to_file = config;
  to_file.output = inside(folder.path(), "pairs.tsv");
  copy_to_stream(context.calls, run_compute(to_file, context), out);
}

}  // namespace bulksim
