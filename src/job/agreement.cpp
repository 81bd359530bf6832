#include "bulksim/job/agreement.hpp"

#include <cstring>
#include <span>
#include <vector>

namespace bulksim {

namespace {

std::vector<std::byte> encode(const Error* failure) {
  if (failure == nullptr) return {};
  const std::string text =
      std::to_string(static_cast<int>(failure->code())) + ' ' + failure->what();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void agree(Communicator& comm, const Error* failure) {
  comm.wait_for_all();  // a step may take one rank much longer than the others
  std::vector<std::byte> verdict;
  for (const auto& outcome : comm.gather(encode(failure))) {
    if (verdict.empty()) verdict = outcome;
  }
  comm.broadcast(verdict);
  if (verdict.empty()) return;
  const std::string text(reinterpret_cast<const char*>(verdict.data()), verdict.size());
  const auto space = text.find(' ');
  throw AgreedError(static_cast<ExitCode>(std::stoi(text.substr(0, space))),
                    text.substr(space + 1));
}

}  // namespace bulksim
