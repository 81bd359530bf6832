// What the program finds in the module: NCCL, where its library is.
#include "bulksim/core/error.hpp"
#include "comm/nccl/world.hpp"

extern "C" void bulksim_make_nccl_world(bulksim::Communicator& control, int node_rank,
                                        const bulksim::CommunicatorOptions& options,
                                        bulksim::NcclWorld& made) {
  bulksim::nccl::Calls calls{};
  std::string why_not;
  try {
    calls = bulksim::nccl::load_library();
  } catch (const bulksim::Error& error) {
    why_not = error.what();
  }
  made = bulksim::nccl::make_world(why_not.empty() ? &calls : nullptr, why_not, control, node_rank,
                                   options);
}
