#include "storage/run/lease_file.hpp"

#include <cstdio>
#include <random>

#include "bulksim/core/error.hpp"
#include "core/text/json.hpp"

namespace bulksim {

namespace {

constexpr std::size_t kLongestText = 64;  // keeps a lease below kLeaseBytes for any host name

std::string shortened(const std::string& text) {
  return text.substr(0, kLongestText);
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
  std::string text;
  try {
    text = read_text(calls, path);
  } catch (const Error& error) {
    if (error.code() == ExitCode::kNoInput) return std::nullopt;
    throw;
  }
  const JsonReader json = JsonReader::parse_or_empty(text);
  const auto text_of = [&](const char* key) { return json.find_text(key).value_or(""); };
  const auto number_of = [&](const char* key) { return json.find_integer(key).value_or(0); };
  LeaseHolder holder;
  holder.token = text_of("token");
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
