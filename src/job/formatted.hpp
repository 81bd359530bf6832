#pragma once

#include <cstdio>
#include <string>

namespace bulksim {

/// What printf would print; at most 511 characters.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace bulksim
