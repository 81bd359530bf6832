#include "core/run/kernel_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace bulksim {

namespace {

/// Reads all available records. The kernel log returns one record per read, and EPIPE when a record
/// was overwritten meanwhile.
std::string read_all(int log) {
  std::string text;
  std::array<char, 8192> record{};
  for (;;) {
    const ssize_t size = read(log, record.data(), record.size());
    if (size > 0) {
      text.append(record.data(), size);
    } else if (size == 0 || (errno != EPIPE && errno != EINTR)) {
      return text;
    }
  }
}

}  // namespace

std::string last_kernel_message(const std::vector<std::string>& words, const std::string& path) {
  const int log = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (log < 0) return "";
  std::istringstream lines(read_all(log));
  close(log);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    const bool fits = std::all_of(words.begin(), words.end(), [&](const std::string& word) {
      return line.find(word) != std::string::npos;
    });
    if (fits) last = line.substr(line.find(';') + 1);  // the prefix is numeric
  }
  return last;
}

}  // namespace bulksim
