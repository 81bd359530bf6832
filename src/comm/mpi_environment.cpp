#include "comm/mpi_environment.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "comm/heartbeat.hpp"
#include "comm/mpi_library.hpp"

namespace bulksim {

namespace {

int parse_tasks(const char* text) {
  const std::string_view digits(text);
  int tasks = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), tasks);
  return tasks > 0 ? tasks : Launch::kUnknown;
}

}  // namespace

Launch detect_launch(const std::function<const char*(const char*)>& variable) {
  const bool has_pmix = variable("PMIX_RANK") != nullptr;
  if (const char* tasks = variable("OMPI_COMM_WORLD_SIZE")) {
    return {"mpirun", parse_tasks(tasks), true};
  }
  if (const char* tasks = variable("PMI_SIZE")) return {"a PMI launcher", parse_tasks(tasks), true};
  // sbatch also sets SLURM_NTASKS, but a batch script is not a step
  const char* step_tasks = variable("SLURM_STEP_NUM_TASKS");
  if (step_tasks != nullptr && variable("SLURM_STEP_ID") != nullptr) {
    return {"srun", parse_tasks(step_tasks), has_pmix};
  }
  if (has_pmix) return {"a PMIx launcher", Launch::kUnknown, true};
  return {};
}

MpiEnvironment::MpiEnvironment(const CommunicatorOptions& options) {
  const Launch launch = detect_launch([](const char* name) { return std::getenv(name); });
  if (launch.tasks == 1) {
    world_ = make_self_communicator();
    return;
  }
  mpi::require_built_in();
  if (!launch.has_pmi) {
    throw Error(ExitCode::kConfig, launch.launcher + " starts " + std::to_string(launch.tasks) +
                                       " tasks that cannot find each other: use srun --mpi=pmix, "
                                       "or mpirun inside the job");
  }
  mpi::start();
  started_ = true;
  try {
    join(launch, options);
  } catch (...) {
    mpi::stop();
    throw;
  }
}

void MpiEnvironment::join(const Launch& launch, const CommunicatorOptions& options) {
  mpi_version_ = mpi::library_name();
  world_ = mpi::make_communicator(options);
  if (launch.tasks != Launch::kUnknown && world_->size() == 1) {
    world_.reset();
    throw Error(ExitCode::kConfig,
                launch.launcher + " starts " + std::to_string(launch.tasks) + " tasks, but " +
                    mpi_version_ +
                    ", which this program was built with, sees one: use the mpirun of that MPI, "
                    "or srun --mpi=pmix");
  }
  const mpi::Place place = mpi::find_place();
  node_rank_ = place.node_rank;
  node_size_ = place.node_size;
  if (options.watchdog != nullptr) {
    heartbeat_ = mpi::make_heartbeat(options.deadline_seconds, *options.watchdog);
  }
}

MpiEnvironment::~MpiEnvironment() {
  heartbeat_.reset();
  world_.reset();
  if (started_) mpi::stop();
}

std::unique_ptr<Communicator> MpiEnvironment::make_communicator(
    const CommunicatorOptions& options) const {
  return started_ ? mpi::make_communicator(options) : make_self_communicator();
}

int MpiEnvironment::exit_status(ExitCode code) const {
  return world_->rank() == 0 ? static_cast<int>(code) : 0;
}

void MpiEnvironment::abort(ExitCode code) {
  if (started_) mpi::abort(code);
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}

#if !BULKSIM_HAS_MPI  // set by -DBULKSIM_MPI=AUTO|ON|OFF
namespace mpi {

void require_built_in() {
  throw Error(ExitCode::kConfig,
              "a launcher starts several tasks, but this program was built without MPI: run it "
              "without a launcher, or configure with -DBULKSIM_MPI=ON");
}
void start() {}
void stop() {}
void abort(ExitCode code) {
  std::_Exit(static_cast<int>(code));
}
std::string library_name() {
  return "none";
}
Place find_place() {
  return {};
}
std::unique_ptr<Heartbeat> make_heartbeat(double, Watchdog&) {
  return nullptr;
}
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions&) {
  return make_self_communicator();
}

}  // namespace mpi
#endif

}  // namespace bulksim
