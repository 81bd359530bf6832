#include "comm/nccl/setup.hpp"

#include <span>
#include <string>
#include <vector>

#include "bulksim/core/error.hpp"

namespace bulksim::nccl {

namespace {

/// Returns the line of every rank, on rank 0.
std::vector<std::string> gather_lines(Communicator& control, const std::string& line) {
  std::vector<std::string> lines;
  for (const auto& one : control.gather(std::as_bytes(std::span(line)))) {
    lines.emplace_back(reinterpret_cast<const char*>(one.data()), one.size());
  }
  return lines;
}

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// Why NCCL is not available on the first rank without it, on every rank; empty when all have it.
std::string first_reason(Communicator& control, const std::string& why_not) {
  const auto reasons = gather_lines(control, why_not);
  std::string first;
  for (std::size_t rank = 0; rank < reasons.size() && first.empty(); ++rank) {
    if (!reasons[rank].empty()) first = "rank " + std::to_string(rank) + ": " + reasons[rank];
  }
  return broadcast_text(control, first);
}

/// The version that all ranks have; throws the same Error (69) on all ranks when they differ.
std::string agree_on_version(const Calls& calls, Communicator& control) {
  int version = 0;
  calls.version(&version);
  std::string fault;
  const auto all = gather_lines(control, version_text(version));
  for (std::size_t rank = 1; rank < all.size() && fault.empty(); ++rank) {
    if (all[rank] == all[0]) continue;
    fault = "rank 0 has NCCL " + all[0] + " and rank " + std::to_string(rank) + " has NCCL " +
            all[rank] + ": use the same library on all hosts";
  }
  fault = broadcast_text(control, fault);
  if (!fault.empty()) throw Error(ExitCode::kUnavailable, fault);
  return "NCCL " + version_text(version);
}

}  // namespace

NcclSetup make_setup(const Calls* calls, const std::string& why_not, Communicator& control,
                     int node_rank, const CommunicatorOptions& options) {
  NcclSetup made;
  made.why_not = first_reason(control, why_not);
  if (!made.why_not.empty()) return made;
  made.version = agree_on_version(*calls, control);
  made.world = make_communicator(*calls, control, node_rank, options);
  return made;
}

}  // namespace bulksim::nccl
