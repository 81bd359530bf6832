#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bulksim/core/error.hpp"
#include "comm/communicator.hpp"

namespace bulksim {

namespace mpi {
class Heartbeat;
}

/// The launcher of this process, detected from its environment variables.
struct Launch {
  static constexpr int kUnknown = 0;

  std::string launcher = "none";  ///< "mpirun", "srun", "a PMI launcher", "a PMIx launcher"
  int tasks = 1;                  ///< number of processes according to the launcher, or kUnknown
  bool has_pmi = false;           ///< the launcher offers a service through which ranks connect

  bool operator==(const Launch&) const = default;
};

/// `variable` is getenv. A Slurm batch script is not a task; only the steps inside it are.
Launch detect_launch(const std::function<const char*(const char*)>& variable);

/// Starts and ends MPI, once per process. MPI is started only under a launcher with several tasks:
/// a process started without a launcher is a single rank and does not need MPI.
///
/// Throws Error (78) when the launcher starts several tasks but MPI sees one (the launcher of
/// another MPI, or no PMIx), or when the program was built without MPI. With a watchdog in the
/// options, ranks send each other heartbeats.
class MpiEnvironment {
 public:
  explicit MpiEnvironment(const CommunicatorOptions& options = {});
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;

  Communicator& world() { return *world_; }
  /// Another communicator of all ranks. Collective.
  std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options) const;
  int node_rank() const { return node_rank_; }  ///< rank among the ranks of this host
  int node_size() const { return node_size_; }  ///< ranks on this host
  /// Name and version, as in "Open MPI v4.1.4"; "none" when MPI was not started.
  const std::string& mpi_version() const { return mpi_version_; }

  /// Exit status for main after all ranks have ended in an orderly way: the code on rank 0, and 0
  /// on the others, since a launcher kills the job when any rank returns another status.
  int exit_status(ExitCode code) const;
  /// Ends all ranks immediately with this code, even those waiting in a collective.
  [[noreturn]] void abort(ExitCode code);

 private:
  void join(const Launch& launch, const CommunicatorOptions& options);

  bool started_ = false;
  int node_rank_ = 0;
  int node_size_ = 1;
  std::string mpi_version_ = "none";
  std::unique_ptr<Communicator> world_;
  std::unique_ptr<mpi::Heartbeat> heartbeat_;  // detects ranks that hang or have died
};

}  // namespace bulksim
