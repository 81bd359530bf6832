#include "comm/nccl_communicator.hpp"
#include "core/run/shared_library.hpp"

namespace bulksim {

NcclSetup make_nccl_setup(Communicator& control, int node_rank, const CommunicatorOptions& options,
                          const std::string& module) {
  void (*make)(Communicator&, int, const CommunicatorOptions&, NcclSetup&) = nullptr;
  NcclSetup made;
  try {
    SharedLibrary(module).find("bulksim_make_nccl_setup", make);
  } catch (const Error& error) {  // the same on every rank, which run the same program
    made.why_not = error.what();
    return made;
  }
  make(control, node_rank, options, made);
  return made;
}

}  // namespace bulksim
