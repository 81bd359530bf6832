#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"

namespace bulksim {

/// A communicator over NCCL, or why there is none.
struct NcclSetup {
  std::unique_ptr<Communicator> world;
  std::string version;  ///< "NCCL 2.28.9"
  std::string why_not;  ///< the same at every rank
};

/// Lets the ranks of `control` meet over NCCL, each with the device of its rank on the node; no two
/// may share one. `control` tells them how: it brings the identity to all, compares what each rank
/// calls, and must outlive the result. There is none where a rank lacks the library.
///
/// Throws Error (69) when the ranks have different versions, or when they have not met within the
/// deadline. Such an error, and any later one of a device or peer, gives the communicator up: what
/// is at work on the device is aborted.
NcclSetup make_nccl_setup(Communicator& control, int node_rank, const CommunicatorOptions& options,
                          const std::string& module = "libbulksim_cuda.so");

}  // namespace bulksim
