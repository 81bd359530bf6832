#include "core/files/failpoint.hpp"

#ifdef BULKSIM_FAILPOINTS

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/error.hpp"
#include "core/files/forwarding_calls.hpp"

namespace bulksim {

namespace {

struct Rule {
  std::string point;
  std::string action;     ///< "exit"
  int number = 0;         ///< "exit:7" has 7
  std::int64_t at = 0;    ///< fails at this pass; 0: at any
  std::int64_t odds = 0;  ///< fails at one pass in so many; 0: at every pass
  std::int64_t passed = 0;
};

[[noreturn]] void refuse(const std::string& text) {
  std::fprintf(stderr, "BULKSIM_FAILPOINTS: '%s' is invalid\n", text.c_str());
  _exit(static_cast<int>(ExitCode::kUsage));
}

const char* variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return value;
  }
  return "0";
}

/// Splits `text` at `mark`: returns the part before it; `text` keeps the part after it.
std::optional<std::string> split_behind(std::string& text, char mark) {
  const auto at = text.rfind(mark);
  if (at == std::string::npos) return std::nullopt;
  std::string behind = text.substr(at + 1);
  text.resize(at);
  return behind;
}

Rule parse_rule(std::string text) {
  const std::string whole = text;
  Rule rule;
  if (const auto at = split_behind(text, '@')) rule.at = std::atoll(at->c_str());
  if (const auto odds = split_behind(text, '~')) rule.odds = std::atoll(odds->c_str());
  auto action = split_behind(text, '=');
  if (!action) refuse(whole);
  if (const auto number = split_behind(*action, ':')) rule.number = std::atoi(number->c_str());
  rule.action = *action;
  rule.point = text;
  if (std::ranges::find(kFailpoints, rule.point) == std::end(kFailpoints)) refuse(whole);
  return rule;
}

/// The rules for this rank. Counts the passes of each point.
class Rules {
 public:
  Rules() {
    const std::string rank = variable({"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"});
    seed_ = mix(std::strtoull(variable({"BULKSIM_FAILPOINT_SEED"}), nullptr, 10),
                std::strtoull(rank.c_str(), nullptr, 10));
    const char* all = std::getenv("BULKSIM_FAILPOINTS");
    std::istringstream items(all == nullptr ? "" : all);
    for (std::string item; std::getline(items, item, ';');) {
      const auto colon = item.find(':');
      if (colon == std::string::npos) refuse(item);
      const std::string whom = item.substr(0, colon);
      Rule rule = parse_rule(item.substr(colon + 1));
      if (whom == "rank*" || whom == "rank" + rank) rules_.push_back(std::move(rule));
    }
  }

  /// The rule that applies to this pass, if any.
  std::optional<Rule> pass(std::string_view point) {
    const std::lock_guard lock(mutex_);
    for (Rule& rule : rules_) {
      if (rule.point != point) continue;
      ++rule.passed;
      const bool lucky = rule.odds > 0 && mix(seed_, static_cast<std::uint64_t>(rule.passed)) %
                                                  static_cast<std::uint64_t>(rule.odds) !=
                                              0;
      if ((rule.at == 0 || rule.at == rule.passed) && !lucky) return rule;
    }
    return std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::uint64_t seed_ = 0;
  std::vector<Rule> rules_;
};

Rules& rules() {
  static Rules all;
  return all;
}

[[noreturn]] void die_at_once() {
  std::raise(SIGKILL);
  std::abort();
}

/// Performs an action that does not need the call; returns false for other actions.
bool act(const Rule& rule) {
  std::fprintf(stderr, "failpoint %s: %s\n", rule.point.c_str(), rule.action.c_str());
  if (rule.action == "kill") die_at_once();
  if (rule.action == "exit") _exit(rule.number);
  if (rule.action == "segv") std::raise(SIGSEGV);
  for (; rule.action == "hang";)
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (rule.action != "sleep") return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(rule.number));
  return true;
}

/// Kind of a file, by its path.
std::string kind_of(const std::string& path) {
  static constexpr std::array<std::pair<const char*, const char*>, 13> kKinds{
      {{"/parts/.part-", "part"},
       {"/parts/part-", "part"},
       {"/journal/", "journal"},
       {"/attempts/", "attempt"},
       {"PLAN.json", "plan"},
       {"/LOCK", "lock"},
       {"CURRENT", "current"},
       {"MANIFEST.json", "manifest"},
       {"_SUCCESS", "success"},
       {"tiles.idx", "index"},
       {"similarity.h5", "view"},
       {"report.json", "report"},
       {"/versions/", "version"}}};
  for (const auto& [piece, kind] : kKinds) {
    if (path.find(piece) != std::string::npos) return kind;
  }
  return "other";
}

std::string path_of(int fd) {
  std::array<char, 4096> target{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return {target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

class FailingCalls final : public ForwardingCalls {
 public:
  using ForwardingCalls::ForwardingCalls;

  /// Files get names at once, as on a file system without O_TMPFILE, so that points can name them.
  int open(const char* path, int flags, mode_t mode) override {
    if ((flags & O_TMPFILE) == O_TMPFILE) {
      errno = EOPNOTSUPP;
      return -1;
    }
    return calls().open(path, flags, mode);
  }
  ssize_t pwrite(int fd, const void* from, std::size_t bytes, off_t at) override {
    const std::string kind = kind_of(path_of(fd));
    if (const auto rule = rules().pass(kind + ".before_write"); rule && !act(*rule)) {
      return spoiled_write(*rule, fd, from, bytes, at);
    }
    const ssize_t result = calls().pwrite(fd, from, bytes, at);
    after(kind + ".after_write");
    return result;
  }
  int fsync(int fd) override {
    return between(path_of(fd), "sync", [&] { return calls().fsync(fd); });
  }
  int fdatasync(int fd) override {
    return between(path_of(fd), "sync", [&] { return calls().fdatasync(fd); });
  }
  int fallocate(int fd, off_t at, off_t bytes) override {
    return between(path_of(fd), "reserve", [&] { return calls().fallocate(fd, at, bytes); });
  }
  int mkdir(const char* path, mode_t mode) override {
    return between(path, "mkdir", [&] { return calls().mkdir(path, mode); });
  }
  int unlink(const char* path) override {
    return between(path, "unlink", [&] { return calls().unlink(path); });
  }
  int link(const char* from, const char* to) override {
    return between(to, "link", [&] { return calls().link(from, to); });
  }
  int rename(const char* from, const char* to) override {
    return between(to, "rename", [&] { return calls().rename(from, to); });
  }
  int symlink(const char* target, const char* path) override {
    return between(path, "symlink", [&] { return calls().symlink(target, path); });
  }

 private:
  static void after(const std::string& point) {
    const int saved = errno;
    if (const auto rule = rules().pass(point)) act(*rule);
    errno = saved;
  }

  template <class Call>
  static int between(const std::string& path, const char* name, const Call& call) {
    const std::string kind = kind_of(path);
    if (const auto rule = rules().pass(kind + ".before_" + name); rule && !act(*rule)) {
      errno = rule->number;
      return -1;
    }
    const int result = call();
    after(kind + ".after_" + name);
    return result;
  }

  ssize_t spoiled_write(const Rule& rule, int fd, const void* from, std::size_t bytes, off_t at) {
    if (rule.action == "short") {
      return calls().pwrite(fd, from, std::max<std::size_t>(bytes / 2, 1), at);
    }
    if (rule.action == "torn") {
      calls().pwrite(fd, from, bytes / 2, at);
      die_at_once();
    }
    if (rule.action == "flip") {
      const auto* begin = static_cast<const unsigned char*>(from);
      std::vector<unsigned char> copy(begin, begin + bytes);
      copy[static_cast<std::size_t>(rule.number) / 8 % bytes] ^=
          static_cast<unsigned char>(1U << (rule.number % 8));
      return calls().pwrite(fd, copy.data(), bytes, at);
    }
    errno = rule.number;
    return -1;
  }
};

}  // namespace

void pass_failpoint(std::string_view point) {
  if (const auto rule = rules().pass(point)) act(*rule);
}

std::function<void(std::span<float>)> failing_values(std::string_view point) {
  return [point](std::span<float> values) {
    const auto rule = rules().pass(point);
    if (!rule || act(*rule) || rule->action != "flip") return;
    for (float& value : values)
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1U << (rule->number % 32));
  };
}

FileCalls& with_failpoints(FileCalls& calls) {
  static FailingCalls failing(calls);
  return failing;
}

}  // namespace bulksim

#endif
