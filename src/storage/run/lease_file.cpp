#include "storage/run/lease_file.hpp"

#include <cstdio>
#include <random>

#include <nlohmann/json.hpp>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

using nlohmann::json;

constexpr std::size_t kLongestText =
    64;  // keeps a lease below kLeaseBytes, whatever a host is called

std::string shortened(const std::string& text) {
  return text.substr(0, kLongestText);
}

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t number_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

std::string encode_lease(const LeaseHolder& holder) {
  const json object{{"token", holder.token},
                    {"host", shortened(holder.host)},
                    {"boot_id", shortened(holder.boot_id)},
                    {"pid_namespace", shortened(holder.pid_namespace)},
                    {"pid", holder.pid},
                    {"start_time", holder.start_time},
                    {"slurm_job", shortened(holder.slurm_job)},
                    {"slurm_restart", holder.slurm_restart},
                    {"phase", shortened(holder.phase)},
                    {"counter", holder.counter}};
  std::string text = object.dump(-1, ' ', true, json::error_handler_t::replace);
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
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return LeaseHolder{};
  LeaseHolder holder;
  holder.token = text_of(object, "token");
  holder.host = text_of(object, "host");
  holder.boot_id = text_of(object, "boot_id");
  holder.pid_namespace = text_of(object, "pid_namespace");
  holder.pid = number_of(object, "pid");
  holder.start_time = number_of(object, "start_time");
  holder.slurm_job = text_of(object, "slurm_job");
  holder.slurm_restart = number_of(object, "slurm_restart");
  holder.phase = text_of(object, "phase");
  holder.counter = number_of(object, "counter");
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
