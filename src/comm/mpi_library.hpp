#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "bulksim/core/error.hpp"
#include "comm/communicator.hpp"

namespace bulksim::mpi {

/// Held around every call to MPI, which is asked for no more than MPI_THREAD_SERIALIZED. MPI is one
/// a process, and so is its lock.
std::mutex& library_mutex();

/// Calls MPI under the lock.
template <class Call>
int locked(const Call& call) {
  const std::lock_guard lock(library_mutex());
  return call();
}

/// Throws Error (69) with the words of MPI unless a call was a success; `call` says what it was to
/// do.
void check(int status, const std::string& call);

// What the environment needs of MPI. Without MPI there are stand-ins that say so.

/// This process among those of its host.
struct Place {
  int node_rank = 0;
  int node_size = 1;
};

/// Throws Error (78) in a build without MPI.
void require_built_in();
/// MPI_Init_thread, once a process.
void start();
/// MPI_Finalize; waits for the other ranks.
void stop();
[[noreturn]] void abort(ExitCode code);
/// "Open MPI v4.1.4".
std::string library_name();
/// All calls below are collective.
Place find_place();
std::unique_ptr<Communicator> make_setup(const CommunicatorOptions& options);

}  // namespace bulksim::mpi
