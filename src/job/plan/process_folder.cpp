#include "job/plan/process_folder.hpp"

#include <cstdio>
#include <exception>
#include <span>

#include "bulksim/core/checksum.hpp"

namespace bulksim {

ProcessFolder::ProcessFolder(FileCalls& calls, const std::string& place, Log& log)
    : calls_(calls), log_(log) {
  path_ =
      inside(place, prefix() + std::to_string(self_.pid) + "-" + std::to_string(self_.start_time));
  remove_dead(place);
}

void ProcessFolder::remove() {
  try {
    remove_tree(calls_, path_);
  } catch (const std::exception& error) {
    log_.warning("left_behind", error.what());
  }
}

/// Of all these folders on this machine.
std::string ProcessFolder::prefix() const {
  const std::string machine = self_.process_space();
  return ".bulksim-" + digest_of(std::as_bytes(std::span(machine))).hex().substr(0, 8) + "-";
}

void ProcessFolder::remove_dead(const std::string& place) {
  if (!is_directory(calls_, place)) return;
  for (const std::string& name : list_directory(calls_, place)) {
    long long pid = 0;
    long long start = 0;
    if (!name.starts_with(prefix()) ||
        std::sscanf(name.c_str() + prefix().size(), "%lld-%lld", &pid, &start) != 2 ||
        is_running(pid, start)) {
      continue;
    }
    remove_tree(calls_, inside(place, name));
  }
}

}  // namespace bulksim
