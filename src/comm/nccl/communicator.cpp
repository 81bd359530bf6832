#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "bulksim/core/error.hpp"
#include "comm/nccl/check_collective.hpp"
#include "comm/nccl/setup.hpp"
#include "core/run/phase_timer.hpp"
#include "cuda/buffer.hpp"
#include "cuda/device.hpp"

namespace bulksim::nccl {

namespace {

/// Timeout of an NCCL operation. All ranks are already in the same call, so one that takes longer
/// will not complete.
constexpr double kMostSeconds = 25.0;
constexpr std::chrono::microseconds kFirstSleep{5};
constexpr std::chrono::microseconds kLongestSleep{500};
constexpr std::int64_t kPieceBytes = std::int64_t{8} << 20;  // size of the staging buffers

template <class T>
constexpr ncclDataType_t kType = ncclUint8;
template <>
constexpr ncclDataType_t kType<std::int64_t> = ncclInt64;
template <>
constexpr ncclDataType_t kType<double> = ncclFloat64;

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const Calls& calls, Communicator& control, int node_rank,
                   const CommunicatorOptions& options)
      : calls_(calls), control_(control), options_(options), device_(node_rank) {
    connect();
  }

  ~NcclCommunicator() override {
    if (comm_ == nullptr) return;
    if (std::uncaught_exceptions() > exceptions_) {  // peers may not call finalize
      calls_.abort(comm_);
      return;
    }
    try {
      device_.use();
      call_ = "finish";
      check(calls_.finalize(comm_));
      settle();
      calls_.destroy(comm_);
    } catch (...) {
      // the communicator has been aborted, which frees it
    }
  }

  int rank() const override { return control_.rank(); }
  int size() const override { return control_.size(); }
  void barrier() override { control_.barrier(); }
  void wait_for_all() override { control_.wait_for_all(); }

  void broadcast(std::vector<std::byte>& bytes) override {
    const auto counts = begin("broadcast", std::ssize(bytes), Counts::kMayDiffer);
    bytes.resize(counts[0]);
    in_pieces(std::span(bytes), [&](std::byte* data, std::size_t count) {
      return calls_.broadcast(data, data, count, kType<std::byte>, 0, comm_, stream_.get());
    });
  }

  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    const auto counts = begin("gather", std::ssize(bytes), Counts::kMayDiffer);
    std::vector<std::vector<std::byte>> all;
    if (rank() != 0) {
      std::vector<std::byte> mine(bytes.begin(), bytes.end());
      in_pieces(std::span(mine), [&](const std::byte* data, std::size_t count) {
        return calls_.send(data, count, kType<std::byte>, 0, comm_, stream_.get());
      });
      return all;
    }
    all.emplace_back(bytes.begin(), bytes.end());
    for (int peer = 1; peer < size(); ++peer) {
      auto& theirs = all.emplace_back(static_cast<std::size_t>(counts[peer]));
      in_pieces(std::span(theirs), [&](std::byte* data, std::size_t count) {
        return calls_.receive(data, count, kType<std::byte>, peer, comm_, stream_.get());
      });
    }
    return all;
  }

  /// From memory of the host to memory of the host: over the devices it would take longer.
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& bytes) override {
    return control_.exchange(bytes);
  }

  void all_reduce_sum(std::span<std::int64_t> values) override {
    all_reduce("all_reduce_sum", values, ncclSum);
  }
  void all_reduce_sum(std::span<double> values) override {
    all_reduce("all_reduce_sum", values, ncclSum);
  }
  void all_reduce_max(std::span<std::int64_t> values) override {
    all_reduce("all_reduce_max", values, ncclMax);
  }

 private:
  template <class T>
  void all_reduce(const char* call, std::span<T> values, ncclRedOp_t operation) {
    begin(call, std::ssize(values), Counts::kMustAgree);
    in_pieces(values, [&](T* data, std::size_t count) {
      return calls_.all_reduce(data, data, count, kType<T>, operation, comm_, stream_.get());
    });
  }

  /// Connects all ranks; returns when they are connected.
  void connect() {
    call_ = "connect";
    ncclUniqueId identity{};
    ncclResult_t status = ncclSuccess;
    if (rank() == 0) status = calls_.make_identity(&identity);
    // first, so that no rank waits for an identity that was not created
    status = broadcast_value(control_, status);
    check(status);
    identity = broadcast_value(control_, identity);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    check(calls_.init(&comm_, size(), identity, rank(), &config));
    settle();
  }

  /// Waits until all ranks are in this call; returns their counts.
  std::vector<std::int64_t> begin(const char* call, std::int64_t count, Counts rule) {
    call_ = call;
    if (comm_ == nullptr) give_up("had failed before");
    return check_collective(control_, {call, count, rule});
  }

  /// Sends the values through the device in pieces.
  template <class T, class Start>
  void in_pieces(std::span<T> all, const Start& start) {
    constexpr auto kMost = static_cast<std::size_t>(kPieceBytes) / sizeof(T);
    cuda::on_device(device_, [&] {
      for (std::size_t done = 0; done < all.size(); done += kMost)
        send_piece(all.subspan(done, std::min(kMost, all.size() - done)), start);
    });
  }

  template <class T, class Start>
  void send_piece(std::span<T> piece, const Start& start) {
    const std::int64_t bytes = piece.size_bytes();
    staged_.reserve(bytes);
    buffer_.reserve(bytes);
    std::memcpy(staged_.data(), piece.data(), piece.size_bytes());
    cuda::upload(staged_, buffer_, bytes, stream_);
    check(start(reinterpret_cast<T*>(buffer_.data()), piece.size()));
    settle();
    cuda::download(buffer_.data(), staged_, bytes, stream_);
    arrived_.record(stream_);
    await_arrival();
    std::memcpy(piece.data(), staged_.data(), piece.size_bytes());
  }

  void check(ncclResult_t status) {
    if (status != ncclSuccess && status != ncclInProgress) fail(status);
  }

  [[noreturn]] void fail(ncclResult_t status) {
    give_up(std::string("failed: ") + calls_.error_text(status) + " (NCCL status " +
            std::to_string(static_cast<int>(status)) + ")");
  }

  /// Waits until NCCL has accepted the last call. Errors may be reported at any later time.
  void settle() {
    poll([&] { return look() != ncclInProgress; });
  }

  void await_arrival() {
    poll([&] {
      look();
      return arrived_.has_passed();
    });
  }

  ncclResult_t look() {
    ncclResult_t state = ncclSuccess;
    check(calls_.state(comm_, &state));
    check(state);
    return state;
  }

  template <class Done>
  void poll(const Done& done) {
    const Stopwatch watch;
    Watchdog::Watch step(options_.watchdog, {Activity::kCollective, call_});
    const double deadline = std::min(options_.deadline_seconds, kMostSeconds);
    for (auto sleep = kFirstSleep; !done(); sleep = std::min(2 * sleep, kLongestSleep)) {
      step.feed();
      if (watch.seconds() > deadline) {
        std::array<char, 32> waited{};
        std::snprintf(waited.data(), waited.size(), "%.1f", watch.seconds());
        give_up(std::string("has waited for the other ranks for ") + waited.data() + " s");
      }
      std::this_thread::sleep_for(sleep);
    }
  }

  /// Aborts operations on the device, which would otherwise wait forever.
  [[noreturn]] void give_up(const std::string& what) {
    if (comm_ != nullptr) calls_.abort(std::exchange(comm_, nullptr));
    throw Error(ExitCode::kUnavailable,
                "rank " + std::to_string(rank()) + " of " + std::to_string(size()) + ": NCCL, in " +
                    call_ + ", " + what + " on " + device_.description() +
                    "; run the same command again, on other devices if this repeats");
  }

  Calls calls_;
  Communicator& control_;
  CommunicatorOptions options_;
  cuda::Device device_;
  cuda::Stream stream_;
  cuda::PinnedBuffer<std::byte> staged_;
  cuda::DeviceBuffer<std::byte> buffer_;
  cuda::Event arrived_;
  ncclComm_t comm_ = nullptr;
  int exceptions_ = std::uncaught_exceptions();
  const char* call_ = "";
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(const Calls& calls, Communicator& control,
                                                int node_rank, const CommunicatorOptions& options) {
  return std::make_unique<NcclCommunicator>(calls, control, node_rank, options);
}

}  // namespace bulksim::nccl
