#include "core/run/watchdog.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

#include <unistd.h>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim {

namespace {

constexpr double kLongestTick = 0.5;
constexpr double kGuardTick = 1.0;
constexpr int kGuardTicks = 30;  // ticks without a check
constexpr int kExpiryTicks = 5;  // ticks for the report and the error file

void sleep_for(std::condition_variable_any& never, const std::stop_token& stop, double seconds) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::duration<double>(seconds), [] { return false; });
}

[[noreturn]] void die() {
  _exit(static_cast<int>(ExitCode::kUnavailable));
}

std::string path_of(int descriptor) {
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  std::array<char, 512> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length > 0 ? std::string(target.data(), length) : "?";
}

std::string text_of(const Work& work) {
  if (work.tile) {
    return "the tile in row " + std::to_string(work.tile->row) + ", column " +
           std::to_string(work.tile->column);
  }
  std::string text = work.call;
  if (!work.path.empty()) text += " '" + std::string(work.path) + "'";
  if (work.descriptor >= 0) text += " '" + path_of(work.descriptor) + "'";
  return text;
}

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.0f s", seconds);
  return text.data();
}

}  // namespace

double Deadlines::of(Activity activity) const {
  switch (activity) {
    case Activity::kInit:
      return init;
    case Activity::kRead:
      return read;
    case Activity::kTile:
      return tile;
    case Activity::kWrite:
      return write;
    case Activity::kCollective:
      return collective;
  }
  return 0.0;
}

struct Watchdog::Watch::Entry {
  std::thread::id thread;
  Work work;
  double since;
};

Watchdog::Watch::Watch(Watchdog* watchdog, const Work& work)
    : watchdog_(watchdog), exceptions_(std::uncaught_exceptions()) {
  if (watchdog_ == nullptr) return;
  const std::lock_guard lock(watchdog_->mutex_);
  auto& works = watchdog_->works_;
  entry_ = works.insert(works.end(), {std::this_thread::get_id(), work, watchdog_->now_});
}

Watchdog::Watch::~Watch() {
  if (watchdog_ == nullptr) return;
  const int saved = errno;  // errno of the watched call
  {
    const std::lock_guard lock(watchdog_->mutex_);
    if (std::uncaught_exceptions() > exceptions_ && !watchdog_->failed_) {
      try {
        watchdog_->failed_ = watchdog_->locate(entry_);
      } catch (...) {
        // not enough memory: the failure is reported without its location
      }
    }
    const std::thread::id thread = entry_->thread;
    watchdog_->works_.erase(entry_);
    watchdog_->last_progress_ = watchdog_->now_;
    for (Entry& outer : watchdog_->works_) {
      if (outer.thread == thread) outer.since = watchdog_->now_;
    }
  }
  errno = saved;
}

void Watchdog::Watch::feed() {
  if (watchdog_ == nullptr) return;
  const std::lock_guard lock(watchdog_->mutex_);
  entry_->since = watchdog_->now_;
}

Watchdog::Watchdog(const Deadlines& deadlines, ExpiryHandlers expiry_handlers)
    : deadlines_(deadlines), expiry_handlers_(std::move(expiry_handlers)) {
  const double shortest = std::min(
      {deadlines.init, deadlines.read, deadlines.tile, deadlines.write, deadlines.collective});
  tick_ = std::min(kLongestTick, shortest / 10);
  guard_ = std::jthread([this](const std::stop_token& stop) { guard(stop); });
  looker_ = std::jthread([this](const std::stop_token& stop) { look(stop); });
}

Watchdog::~Watchdog() = default;

void Watchdog::begin_phase(const std::string& name) {
  const std::lock_guard lock(mutex_);
  phase_ = name;
  last_progress_ = now_;
}

Location Watchdog::location() const {
  const std::lock_guard lock(mutex_);
  if (failed_) return *failed_;
  const auto longest =
      std::ranges::min_element(works_, {}, [](const Watch::Entry& entry) { return entry.since; });
  return longest == works_.end() ? Location{phase_, "", std::nullopt} : locate(longest);
}

Location Watchdog::locate(const std::list<Watch::Entry>::const_iterator& entry) const {
  Location where{phase_, text_of(entry->work), entry->work.tile};
  for (const Watch::Entry& outer : works_) {  // such as a tile, around a file call
    if (outer.thread == entry->thread && outer.work.tile) where.tile = outer.work.tile;
  }
  return where;
}

bool Watchdog::is_innermost(const std::list<Watch::Entry>::const_iterator& entry) const {
  return std::none_of(std::next(entry), works_.end(),
                      [&](const Watch::Entry& later) { return later.thread == entry->thread; });
}

/// Describes work that is past its deadline, if any.
std::optional<std::string> Watchdog::find_stuck() const {
  bool main_is_at_work = false;
  for (auto entry = works_.begin(); entry != works_.end(); ++entry) {
    main_is_at_work = main_is_at_work || entry->thread == main_;
    const double age = now_ - entry->since;
    if (age > deadlines_.of(entry->work.activity) && is_innermost(entry)) {
      return "stuck in " + text_of(entry->work) + " for " + seconds_text(age);
    }
  }
  const double age = now_ - last_progress_;
  if (main_is_at_work || age <= std::max({deadlines_.read, deadlines_.tile, deadlines_.write})) {
    return std::nullopt;
  }
  return "no operation has completed for " + seconds_text(age) + " (phase: " + phase_ + ")";
}

void Watchdog::look(const std::stop_token& stop) {
  for (Stopwatch watch; !stop.stop_requested();) {
    sleep_for(never_, stop, tick_);
    std::optional<std::string> stuck;
    {
      const std::lock_guard lock(mutex_);
      now_ += std::min(watch.seconds(), 4 * tick_);
      watch = Stopwatch();
      stuck = find_stuck();
    }
    ++looks_;
    if (stuck && !stop.stop_requested()) {
      expire(*stuck + "; run the same command again, on another host if this one is at fault");
    }
  }
}

void Watchdog::expire(const std::string& sentence, double seconds) {
  if (expiring_.exchange(true)) {
    std::this_thread::sleep_for(std::chrono::seconds(kExpiryTicks + 1));
    die();
  }
  expiry_handlers_.report(sentence, location());
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  expiry_handlers_.end();
  die();
}

/// Must not wait for any resource that the rest of the process may hold.
void Watchdog::guard(const std::stop_token& stop) {
  std::int64_t seen = -1;
  for (int silent = 0, dying = 0; !stop.stop_requested();) {
    sleep_for(never_, stop, kGuardTick);
    silent = std::exchange(seen, looks_.load()) == looks_ ? silent + 1 : 0;
    dying += expiring_ ? 1 : 0;
    if (dying > kExpiryTicks) die();
    if (silent <= kGuardTicks || expiring_) continue;
    constexpr std::string_view kMessage = "bulksim: error: the watchdog itself is stuck\n";
    static_cast<void>(!write(STDERR_FILENO, kMessage.data(), kMessage.size()));
    die();
  }
}

}  // namespace bulksim
