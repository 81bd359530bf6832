#pragma once

#include <memory>
#include <string>

#include "comm/communicator.hpp"

namespace bulksim {

/// An NCCL communicator, or the reason why there is none.
struct NcclSetup {
  std::unique_ptr<Communicator> world;
  std::string version;  ///< "NCCL 2.28.9"
  std::string why_not;  ///< the same on every rank
};

/// Connects the ranks of `control` through NCCL, each with the device of its rank on the node;
/// ranks must not share a device. `control` distributes the identity and carries the collective
/// checks; it must outlive the result. There is no communicator when a rank does not have the
/// library.
///
/// Throws Error (69) when the ranks have different versions or are not connected within the
/// deadline. This and any later error of a device or peer aborts the operations on the device and
/// makes the communicator unusable.
NcclSetup make_nccl_setup(Communicator& control, int node_rank, const CommunicatorOptions& options,
                          const std::string& module = "libbulksim_cuda.so");

}  // namespace bulksim
