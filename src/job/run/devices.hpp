#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/plan/resources.hpp"

namespace bulksim {

/// The devices of all ranks, in their order; none when the ranks compute on their processors.
struct Devices {
  std::optional<CudaDevice> own;
  std::vector<std::string> all;  ///< name, UUID and PCI id of each rank's device

  std::unique_ptr<Communicator> world;  ///< of all ranks over NCCL; null: MPI
  std::string nccl_version;             ///< "NCCL 2.28.9"

  /// Whether no two ranks share one.
  bool are_distinct() const;
};

/// Finds and warms up the device of every rank, as far as `config` wants one. Without a wish the
/// ranks take their devices when every one has one, and otherwise say in one line why not. Throws
/// CollectiveError (69) when a device is demanded and missing. A collective.
Devices choose_devices(const JobConfig& config, JobContext context);

/// Connects the devices over NCCL where there are several and each rank has one of its own, and
/// says in one line why not. A collective.
void connect_devices(Devices& devices, JobContext context);

}  // namespace bulksim
