#pragma once

#include "comm/nccl/calls.hpp"
#include "comm/nccl_communicator.hpp"

namespace bulksim::nccl {

/// `make_nccl_setup` with these functions; `calls` is null where NCCL is not available, for the
/// reason `why_not`.
NcclSetup make_setup(const Calls* calls, const std::string& why_not, Communicator& control,
                     int node_rank, const CommunicatorOptions& options);

/// Connects the ranks through NCCL; throws Error (69) when they are not connected within the
/// deadline.
std::unique_ptr<Communicator> make_communicator(const Calls& calls, Communicator& control,
                                                int node_rank, const CommunicatorOptions& options);

}  // namespace bulksim::nccl
