#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "bulksim/core/error.hpp"
#include "comm/communicator.hpp"

namespace bulksim::mpi {

/// Held during every MPI call: MPI is initialized with MPI_THREAD_SERIALIZED only.
std::mutex& library_mutex();

/// Calls MPI while holding the lock.
template <class Call>
int locked(const Call& call) {
  const std::lock_guard lock(library_mutex());
  return call();
}

/// Throws Error (69) with MPI's message unless `status` is success; `call` completes "MPI cannot
/// ...".
void check(int status, const std::string& call);

// The MPI functions of MpiEnvironment. A build without MPI has stubs that throw.

/// Position of this process among the ranks of its host.
struct Place {
  int node_rank = 0;
  int node_size = 1;
};

/// Throws Error (78) in a build without MPI.
void require_built_in();
/// MPI_Init_thread; once per process.
void start();
/// MPI_Finalize; waits for the other ranks.
void stop();
[[noreturn]] void abort(ExitCode code);
/// Name and version, as in "Open MPI v4.1.4".
std::string library_name();
/// The functions below are collective.
Place find_place();
std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options);

}  // namespace bulksim::mpi
