#pragma once

#include <memory>
#include <string>

#include "bulksim/comm/communicator.hpp"
#include "bulksim/core/error.hpp"

namespace bulksim {

/// Starts and ends MPI, once a process. MPI is started only under a launcher: a process that was
/// started alone is a world of one and needs no MPI at all.
///
/// Throws Error (78) when the launcher announces several tasks but MPI sees one (a foreign MPI, or
/// no PMIx), or when the program was built without MPI.
class MpiEnvironment {
 public:
  MpiEnvironment();
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;

  Communicator& world() { return *world_; }
  int node_rank() const { return node_rank_; }  ///< rank among the ranks of this host
  int node_size() const { return node_size_; }  ///< ranks on this host
  /// "Open MPI 4.1.4", or "none".
  const std::string& library() const { return library_; }

  /// Ends all ranks at once with this code; the others may be waiting in a collective.
  [[noreturn]] void abort(ExitCode code);

 private:
  bool started_ = false;
  int node_rank_ = 0;
  int node_size_ = 1;
  std::string library_ = "none";
  std::unique_ptr<Communicator> world_;
};

}  // namespace bulksim
