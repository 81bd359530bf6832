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

/// One named value of a log line.
struct LogField {
  std::string_view name;
  std::variant<std::int64_t, double, std::string> value;
};

/// Who writes, and how much; ranks other than 0 show warnings and errors only.
struct LogOptions {
  LogLevel level = LogLevel::kInfo;
  LogFormat format = LogFormat::kHuman;
  int rank = 0;
  int ranks = 1;
};

/// Lines on standard error, from any thread. A human line is the sentence alone; a JSON line has
/// ts, level, event, msg, rank, host and the fields. Embedding values are never logged.
class Log {
 public:
  using Fields = std::initializer_list<LogField>;

  explicit Log(LogOptions options, std::FILE* stream = stderr);

  /// `event` is a stable name for machines, `sentence` for people.
  void error(std::string_view event, const std::string& sentence, Fields fields = {});
  void warning(std::string_view event, const std::string& sentence, Fields fields = {});
  void info(std::string_view event, const std::string& sentence, Fields fields = {});
  void detail(std::string_view event, const std::string& sentence, Fields fields = {});
  /// On a terminal the line is drawn over the one before; elsewhere it is an ordinary line.
  void progress(const std::string& sentence, Fields fields = {});

  /// From now on this is one of several ranks: those other than 0 show warnings and errors only.
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
  bool drawn_ = false;  // a progress line stands unfinished
  std::mutex mutex_;
};

}  // namespace bulksim
