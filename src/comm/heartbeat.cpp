#include "comm/heartbeat.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <mpi.h>

#include "comm/mpi_library.hpp"
#include "core/run/host.hpp"
#include "core/run/phase_timer.hpp"

namespace bulksim::mpi {

namespace {

constexpr double kTick = 0.1;             // seconds
constexpr double kLongestPause = 5.0;     // between two heartbeats
constexpr double kFarewellSeconds = 5.0;  // how long the destructor waits for the other ranks
constexpr double kLauncherTime = 3.0;  // time for the launcher to end the job, with its own message
constexpr int kTag = 3;

enum class Sign : std::int32_t { kAlive, kFarewell };

struct Message {
  Sign sign = Sign::kAlive;
  std::int32_t process = 0;
  std::uint64_t process_space = 0;  // hash of the namespace in which `process` is valid
  std::array<char, 64> host{};
  std::array<char, 200> where{};
};

template <std::size_t N>
void copy_text(const std::string& from, std::array<char, N>& to) {
  std::snprintf(to.data(), to.size(), "%s", from.c_str());
}

/// State of the connection to one other rank.
struct Peer {
  int rank = 0;
  Message incoming;
  Message outgoing;
  Message last;
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Request send = MPI_REQUEST_NULL;
  bool broken = false;  // MPI has reported an error
  double heard = 0.0;   // last message; seconds as in `MpiHeartbeat::now_`
};

class MpiHeartbeat final : public Heartbeat {
 public:
  MpiHeartbeat(double deadline, Watchdog& watchdog)
      : deadline_(deadline), pause_(std::min(kLongestPause, deadline / 4)), watchdog_(watchdog) {
    locked([&] { return MPI_Comm_dup(MPI_COMM_WORLD, &comm_); });
    locked([&] { return MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN); });
    int rank = 0;
    int size = 1;
    locked([&] { return MPI_Comm_rank(comm_, &rank) | MPI_Comm_size(comm_, &size); });
    const std::vector<Message> all = introduce(size);
    for (int peer = rank == 0 ? 1 : 0; peer < (rank == 0 ? size : 1); ++peer) {
      peers_.emplace_back().rank = peer;
      peers_.back().last = all[peer];
    }
    for (Peer& peer : peers_)
      listen(peer);
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  ~MpiHeartbeat() override {
    thread_.request_stop();
    thread_.join();
    locked([&] { return MPI_Comm_free(&comm_); });
  }

 private:
  /// Exchanges the first message of every rank, so that a rank that dies before its first heartbeat
  /// is detected.
  std::vector<Message> introduce(int size) {
    const ProcessInfo self = this_process();
    mine_.process = static_cast<std::int32_t>(self.pid);
    mine_.process_space = std::hash<std::string>{}(self.process_space());
    copy_text(self.host, mine_.host);
    copy_text(location(), mine_.where);
    std::vector<Message> all(size);
    locked([&] {
      return MPI_Allgather(&mine_, sizeof(Message), MPI_BYTE, all.data(), sizeof(Message), MPI_BYTE,
                           comm_);
    });
    return all;
  }

  std::string location() const {
    const Location where = watchdog_.location();
    return where.phase + (where.work.empty() ? "" : ", " + where.work);
  }

  void run(const std::stop_token& stop) {
    double sent = -pause_;
    while (!stop.stop_requested()) {
      advance();
      for (Peer& peer : peers_)
        hear(peer);
      if (now_ - sent >= pause_) {
        say(Sign::kAlive);
        sent = now_;
      }
      for (const Peer& peer : peers_)
        judge(peer);
    }
    say_farewell();
  }

  /// Time in which this process was suspended does not count.
  void advance() {
    std::this_thread::sleep_for(std::chrono::duration<double>(kTick));
    now_ += std::min(watch_.seconds(), 4 * kTick);
    watch_ = Stopwatch();
  }

  void listen(Peer& peer) {
    locked([&] {
      return MPI_Irecv(&peer.incoming, sizeof(Message), MPI_BYTE, peer.rank, kTag, comm_,
                       &peer.receive);
    });
  }

  static bool is_done(Peer& peer, MPI_Request& request) {
    int done = 0;
    const int status = locked([&] { return MPI_Test(&request, &done, MPI_STATUS_IGNORE); });
    peer.broken = peer.broken || status != MPI_SUCCESS;
    return !peer.broken && done != 0;
  }
  static bool is_free(Peer& peer) { return is_done(peer, peer.send); }

  void hear(Peer& peer) {
    while (!has_left(peer) && is_done(peer, peer.receive)) {
      peer.last = peer.incoming;
      peer.heard = now_;
      if (!has_left(peer)) listen(peer);
    }
  }

  static bool has_left(const Peer& peer) { return peer.last.sign == Sign::kFarewell; }

  /// Sends to every rank that has received the previous message: a rank that hangs must not block
  /// the heartbeats to the others.
  void say(Sign sign) {
    copy_text(location(), mine_.where);
    mine_.sign = sign;
    for (Peer& peer : peers_) {
      if (!is_free(peer)) continue;
      peer.outgoing = mine_;
      locked([&] {
        return MPI_Isend(&peer.outgoing, sizeof(Message), MPI_BYTE, peer.rank, kTag, comm_,
                         &peer.send);
      });
    }
  }

  void judge(const Peer& peer) {
    if (has_left(peer)) return;
    if (has_died(peer)) {
      watchdog_.expire(name(peer) + " has died (process " + std::to_string(peer.last.process) +
                           "); run the same command again",
                       kLauncherTime);
    }
    if (peer.broken) {
      watchdog_.expire("lost the connection to " + name(peer) + "; run the same command again",
                       kLauncherTime);
    }
    if (now_ - peer.heard > deadline_) {
      watchdog_.expire(name(peer) + " has sent no heartbeat for " +
                       std::to_string(static_cast<int>(now_ - peer.heard)) +
                       " s: it hangs or its host is down; run the same command again");
    }
  }

  bool has_died(const Peer& peer) const {
    return peer.last.process_space == mine_.process_space && kill(peer.last.process, 0) == -1 &&
           errno == ESRCH;
  }

  static std::string name(const Peer& peer) {
    return "rank " + std::to_string(peer.rank) + " on host '" + peer.last.host.data() +
           "' (last seen in: " + peer.last.where.data() + ")";
  }

  /// Announces the end of this rank: ranks that have left neither send nor receive heartbeats.
  void say_farewell() {
    bool said = false;
    for (const Stopwatch watch; watch.seconds() < kFarewellSeconds;) {
      if (!said && std::ranges::all_of(peers_, is_free)) {
        say(Sign::kFarewell);
        said = true;
      }
      for (Peer& peer : peers_)
        hear(peer);
      if (said && std::ranges::all_of(peers_, has_left)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  double deadline_;
  double pause_;
  Watchdog& watchdog_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<Peer> peers_;
  Message mine_;
  Stopwatch watch_;
  double now_ = 0.0;  // seconds in which this process was not suspended
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<Heartbeat> make_heartbeat(double deadline_seconds, Watchdog& watchdog) {
  return std::make_unique<MpiHeartbeat>(deadline_seconds, watchdog);
}

}  // namespace bulksim::mpi
