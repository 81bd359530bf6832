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

/// What the environment variables of a process say of the launcher that started it.
struct Launch {
  static constexpr int kUnknown = 0;

  std::string launcher = "none";  ///< "mpirun", "srun", "a PMI launcher", "a PMIx launcher"
  int tasks = 1;                  ///< announced processes, or kUnknown
  bool has_pmi = false;           ///< the launcher pending a service through which ranks meet

  bool operator==(const Launch&) const = default;
};

/// `variable` is getenv. A batch script is not a task: only the steps inside it are.
Launch detect_launch(const std::function<const char*(const char*)>& variable);

/// Starts and ends MPI, once a process. MPI is started only under a launcher of several tasks: a
/// process that was started alone is a world of one and needs no MPI at all.
///
/// Throws Error (78) when the launcher announces several tasks but MPI sees one (a foreign MPI, or
/// no PMIx), or when the program was built without MPI. With a watchdog in its options, ranks give
/// each other signs of life.
class MpiEnvironment {
 public:
  explicit MpiEnvironment(const CommunicatorOptions& options = {});
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;

  Communicator& world() { return *world_; }
  /// Another communicator of all ranks; all ranks call this together.
  std::unique_ptr<Communicator> make_setup(const CommunicatorOptions& options) const;
  int node_rank() const { return node_rank_; }  ///< rank among the ranks of this host
  int node_size() const { return node_size_; }  ///< ranks on this host
  /// "Open MPI v4.1.4", or "none".
  const std::string& mpi_version() const { return mpi_version_; }

  /// What main returns when all ranks have come to the same orderly end: the code at rank 0, and 0
  /// at the others, since a launcher kills the job at the first rank that returns anything else.
  int exit_status(ExitCode code) const;
  /// Ends all ranks at once with this code; the others may be waiting in a collective.
  [[noreturn]] void abort(ExitCode code);

 private:
  void join(const Launch& launch, const CommunicatorOptions& options);

  bool started_ = false;
  int node_rank_ = 0;
  int node_size_ = 1;
  std::string mpi_version_ = "none";
  std::unique_ptr<Communicator> world_;
  std::unique_ptr<mpi::Heartbeat> heartbeat_;  // tells a rank that works from one that is lost
};

}  // namespace bulksim
