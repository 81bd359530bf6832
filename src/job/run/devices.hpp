#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/plan/resources.hpp"

namespace bulksim {

/// The devices of all ranks, in their order; none when the ranks compute on the CPU.
struct Devices {
  std::optional<CudaDevice> own;
  std::vector<std::string> all;  ///< name, UUID and PCI id of each rank's device

  std::unique_ptr<Communicator> world;  ///< of all ranks over NCCL; null: MPI
  std::string nccl_version;             ///< "NCCL 2.28.9"

  /// Whether every rank has a device of its own.
  bool are_distinct() const;
};

/// Finds and warms up the device of every rank, unless `config` requests the CPU. With --backend
/// auto the ranks use their devices when every rank has one, and otherwise log that they compute on
/// the CPU. Throws CollectiveError (69) when a device is requested and missing. A collective.
Devices choose_devices(const JobConfig& config, JobContext context);

/// Connects the devices over NCCL where there are several and each rank has one of its own, and
/// otherwise logs the reason in one line. A collective.
void connect_devices(Devices& devices, JobContext context);

}  // namespace bulksim
