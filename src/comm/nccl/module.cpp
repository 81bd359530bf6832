// Entry point of the module that the program loads for NCCL.
#include "bulksim/core/error.hpp"
#include "comm/nccl/setup.hpp"

extern "C" void bulksim_make_nccl_setup(bulksim::Communicator& control, int node_rank,
                                        const bulksim::CommunicatorOptions& options,
                                        bulksim::NcclSetup& made) {
  bulksim::nccl::Calls calls{};
  std::string why_not;
  try {
    calls = bulksim::nccl::load_library();
  } catch (const bulksim::Error& error) {
    why_not = error.what();
  }
  made = bulksim::nccl::make_setup(why_not.empty() ? &calls : nullptr, why_not, control, node_rank,
                                   options);
}
