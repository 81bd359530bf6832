#include "core/run/log.hpp"

#include <algorithm>
#include <cmath>

#include <sys/time.h>
#include <unistd.h>

#include "core/run/host.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

const char* name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDetail:
      return "detail";
  }
  return "";
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      out += escape;
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json_value(std::string& out, const LogField& field) {
  if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
    out += std::to_string(*integer);
  } else if (const auto* real = std::get_if<double>(&field.value)) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", std::isfinite(*real) ? *real : 0.0);
    out += text;
  } else {
    append_json_string(out, std::get<std::string>(field.value));
  }
}

/// RFC 3339 in UTC, to the millisecond.
std::string time_stamp() {
  timeval now{};
  gettimeofday(&now, nullptr);
  std::string text = utc_text(now.tv_sec);
  text.insert(text.size() - 1, formatted(".%03d", static_cast<int>(now.tv_usec / 1000)));
  return text;
}

std::string json_line(LogLevel level, std::string_view event, const std::string& sentence,
                      Log::Fields fields, int rank) {
  std::string line =
      "{\"ts\":\"" + time_stamp() + "\",\"level\":\"" + name_of(level) + "\",\"event\":";
  append_json_string(line, event);
  line += ",\"msg\":";
  append_json_string(line, sentence);
  line += ",\"rank\":" + std::to_string(rank) + ",\"host\":";
  append_json_string(line, host_name());
  for (const LogField& field : fields) {
    line += ',';
    append_json_string(line, field.name);
    line += ':';
    append_json_value(line, field);
  }
  return line + "}\n";
}

}  // namespace

Log::Log(LogOptions options, std::FILE* stream)
    : options_(options), stream_(stream), terminal_(isatty(fileno(stream)) == 1) {
  set_rank(options_.rank, options_.ranks);
}

void Log::set_rank(int rank, int ranks) {
  const std::lock_guard lock(mutex_);
  options_.rank = rank;
  options_.ranks = ranks;
  if (rank != 0) options_.level = std::min(options_.level, LogLevel::kWarning);
}

void Log::error(std::string_view event, const std::string& sentence, Fields fields) {
  write(LogLevel::kError, event, sentence, fields, Redraw::kNo);
}

void Log::warning(std::string_view event, const std::string& sentence, Fields fields) {
  write(LogLevel::kWarning, event, sentence, fields, Redraw::kNo);
}

void Log::info(std::string_view event, const std::string& sentence, Fields fields) {
  write(LogLevel::kInfo, event, sentence, fields, Redraw::kNo);
}

void Log::detail(std::string_view event, const std::string& sentence, Fields fields) {
  write(LogLevel::kDetail, event, sentence, fields, Redraw::kNo);
}

void Log::progress(const std::string& sentence, Fields fields) {
  write(LogLevel::kInfo, "progress", sentence, fields, terminal_ ? Redraw::kYes : Redraw::kNo);
}

void Log::write(LogLevel level, std::string_view event, const std::string& sentence, Fields fields,
                Redraw redraw) {
  const std::lock_guard lock(mutex_);
  if (level > options_.level) return;
  std::string line;
  if (options_.format == LogFormat::kJson) {
    line = json_line(level, event, sentence, fields, options_.rank);
  } else {
    line = "bulksim: ";
    if (level == LogLevel::kError || level == LogLevel::kWarning) {
      line += std::string(name_of(level)) + ": ";
      if (options_.ranks > 1) line += "rank " + std::to_string(options_.rank) + ": ";
    }
    line += sentence + (redraw == Redraw::kYes ? "" : "\n");
  }
  const bool human = options_.format == LogFormat::kHuman;
  if (human && drawn_) line = (redraw == Redraw::kYes ? "\r\033[K" : "\n") + line;
  drawn_ = human && redraw == Redraw::kYes;
  // one call per line, so that lines of several ranks do not interleave
  std::fwrite(line.data(), 1, line.size(), stream_);
  std::fflush(stream_);
}

}  // namespace bulksim
