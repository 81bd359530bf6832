#include "emulator/nccl/nccl_stand_in.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

/// The communicator of a rank; the header of the library declares the name.
struct ncclComm {
  int rank = 0;
  bool in_handshake = true;
  bool in_call = false;
};

namespace bulksim::nccl_stand_in {

Library* library = nullptr;
thread_local int this_rank = 0;

std::string name_of(Fault fault) {
  static constexpr const char* kNames[] = {"None",      "OtherVersion",   "NoIdentity",
                                           "InitFails", "InitHangs",      "InitFailsLater",
                                           "CallFails", "CallFailsLater", "PeerIsLost"};
  return kNames[static_cast<int>(fault)];
}

namespace {

bool is_faulty(Fault fault) {
  return library->fault == fault && library->faulty == this_rank;
}

ncclResult_t get_version(int* version) {
  *version = is_faulty(Fault::kOtherVersion) ? 22703 : 22809;
  return ncclSuccess;
}

ncclResult_t make_identity(ncclUniqueId* identity) {
  if (library->fault == Fault::kNoIdentity) return ncclSystemError;
  std::memset(identity, 7, sizeof *identity);
  return ncclSuccess;
}

ncclResult_t init(ncclComm_t* comm, int, ncclUniqueId identity, int rank, ncclConfig_t* config) {
  const std::lock_guard lock(library->mutex);
  EXPECT_EQ(config->blocking, 0);
  EXPECT_EQ(identity.internal[100], 7);
  *comm = new ncclComm{rank};
  ++library->made;
  if (is_faulty(Fault::kInitFails)) return ncclSystemError;
  if (!is_faulty(Fault::kInitHangs)) ++library->met;
  return ncclInProgress;
}

ncclResult_t state_of(ncclComm_t comm, ncclResult_t* state) {
  const std::lock_guard lock(library->mutex);
  *state = ncclSuccess;
  if (comm->in_handshake) {
    comm->in_handshake = library->met < kRanks;
    if (is_faulty(Fault::kInitFailsLater))
      *state = ncclRemoteError;
    else if (comm->in_handshake)
      *state = ncclInProgress;
  } else if (comm->in_call) {
    comm->in_call =
        library->parts[static_cast<std::size_t>(comm->rank)].here || is_faulty(Fault::kPeerIsLost);
    if (is_faulty(Fault::kCallFailsLater))
      *state = ncclRemoteError;
    else if (comm->in_call)
      *state = ncclInProgress;
  }
  return ncclSuccess;
}

ncclResult_t free_comm(ncclComm_t comm) {
  delete comm;
  ++library->destroyed;
  return ncclSuccess;
}

/// Withdraws the pending calls of the rank: its buffers may be freed afterwards.
ncclResult_t abort_comm(ncclComm_t comm) {
  const std::lock_guard lock(library->mutex);
  library->parts[static_cast<std::size_t>(comm->rank)] = {};
  delete comm;
  ++library->aborted;
  return ncclSuccess;
}

/// A rank joins with its part; `finish` is called with the lock held.
template <class Finish>
ncclResult_t take_part(ncclComm_t comm, Part part, const Finish& finish) {
  if (is_faulty(Fault::kCallFails)) return ncclInvalidUsage;
  const std::lock_guard lock(library->mutex);
  comm->in_call = true;
  part.here = true;
  if (is_faulty(Fault::kPeerIsLost)) return ncclInProgress;
  library->parts[static_cast<std::size_t>(comm->rank)] = part;
  finish(library->parts);
  return ncclInProgress;
}

/// The last rank to arrive moves the data.
template <class Move>
ncclResult_t take_part_of_all(ncclComm_t comm, Part part, const Move& move) {
  return take_part(comm, part, [&](Parts& parts) {
    if (!std::all_of(parts.begin(), parts.end(), [](const Part& one) { return one.here; })) return;
    move(parts);
    parts = {};
    ++library->collectives;
  });
}

/// Rank 0 receives from one rank after the other.
void deliver(Parts& parts) {
  const auto peer = reinterpret_cast<std::size_t>(parts[0].from);
  if (!parts[0].here || !parts[peer].here) return;
  std::memcpy(parts[0].to, parts[peer].from, parts[peer].bytes);
  parts[0] = {};
  parts[peer] = {};
}

template <class T>
void reduce(Parts& parts, ncclRedOp_t operation) {
  std::vector<T> all(parts[0].bytes / sizeof(T));
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    EXPECT_EQ(parts[rank].bytes, parts[0].bytes);
    const auto* from = static_cast<const T*>(parts[rank].from);
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (rank == 0)
        all[at] = from[at];
      else if (operation == ncclSum)
        all[at] += from[at];
      else
        all[at] = std::max(all[at], from[at]);
    }
  }
  for (const auto& part : parts)
    std::memcpy(part.to, all.data(), part.bytes);
}

ncclResult_t all_reduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, ncclComm_t comm, cudaStream_t) {
  return take_part_of_all(comm, {from, to, 8 * count}, [=](Parts& parts) {
    type == ncclInt64 ? reduce<std::int64_t>(parts, operation) : reduce<double>(parts, operation);
  });
}

ncclResult_t broadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                       ncclComm_t comm, cudaStream_t) {
  EXPECT_EQ(type, ncclUint8);
  return take_part_of_all(comm, {from, to, count}, [=](Parts& parts) {
    const auto& source = parts[static_cast<std::size_t>(root)];
    for (const auto& part : parts)
      std::memmove(part.to, source.from, source.bytes);
  });
}

ncclResult_t receive(void* to, size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                     cudaStream_t) {
  return take_part(comm, {reinterpret_cast<const void*>(std::uintptr_t(peer)), to, count}, deliver);
}

ncclResult_t send(const void* from, size_t count, ncclDataType_t, int, ncclComm_t comm,
                  cudaStream_t) {
  return take_part(comm, {from, nullptr, count}, deliver);
}

const char* error_text(ncclResult_t status) {
  return status == ncclRemoteError ? "remote process exited" : "something went wrong";
}

}  // namespace

const nccl::Calls kCalls{
    get_version, make_identity, init,       state_of,  [](ncclComm_t) { return ncclSuccess; },
    free_comm,   abort_comm,    all_reduce, broadcast, send,
    receive,     error_text};

}  // namespace bulksim::nccl_stand_in
