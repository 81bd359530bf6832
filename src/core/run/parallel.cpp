#include "core/run/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace bulksim {

void run_in_parallel(std::int64_t count, int threads,
                     const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::int64_t at = next++; at < count; at = next++)
        task(at);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::int64_t helper = 1; helper < std::min<std::int64_t>(threads, count); ++helper)
      helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace bulksim
