#include "core/files/process_folder.hpp"

#include <charconv>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "bulksim/core/checksum.hpp"

namespace bulksim {

namespace {

/// The process and its start time, of "<process>-<start time>".
std::optional<std::pair<std::int64_t, std::int64_t>> parse_owner(std::string_view text) {
  std::pair<std::int64_t, std::int64_t> owner;
  const auto [dash, failed] = std::from_chars(text.data(), text.data() + text.size(), owner.first);
  const char* const end = text.data() + text.size();
  if (failed != std::errc{} || dash == end || *dash != '-') return std::nullopt;
  if (std::from_chars(dash + 1, end, owner.second).ec != std::errc{}) return std::nullopt;
  return owner;
}

}  // namespace

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

/// The start of the names of all these folders on this machine.
std::string ProcessFolder::prefix() const {
  const std::string machine = self_.process_space();
  return ".bulksim-" + digest_of(std::as_bytes(std::span(machine))).hex().substr(0, 8) + "-";
}

void ProcessFolder::remove_dead(const std::string& place) {
  if (!is_directory(calls_, place)) return;
  for (const std::string& name : list_directory(calls_, place)) {
    if (!name.starts_with(prefix())) continue;
    const auto owner = parse_owner(std::string_view(name).substr(prefix().size()));
    if (!owner || is_running(owner->first, owner->second)) continue;
    remove_tree(calls_, inside(place, name));
  }
}

}  // namespace bulksim
