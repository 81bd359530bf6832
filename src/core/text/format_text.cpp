#include "core/text/format_text.hpp"

#include <ctime>

namespace bulksim {

std::string bytes_text(std::int64_t bytes) {
  double value = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* next : {"kB", "MB", "GB", "TB", "PB"}) {
    if (value < 999.95) break;
    value /= 1000.0;
    unit = next;
  }
  return formatted(unit[0] == 'B' ? "%.0f %s" : "%.1f %s", value, unit);
}

std::string shown_text(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = static_cast<unsigned char>(at + 1 < text.size() ? text[at + 1] : 0);
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {  // C1 in UTF-8
      shown += formatted("\\x%02x", static_cast<unsigned>(next));
      ++at;
    } else if (byte < 0x20 || byte == 0x7F) {
      shown += formatted("\\x%02x", static_cast<unsigned>(byte));
    } else {
      shown += text[at];
    }
  }
  return shown;
}

std::string utc_text(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string duration_text(double seconds) {
  if (seconds < 100) return formatted("%.0f s", seconds);
  if (seconds < 6000) return formatted("%.0f min", seconds / 60);
  return formatted("%.1f h", seconds / 3600);
}

}  // namespace bulksim
