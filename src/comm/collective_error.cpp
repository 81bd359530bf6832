#include "comm/collective_error.hpp"

#include <cstring>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace bulksim {

namespace {

std::vector<std::byte> encode(const Error* failure) {
  if (failure == nullptr) return {};
  const std::string text = std::to_string(static_cast<int>(failure->code())) + ' ' +
                           std::to_string(failure->error_number()) + ' ' + failure->what();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Error error_of(const std::exception& failure) {
  if (const auto* error = dynamic_cast<const Error*>(&failure)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&failure) != nullptr) {
    return Error(ExitCode::kMemory, "not enough memory");
  }
  if (const auto* system = dynamic_cast<const std::system_error*>(&failure)) {
    return Error(ExitCode::kMemory,
                 std::string("cannot start a thread: ") + system->what() +
                     "; raise the limits on memory and processes (ulimit -v, ulimit -u), or use "
                     "fewer --threads",
                 system->code().value());
  }
  return Error(ExitCode::kSoftware, failure.what());
}

void agree(Communicator& comm, const Error* failure) {
  comm.wait_for_all();  // a step may take much longer on one rank than on the others
  std::vector<std::byte> verdict;
  for (const auto& outcome : comm.gather(encode(failure))) {
    if (verdict.empty()) verdict = outcome;
  }
  comm.broadcast(verdict);
  if (verdict.empty()) return;
  const std::string text(reinterpret_cast<const char*>(verdict.data()), verdict.size());
  const auto first = text.find(' ');
  const auto second = text.find(' ', first + 1);
  throw CollectiveError(static_cast<ExitCode>(std::stoi(text.substr(0, first))),
                        text.substr(second + 1), std::stoi(text.substr(first + 1, second - first)));
}

}  // namespace bulksim
