#include "comm/communicator.hpp"

#include <algorithm>

namespace bulksim {

namespace {

class SelfCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  void barrier() override {}
  void wait_for_all() override {}
  void broadcast(std::vector<std::byte>&) override {}
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    return {std::vector<std::byte>(bytes.begin(), bytes.end())};
  }
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& bytes) override {
    return bytes;
  }
  void all_reduce_sum(std::span<std::int64_t>) override {}
  void all_reduce_sum(std::span<double>) override {}
  void all_reduce_max(std::span<std::int64_t>) override {}
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator() {
  return std::make_unique<SelfCommunicator>();
}

std::string broadcast_text(Communicator& comm, std::string text) {
  const auto view = std::as_bytes(std::span(text));
  std::vector<std::byte> bytes(view.begin(), view.end());
  comm.broadcast(bytes);
  text.resize(bytes.size());
  std::ranges::copy(bytes, std::as_writable_bytes(std::span(text)).begin());
  return text;
}

}  // namespace bulksim
