#include "comm/nccl/check_collective.hpp"

#include <array>
#include <string>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

/// Format of a message.
struct Message {
  std::array<char, 24> call{};
  std::int64_t count = 0;
};

Message message_of(const Calling& calling) {
  Message message;
  std::strncpy(message.call.data(), calling.call, message.call.size() - 1);
  message.count = calling.count;
  return message;
}

std::string text_of(const Message& message) {
  return std::string(message.call.data()) + " with " + std::to_string(message.count) + " values";
}

/// Describes the first rank whose call differs from that of rank 0; empty when all agree.
std::string find_fault(const std::vector<Message>& all, Counts rule) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    const bool same = all[rank].call == all[0].call &&
                      (rule == Counts::kMayDiffer || all[rank].count == all[0].count);
    if (same) continue;
    return "mismatched collectives: rank 0 is in " + text_of(all[0]) + ", rank " +
           std::to_string(rank) + " in " + text_of(all[rank]);
  }
  return "";
}

}  // namespace

std::vector<std::int64_t> check_collective(Communicator& control, const Calling& mine) {
  const Message message = message_of(mine);
  std::vector<Message> all;
  for (const auto& heard : control.gather(std::as_bytes(std::span(&message, 1)))) {
    std::memcpy(&all.emplace_back(), heard.data(), sizeof(Message));
  }
  const std::string fault = broadcast_text(control, find_fault(all, mine.rule));
  if (!fault.empty()) throw Error(ExitCode::kSoftware, fault);
  std::vector<std::int64_t> counts;
  for (int rank = 0; rank < control.size(); ++rank) {
    const std::size_t at = rank;
    counts.push_back(all.empty() ? 0 : all[at].count);
  }
  std::vector<std::byte> bytes(counts.size() * sizeof(std::int64_t));
  std::memcpy(bytes.data(), counts.data(), bytes.size());
  control.broadcast(bytes);
  std::memcpy(counts.data(), bytes.data(), bytes.size());
  return counts;
}

}  // namespace bulksim
