#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace bulksim {

/// Formats like printf; at most 511 characters.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Text from a file for a terminal: control characters (C0, DEL, C1) become escapes such as \x1b.
std::string shown_text(std::string_view text);

/// A human-readable number of bytes: "402.7 GB" (powers of 1,000).
std::string bytes_text(std::int64_t bytes);

/// A time in seconds since 1970, as RFC 3339 in UTC: "2024-02-29T12:34:56Z".
std::string utc_text(std::int64_t seconds);

/// A human-readable duration: "42 s", "17 min", "3.5 h".
std::string duration_text(double seconds);

}  // namespace bulksim
