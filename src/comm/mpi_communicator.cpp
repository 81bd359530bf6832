#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <thread>

#include <mpi.h>

#include "comm/mpi_library.hpp"
#include "core/files/failpoint.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim::mpi {

namespace {

/// The call of a rank: the first message of every collective.
struct Calling {
  std::array<char, 16> call{};
  std::int64_t count = 0;
};

/// Reply of rank 0: its own number of values, and what is wrong, if anything.
struct Answer {
  std::int64_t count = 0;
  std::array<char, 240> fault{};
};

enum class Counts { kMayDiffer, kMustAgree };

/// Sleeps between polls, doubled from `first` to `longest`.
struct Patience {
  std::chrono::microseconds first;
  std::chrono::microseconds longest;
};
// Peers may take minutes to arrive; a wait ends at most one sleep late.
constexpr Patience kForPeers{std::chrono::microseconds(20), std::chrono::microseconds(1000)};
// All ranks have arrived, and MPI moves data only while it is polled.
constexpr Patience kForData{std::chrono::microseconds(1), std::chrono::microseconds(20)};

class MpiCommunicator final : public Communicator {
 public:
  explicit MpiCommunicator(const CommunicatorOptions& options) : options_(options) {
    const std::lock_guard lock(library_mutex());
    check(MPI_Comm_dup(MPI_COMM_WORLD, &comm_), "duplicate MPI_COMM_WORLD");
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "set an error handler");
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    everyone_.resize(size_);
  }

  ~MpiCommunicator() override {
    if (usable_) locked([&] { return MPI_Comm_free(&comm_); });
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void barrier() override { check_collective("barrier", 0, Counts::kMustAgree); }

  void wait_for_all() override {
    check_collective("wait_for_all", 0, Counts::kMustAgree,
                     std::numeric_limits<double>::infinity());
  }

  void broadcast(std::vector<std::byte>& bytes) override {
    const std::int64_t count = bytes.size();
    bytes.resize(check_collective("broadcast", count, Counts::kMayDiffer));
    in_pieces(std::span(bytes), [&](std::span<std::byte> piece, MPI_Request* request) {
      return MPI_Ibcast(piece.data(), length(piece), MPI_BYTE, 0, comm_, request);
    });
  }

  /// Point to point, one rank after the other: MPI_Gatherv has 31-bit offsets.
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    check_collective("gather", bytes.size(), Counts::kMayDiffer);
    if (rank_ != 0) {
      in_pieces(bytes, [&](std::span<const std::byte> piece, MPI_Request* request) {
        return MPI_Isend(piece.data(), length(piece), MPI_BYTE, 0, kDataTag, comm_, request);
      });
      return {};
    }
    std::vector<std::vector<std::byte>> all(everyone_.size());
    all[0].assign(bytes.begin(), bytes.end());
    for (int peer = 1; peer < size_; ++peer) {
      auto& theirs = all[peer];
      theirs.resize(everyone_[peer].count);
      in_pieces(std::span(theirs), [&](std::span<std::byte> piece, MPI_Request* request) {
        return MPI_Irecv(piece.data(), length(piece), MPI_BYTE, peer, kDataTag, comm_, request);
      });
    }
    return all;
  }

  /// Each step pairs every rank with two others: one to send to and one to receive from.
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>& bytes) override {
    check_collective("exchange", 0, Counts::kMustAgree);
    std::vector<std::vector<std::byte>> received(bytes.size());
    received[rank_] = bytes[rank_];
    for (int step = 1; step < size_; ++step) {
      const int to = (rank_ + step) % size_;
      const int from = (rank_ + size_ - step) % size_;
      const std::int64_t mine = std::ssize(bytes[to]);
      std::int64_t theirs = 0;
      swap_pieces(std::as_bytes(std::span(&mine, 1)), to,
                  std::as_writable_bytes(std::span(&theirs, 1)), from);
      received[from].resize(theirs);
      swap_pieces(bytes[to], to, received[from], from);
    }
    return received;
  }

  void all_reduce_sum(std::span<std::int64_t> values) override {
    all_reduce("all_reduce_sum", values, MPI_INT64_T, MPI_SUM);
  }

  void all_reduce_sum(std::span<double> values) override {
    all_reduce("all_reduce_sum", values, MPI_DOUBLE, MPI_SUM);
  }

  void all_reduce_max(std::span<std::int64_t> values) override {
    all_reduce("all_reduce_max", values, MPI_INT64_T, MPI_MAX);
  }

 private:
  static constexpr int kCallTag = 1;
  static constexpr int kDataTag = 2;

  template <class T>
  static int length(std::span<T> piece) {
    return static_cast<int>(piece.size());
  }

  template <class T>
  void all_reduce(const char* call, std::span<T> values, MPI_Datatype type, MPI_Op operation) {
    check_collective(call, std::ssize(values), Counts::kMustAgree);
    in_pieces(values, [&](std::span<T> piece, MPI_Request* request) {
      return MPI_Iallreduce(MPI_IN_PLACE, piece.data(), length(piece), type, operation, comm_,
                            request);
    });
  }

  /// Sends one message per piece of at most `largest_message` elements and waits for it.
  template <class T, class Start>
  void in_pieces(std::span<T> all, const Start& start) {
    const std::size_t most = options_.largest_message;
    for (std::size_t done = 0; done < all.size(); done += most) {
      MPI_Request request = MPI_REQUEST_NULL;
      const auto piece = all.subspan(done, std::min(most, all.size() - done));
      check(locked([&] { return start(piece, &request); }), call_);
      await(request, kForData);
    }
  }

  /// Sends to one rank while it receives from another, in pieces.
  void swap_pieces(std::span<const std::byte> out, int to, std::span<std::byte> in, int from) {
    const std::size_t most = options_.largest_message;
    for (std::size_t done = 0; done < std::max(out.size(), in.size()); done += most) {
      MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
      const auto piece_of = [&](auto all) {
        const std::size_t begin = std::min(done, all.size());
        return all.subspan(begin, std::min(most, all.size() - begin));
      };
      const auto sent = piece_of(out);
      const auto received = piece_of(in);
      check(locked([&] {
              if (sent.empty()) return MPI_SUCCESS;
              return MPI_Isend(sent.data(), length(sent), MPI_BYTE, to, kDataTag, comm_,
                               &requests[0]);
            }),
            call_);
      check(locked([&] {
              if (received.empty()) return MPI_SUCCESS;
              return MPI_Irecv(received.data(), length(received), MPI_BYTE, from, kDataTag, comm_,
                               &requests[1]);
            }),
            call_);
      await(requests, kForData, [] { return std::string("the other ranks"); });
    }
  }

  /// Waits until all ranks are in the same call; returns the count of rank 0. The message buffers
  /// are members: MPI may still use them after a call that timed out.
  std::int64_t check_collective(const char* call, std::int64_t count, Counts rule) {
    return check_collective(call, count, rule, options_.deadline_seconds);
  }

  std::int64_t check_collective(const char* call, std::int64_t count, Counts rule,
                                double deadline) {
    pass_failpoint("collective");
    call_ = call;
    deadline_ = deadline;
    mine_ = {};
    std::strncpy(mine_.call.data(), call, mine_.call.size() - 1);
    mine_.count = count;
    if (rank_ == 0) {
      hear_everyone();
      answer_ = judge(rule);
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      check(locked([&] {
              return MPI_Isend(&mine_, sizeof mine_, MPI_BYTE, 0, kCallTag, comm_, &request);
            }),
            call_);
      await(request, kForPeers);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    check(
        locked([&] { return MPI_Ibcast(&answer_, sizeof answer_, MPI_BYTE, 0, comm_, &request); }),
        call_);
    await(request, kForPeers);
    if (answer_.fault[0] != '\0') throw Error(ExitCode::kSoftware, answer_.fault.data());
    return answer_.count;
  }

  void hear_everyone() {
    everyone_[0] = mine_;
    std::vector<MPI_Request> requests(everyone_.size(), MPI_REQUEST_NULL);
    for (int peer = 1; peer < size_; ++peer) {
      const std::size_t at = peer;
      check(locked([&] {
              return MPI_Irecv(&everyone_[at], sizeof(Calling), MPI_BYTE, peer, kCallTag, comm_,
                               &requests[at]);
            }),
            call_);
    }
    await(requests, kForPeers, [&] { return absent(requests); });
  }

  /// The ranks whose message has not arrived: "rank 3", or "rank 3 and 12 more".
  static std::string absent(std::span<MPI_Request> requests) {
    std::vector<std::size_t> peers;
    for (std::size_t peer = 1; peer < requests.size(); ++peer) {
      int done = 0;
      locked([&] { return MPI_Test(&requests[peer], &done, MPI_STATUS_IGNORE); });
      if (done == 0) peers.push_back(peer);
    }
    if (peers.empty()) return "the other ranks";
    const std::string first = "rank " + std::to_string(peers.front());
    return peers.size() == 1 ? first : first + " and " + std::to_string(peers.size() - 1) + " more";
  }

  Answer judge(Counts rule) const {
    Answer answer{mine_.count, {}};
    for (int peer = 1; peer < size_; ++peer) {
      const Calling& theirs = everyone_[peer];
      const bool same =
          theirs.call == mine_.call && (rule == Counts::kMayDiffer || theirs.count == mine_.count);
      if (same) continue;
      std::snprintf(answer.fault.data(), answer.fault.size(),
                    "mismatched collectives: rank 0 is in %s with %lld values, rank %d in %s with "
                    "%lld values",
                    mine_.call.data(), static_cast<long long>(mine_.count), peer,
                    theirs.call.data(), static_cast<long long>(theirs.count));
      break;
    }
    return answer;
  }

  void await(MPI_Request& request, Patience patience) {
    await(std::span(&request, 1), patience, [] { return std::string("the other ranks"); });
  }

  template <class Whom>
  void await(std::span<MPI_Request> requests, Patience patience, const Whom& whom) {
    const Stopwatch watch;
    Watchdog::Watch step(options_.watchdog, {Activity::kCollective, call_.c_str()});
    // rank 0 knows which ranks are missing, so it reports first
    const double deadline = deadline_ * (rank_ == 0 ? 1.0 : 1.1);
    for (auto sleep = patience.first;; sleep = std::min(2 * sleep, patience.longest)) {
      int done = 0;
      check(locked([&] {
              return MPI_Testall(length(requests), requests.data(), &done, MPI_STATUSES_IGNORE);
            }),
            call_);
      if (done != 0) return;
      step.feed();
      if (watch.seconds() > deadline) give_up(whom(), watch.seconds());
      std::this_thread::sleep_for(sleep);
    }
  }

  [[noreturn]] void give_up(const std::string& whom, double seconds) {
    usable_ = false;
    std::array<char, 32> waited{};
    std::snprintf(waited.data(), waited.size(), "%.1f", seconds);
    throw Error(ExitCode::kUnavailable,
                "rank " + std::to_string(rank_) + " of " + std::to_string(size_) +
                    " has waited in " + call_ + " for " + whom + " for " + waited.data() +
                    " s: a process hangs or its host is down; run the same command again");
  }

  CommunicatorOptions options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  bool usable_ = true;
  std::string call_;       // the current collective
  double deadline_ = 0.0;  // of the current collective, in seconds
  Calling mine_;
  Answer answer_;
  std::vector<Calling> everyone_;  // on rank 0: the call of each rank
};

}  // namespace

std::unique_ptr<Communicator> make_communicator(const CommunicatorOptions& options) {
  return std::make_unique<MpiCommunicator>(options);
}

}  // namespace bulksim::mpi
