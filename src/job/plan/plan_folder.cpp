#include "job/plan/plan_folder.hpp"

#include "job/plan/output_layout.hpp"

namespace bulksim {

PlanFolder::PlanFolder(const JobConfig& config, JobContext context) {
  Communicator& comm = context.mpi.world();
  if (comm.rank() == 0) {
    folder_.emplace(context.calls, existing_folder(context.calls, config.output), context.log);
  }
  path_ = broadcast_text(comm, folder_ ? folder_->path() : "");
}

}  // namespace bulksim
