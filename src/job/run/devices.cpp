#include "job/run/devices.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include "comm/collective_error.hpp"
#include "comm/nccl_communicator.hpp"

namespace bulksim {

namespace {

/// The device of a rank, or why it has none.
struct Finding {
  std::optional<CudaDevice> device;
  std::string why_not;
};

Finding look_for_device(JobContext context) {
  try {
    return {find_cuda_device(context.mpi.node_rank()), ""};
  } catch (const Error& error) {
    if (error.code() != ExitCode::kUnavailable) throw;
    return {std::nullopt, error.what()};
  }
}

/// The lines of all ranks, at every rank.
std::vector<std::string> exchange_lines(Communicator& comm, const std::string& line) {
  std::string all;
  for (const auto& one : comm.gather(std::as_bytes(std::span(line)))) {
    all.append(reinterpret_cast<const char*>(one.data()), one.size()).push_back('\n');
  }
  std::istringstream in(broadcast_text(comm, all));
  std::vector<std::string> lines;
  for (std::string one; std::getline(in, one);)
    lines.push_back(one);
  return lines;
}

std::string at_rank(std::size_t rank, std::size_t ranks) {
  return ranks == 1 ? "" : "rank " + std::to_string(rank) + ": ";
}

}  // namespace

bool Devices::are_distinct() const {
  return std::set<std::string>(all.begin(), all.end()).size() == all.size();
}

Devices choose_devices(const JobConfig& config, JobContext context) {
  Communicator& comm = context.mpi.world();
  if (config.backend == BackendWish::kCpu) return {};
  if (config.backend == BackendWish::kAuto && !has_cuda_module()) return {};
  Finding finding;
  run_collectively(comm, [&] { finding = look_for_device(context); });
  const auto reasons = exchange_lines(comm, finding.why_not);
  const auto without =
      std::find_if(reasons.begin(), reasons.end(), [](const auto& why) { return !why.empty(); });
  if (without == reasons.end()) {
    Devices devices;
    devices.own = finding.device;
    devices.all = exchange_lines(comm, finding.device->description);
    // ranks that share a device share its memory
    devices.own->free_bytes /=
        std::count(devices.all.begin(), devices.all.end(), devices.own->description);
    return devices;
  }
  const std::string why = at_rank(without - reasons.begin(), reasons.size()) + *without;
  if (config.backend == BackendWish::kCuda) {
    throw CollectiveError(
        ExitCode::kUnavailable,
        "--backend cuda is not available: " + why +
            " (use --backend cpu, or run where every rank has a GPU and its driver)");
  }
  context.log.info("backend", "computing on the CPU", {{"backend", "cpu"}});
  context.log.detail("no_device", "no GPU is used: " + why);
  return {};
}

void connect_devices(Devices& devices, JobContext context) {
  if (devices.all.size() < 2) return;
  if (!devices.are_distinct()) {
    context.log.info("nccl", "ranks share a device, so their sums go over MPI");
    return;
  }
  NcclSetup made =
      make_nccl_setup(context.mpi.world(), context.mpi.node_rank(), {.watchdog = context.watchdog});
  if (!made.world) {
    context.log.info("nccl", "sums go over MPI, not NCCL: " + made.why_not);
    return;
  }
  std::array<std::int64_t, 1> warm_up{0};
  made.world->all_reduce_sum(warm_up);
  devices.world = std::move(made.world);
  devices.nccl_version = made.version;
}

}  // namespace bulksim
