#include "storage/run/lease_file.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <span>

#include "bulksim/core/error.hpp"
#include "core/text/json.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kLongestText = 64;  // keeps a lease below kLeaseBytes for any host name

std::string shortened(const std::string& text) {
  return text.substr(0, kLongestText);
}

/// The first bytes of a lease; nothing when there is no file. A link is not followed, and nothing
/// waits for the writer of a pipe.
std::optional<std::string> text_of_lease(FileCalls& calls, const std::string& path) {
  const auto status = find_status(calls, path);
  if (!status) return std::nullopt;
  if (!S_ISREG(status->st_mode)) {
    throw Error(
        ExitCode::kCannotCreate,
        "'" + path + "' is not a file, so it cannot hold the lease of the output: remove it");
  }
  try {
    const File file = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
    std::string text(std::min<std::size_t>(file.size(), kLeaseBytes), '\0');
    file.read(std::as_writable_bytes(std::span(text)), 0);
    return text;
  } catch (const Error& error) {
    if (error.code() == ExitCode::kNoInput) return std::nullopt;
    throw;
  }
}

/// Tokens are parts of file names.
bool is_token(const std::string& text) {
  return text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

std::string encode_lease(const LeaseHolder& holder) {
  std::string text = JsonObject()
                         .add("boot_id", shortened(holder.boot_id))
                         .add("counter", holder.counter)
                         .add("host", shortened(holder.host))
                         .add("phase", shortened(holder.phase))
                         .add("pid", holder.pid)
                         .add("pid_namespace", shortened(holder.pid_namespace))
                         .add("slurm_job", shortened(holder.slurm_job))
                         .add("slurm_restart", holder.slurm_restart)
                         .add("start_time", holder.start_time)
                         .add("token", holder.token)
                         .ascii_line();
  text.resize(kLeaseBytes - 1, ' ');
  return text + "\n";
}

std::optional<LeaseHolder> read_lease(FileCalls& calls, const std::string& path) {
  const auto text = text_of_lease(calls, path);
  if (!text) return std::nullopt;
  const JsonReader json = JsonReader::parse_or_empty(*text);
  const auto text_of = [&](const char* key) { return json.find_text(key).value_or(""); };
  const auto number_of = [&](const char* key) { return json.find_integer(key).value_or(0); };
  LeaseHolder holder;
  if (is_token(text_of("token"))) holder.token = text_of("token");
  holder.host = text_of("host");
  holder.boot_id = text_of("boot_id");
  holder.pid_namespace = text_of("pid_namespace");
  holder.pid = number_of("pid");
  holder.start_time = number_of("start_time");
  holder.slurm_job = text_of("slurm_job");
  holder.slurm_restart = number_of("slurm_restart");
  holder.phase = text_of("phase");
  holder.counter = number_of("counter");
  return holder;
}

std::string new_token() {
  std::random_device random;
  std::string token;
  for (int word = 0; word < 4; ++word) {
    char text[16];
    std::snprintf(text, sizeof text, "%08x", random());
    token += text;
  }
  return token;
}

}  // namespace bulksim
