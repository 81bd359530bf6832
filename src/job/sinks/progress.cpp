#include "job/sinks/progress.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "core/run/stop_request.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

constexpr auto kLook = std::chrono::milliseconds(500);

}  // namespace

Progress::Progress(Log& log, std::int64_t steps, std::int64_t bytes, std::string activity)
    : log_(log), steps_(steps), bytes_(bytes), activity_(std::move(activity)) {
  if (log.options().rank == 0 && steps > 0) {
    thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
}

Progress::~Progress() = default;

void Progress::watch(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  for (;;) {
    never.wait_for(lock, stop, kLook, [] { return false; });
    if (stop.stop_requested()) return;
    const double seconds = watch_.seconds();
    const double fraction =
        static_cast<double>(done_.load(std::memory_order_relaxed)) / static_cast<double>(steps_);
    const bool asked = take_progress_request();
    if (fraction > 0 && (asked || log_.is_terminal() || is_due(seconds, fraction))) {
      log_.progress(line(seconds, fraction),
                    {{"fraction", fraction}, {"seconds", seconds}, {"bytes_total", bytes_}});
      last_seconds_ = seconds;
      last_fraction_ = fraction;
    }
  }
}

bool Progress::is_due(double seconds, double fraction) {
  const double since = seconds - last_seconds_;
  if (seconds < 60) return since >= 10;
  return since >= 60 || (since >= 10 && fraction - last_fraction_ >= 0.01);
}

std::string Progress::line(double seconds, double fraction) const {
  std::string text = activity_ + formatted("%5.1f %%  ", 100 * fraction);
  if (bytes_ > 0) {
    const double written = fraction * static_cast<double>(bytes_);
    text += bytes_text(std::llround(written)) + " of " + bytes_text(bytes_) + "  " +
            bytes_text(std::llround(written / std::max(seconds, 1e-9))) + "/s  ";
  }
  return text + duration_text((1 - fraction) / fraction * seconds) + " left";
}

}  // namespace bulksim
