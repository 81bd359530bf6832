#pragma once

#include <cstddef>

namespace bulksim {

/// Prefetches cache lines at addresses that the hardware prefetcher cannot predict.
inline void prefetch(const void* start, std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  const char* first = static_cast<const char*>(start);
  for (std::size_t at = 0; at < bytes; at += kLine)
    __builtin_prefetch(first + at);
}

}  // namespace bulksim
