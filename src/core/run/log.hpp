#pragma once

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>

namespace bulksim {

enum class LogLevel { kError, kWarning, kInfo, kDetail };
enum class LogFormat { kHuman, kJson };

/// One key and value of a log line.
struct LogField {
  std::string_view name;
  std::variant<std::int64_t, double, std::string> value;
};

/// Rank, level and format of a log. Ranks other than 0 log only warnings and errors.
struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kHuman;
  int rank = 0;
  int ranks = 1;
};

/// Logs lines on standard error, from any thread. A text line contains only the sentence; a JSON
/// line has ts, level, event, msg, rank, host and the fields. Values of the inputs are never
/// logged.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  explicit Log(LogOptions options, std::FILE* stream = stderr);

  /// `event` is a stable key for programs; `sentence` is for people.
  void error(std::string_view event, const std::string& sentence, Fields fields = {});
  void warning(std::string_view event, const std::string& sentence, Fields fields = {});
  void info(std::string_view event, const std::string& sentence, Fields fields = {});
  void detail(std::string_view event, const std::string& sentence, Fields fields = {});
  /// On a terminal the line replaces the previous one; elsewhere it is an ordinary line.
  void progress(const std::string& sentence, Fields fields = {});

  /// Sets the rank of this process; ranks other than 0 log only warnings and errors.
  void set_rank(int rank, int ranks);

  bool is_terminal() const { return terminal_; }
  const LogOptions& options() const { return options_; }

 private:
  enum class Redraw { kNo, kYes };

  void write(LogLevel level, std::string_view event, const std::string& sentence, Fields fields,
             Redraw redraw);

  LogOptions options_;
  std::FILE* stream_;
  bool terminal_;
  bool drawn_ = false;  // the cursor is on a progress line
  std::mutex mutex_;
};

}  // namespace bulksim
