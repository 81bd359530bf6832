#pragma once

#include "comm/nccl/calls.hpp"
#include "comm/nccl_communicator.hpp"

namespace bulksim::nccl {

/// `make_nccl_setup` with these functions; null where this rank has none, with the reason.
NcclSetup make_setup(const Calls* calls, const std::string& why_not, Communicator& control,
                     int node_rank, const CommunicatorOptions& options);

/// The ranks meet over NCCL; throws Error (69) when they do not within the deadline.
std::unique_ptr<Communicator> make_communicator(const Calls& calls, Communicator& control,
                                                int node_rank, const CommunicatorOptions& options);

}  // namespace bulksim::nccl
