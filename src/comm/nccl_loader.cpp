#include <dlfcn.h>

#include "bulksim/comm/nccl_communicator.hpp"

namespace bulksim {

NcclWorld make_nccl_world(Communicator& control, int node_rank, const CommunicatorOptions& options,
                          const std::string& module) {
  using Make = void (*)(Communicator&, int, const CommunicatorOptions&, NcclWorld&);
  // stays loaded as long as the process: the communicator's code is in it
  void* const handle = dlopen(module.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* const symbol = handle == nullptr ? nullptr : dlsym(handle, "bulksim_make_nccl_world");
  NcclWorld made;
  if (symbol == nullptr) {  // at every rank: it is the same program
    const char* reason = dlerror();
    made.why_not = reason == nullptr ? "the module has no NCCL" : reason;
    return made;
  }
  reinterpret_cast<Make>(symbol)(control, node_rank, options, made);
  return made;
}

}  // namespace bulksim
