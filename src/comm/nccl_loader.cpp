#include "comm/nccl_communicator.hpp"
#include "core/run/shared_library.hpp"

namespace bulksim {

NcclWorld make_nccl_world(Communicator& control, int node_rank, const CommunicatorOptions& options,
                          const std::string& module) {
  void (*make)(Communicator&, int, const CommunicatorOptions&, NcclWorld&) = nullptr;
  NcclWorld made;
  try {
    SharedLibrary(module).find("bulksim_make_nccl_world", make);
  } catch (const Error& error) {  // at every rank: it is the same program
    made.why_not = error.what();
    return made;
  }
  make(control, node_rank, options, made);
  return made;
}

}  // namespace bulksim
