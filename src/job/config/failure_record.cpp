#include "job/config/failure_record.hpp"

#include <ctime>
#include <exception>

#include <unistd.h>

#include "core/run/host.hpp"
#include "core/text/format_text.hpp"
#include "core/text/json.hpp"

namespace bulksim {

namespace {

std::string attempt_name(std::int64_t attempt) {
  return formatted("a%04ld", attempt);
}

std::string rank_name(int rank) {
  return formatted("-r%04d", rank);
}

/// Exactly one of the processes that try creates the file.
bool is_first(FileCalls& calls, const std::string& path) {
  const int fd = calls.open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0) calls.close(fd);
  return fd >= 0;
}

}  // namespace

void FailureRecord::open(const std::string& folder, std::int64_t attempt) {
  const std::lock_guard lock(mutex_);
  folder_ = folder;
  attempt_ = attempt;
}

void FailureRecord::write(ExitCode code, const std::string& sentence, int error_number,
                          const Location& where) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    if (folder_.empty() || written_) return;
    written_ = true;
    JsonObject json;
    json.add("schema", 1)
        .add("cause", sentence)
        .add("exit_code", static_cast<int>(code))
        .add("errno", error_number)
        .add("rank", rank_.load())
        .add("host", host_name())
        .add("process", getpid())
        .add("phase", where.phase)
        .add("work", where.work)
        .add("tile", nullptr)
        .add("attempt", attempt_)
        .add("time", utc_text(std::time(nullptr)));
    if (where.tile) {
      json.add("tile", JsonObject().add("row", where.tile->row).add("column", where.tile->column));
    }
    const std::string name = attempt_name(attempt_);
    json.add("root_cause", is_first(calls_, inside(folder_, name + ".first")));
    replace_file(calls_, inside(folder_, name + rank_name(rank_) + ".json"), json.text(1) + "\n");
  } catch (const std::exception&) {
    // the message has been logged already; nothing else can be done
  }
}

}  // namespace bulksim
