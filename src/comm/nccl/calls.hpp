#pragma once

#include <nccl.h>

namespace bulksim::nccl {

/// The NCCL functions in use: those of the library, or those of a test.
struct Calls {
  ncclResult_t (*version)(int* version);
  ncclResult_t (*make_identity)(ncclUniqueId* identity);
  ncclResult_t (*init)(ncclComm_t* comm, int ranks, ncclUniqueId identity, int rank,
                       ncclConfig_t* config);
  ncclResult_t (*state)(ncclComm_t comm, ncclResult_t* state);
  ncclResult_t (*finalize)(ncclComm_t comm);
  ncclResult_t (*destroy)(ncclComm_t comm);
  ncclResult_t (*abort)(ncclComm_t comm);
  ncclResult_t (*all_reduce)(const void* from, void* to, size_t count, ncclDataType_t type,
                             ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream);
  ncclResult_t (*broadcast)(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, cudaStream_t stream);
  ncclResult_t (*send)(const void* from, size_t count, ncclDataType_t type, int peer,
                       ncclComm_t comm, cudaStream_t stream);
  ncclResult_t (*receive)(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                          cudaStream_t stream);
  const char* (*error_text)(ncclResult_t status);
};

/// Loads the library; throws Error (69) when it is missing or has no function of a required name.
Calls load_library();

}  // namespace bulksim::nccl
