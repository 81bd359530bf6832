#include "storage/run/lease.hpp"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <span>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "storage/run/lease_file.hpp"

namespace bulksim {

namespace {

Error held(const std::string& path, const LeaseHolder& holder) {
  return Error(ExitCode::kCannotCreate,
               "'" + parent_of(path) + "' is in use by process " + std::to_string(holder.pid) +
                   " on host '" + holder.host +
                   "': wait for it, stop it, or choose another output (bulksim status shows more)");
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void write_lease(const File& file, const LeaseHolder& holder) {
  file.write(std::as_bytes(std::span<const char>(encode_lease(holder))), 0);
}

/// Whether the holder of `path` is dead. Waits for a heartbeat when nothing else decides.
bool is_abandoned(FileCalls& calls, const std::string& path, const LeaseHolder& first,
                  const LeaseOptions& options) {
  const Liveness liveness = liveness_of(first, options);
  if (liveness != Liveness::kUnknown) return liveness == Liveness::kDead;
  const double begin = options.clock.now();
  while (options.clock.now() - begin < options.expiry_seconds) {
    if (options.before_wait) options.before_wait(path, first);
    options.clock.wait(options.poll_seconds);
    const auto now = read_lease(calls, path);
    if (!now || now->token != first.token) return true;  // the holder has changed: read it again
    if (*now != first) return false;
  }
  return true;
}

/// The file of a lease that is being taken: created under a unique name, then linked to the final
/// one.
class Candidate {
 public:
  Candidate(FileCalls& calls, std::string path, const LeaseHolder& holder)
      : calls_(calls),
        path_(std::move(path)),
        own_path_(path_ + ".new-" + holder.token),
        file_(File::open(calls, own_path_, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0644)) {
    write_lease(file_, holder);
  }
  ~Candidate() {
    if (!own_path_.empty()) calls_.unlink(own_path_.c_str());
  }
  Candidate(const Candidate&) = delete;
  Candidate& operator=(const Candidate&) = delete;
  Candidate(Candidate&&) = delete;
  Candidate& operator=(Candidate&&) = delete;

  /// Returns whether this process has the lease. link(2) may succeed and still report failure, so
  /// the link count decides.
  bool link() {
    const int result = calls_.link(own_path_.c_str(), path_.c_str());
    const int reason = errno;
    struct stat status {};
    if (calls_.fstat(file_.descriptor(), &status) == -1)
      throw system_error("inspect", path_, errno);
    if (result == 0 || status.st_nlink == 2) return true;
    if (reason != EEXIST) throw system_error("create", path_, reason);
    return false;
  }
  /// Replaces the lease of a dead holder.
  void replace() {
    if (calls_.rename(own_path_.c_str(), path_.c_str()) == -1) {
      throw system_error("create", path_, errno);
    }
    own_path_.clear();
  }
  File take_file() { return std::move(file_); }

 private:
  FileCalls& calls_;
  std::string path_;
  std::string own_path_;
  File file_;
};

/// Removes leftover candidates and guards of dead processes beside the lease.
void sweep(FileCalls& calls, const std::string& path, const LeaseOptions& options) {
  const std::string folder = parent_of(path);
  const std::string prefix = path.substr(path.find_last_of('/') + 1) + ".";
  for (const std::string& name : list_directory(calls, folder)) {
    if (!name.starts_with(prefix)) continue;
    const auto holder = read_lease(calls, inside(folder, name));
    if (holder && liveness_of(*holder, options) == Liveness::kDead) {
      calls.unlink(inside(folder, name).c_str());
    }
  }
}

}  // namespace

LeaseHolder this_holder() {
  LeaseHolder self;
  static_cast<ProcessInfo&>(self) = this_process();
  self.slurm_job = variable("SLURM_JOB_ID");
  self.slurm_restart = std::strtoll(variable("SLURM_RESTART_COUNT").c_str(), nullptr, 10);
  return self;
}

LeaseOptions lease_options(Log& log, const StopRequest& stop) {
  LeaseOptions options;
  const std::string patience = duration_text(options.expiry_seconds);
  options.before_wait = [&log, &stop, patience, said = false](const std::string& path,
                                                              const LeaseHolder& holder) mutable {
    stop.check();
    if (std::exchange(said, true)) return;
    const std::string who = holder.token.empty()
                                ? "names no process"
                                : "names process " + std::to_string(holder.pid) + " on host '" +
                                      holder.host + "', which cannot be checked from here";
    log.info("lease", "the lease '" + path + "' " + who +
                          ": it is taken over if it stays the same for " + patience);
  };
  return options;
}

Liveness liveness_of(const LeaseHolder& holder, const LeaseOptions& options) {
  const LeaseHolder& self = options.self;
  const bool same_machine = !holder.boot_id.empty() && holder.boot_id == self.boot_id &&
                            holder.pid_namespace == self.pid_namespace;
  if (same_machine) {
    // a holder with our own process number is dead: the number was reused
    const bool alive = holder.pid != self.pid && options.runs(holder.pid, holder.start_time);
    return alive ? Liveness::kAlive : Liveness::kDead;
  }
  const bool earlier_start = !holder.slurm_job.empty() && holder.slurm_job == self.slurm_job &&
                             holder.slurm_restart < self.slurm_restart;
  return earlier_start ? Liveness::kDead : Liveness::kUnknown;
}

struct Lease::State {
  std::mutex mutex;
  std::condition_variable_any never;
  LeaseHolder holder;
  File file;
};

std::unique_ptr<Lease> Lease::take(FileCalls& calls, const std::string& path,
                                   LeaseOptions options) {
  LeaseHolder self = options.self;
  self.token = new_token();
  for (;;) {
    const auto holder = read_lease(calls, path);
    const bool abandoned = holder && is_abandoned(calls, path, *holder, options);
    if (holder && !abandoned) throw held(path, *holder);
    Candidate candidate(calls, path, self);
    if (!holder) {
      if (!candidate.link()) continue;
    } else {
      // Only one process at a time may replace a dead holder; otherwise the slower of two would
      // remove the lease of the faster.
      const auto guard = take(calls, path + ".over-" + holder->token, options);
      const auto now = read_lease(calls, path);
      if (!now || now->token != holder->token) continue;
      candidate.replace();
    }
    std::unique_ptr<Lease> lease(
        new Lease(calls, path, std::move(options), self, candidate.take_file()));
    lease->check();
    return lease;
  }
}

Lease::Lease(FileCalls& calls, std::string path, LeaseOptions options, LeaseHolder holder,
             File file)
    : calls_(calls),
      path_(std::move(path)),
      options_(std::move(options)),
      state_(std::make_unique<State>()) {
  state_->holder = std::move(holder);
  state_->file = std::move(file);
}

Lease::~Lease() {
  thread_ = {};
  try {
    check();
    calls_.unlink(path_.c_str());
  } catch (const Error&) {
    // lost, or not accessible: the next run sees that this process has ended
  }
}

void Lease::keep() {
  try {
    sweep(calls_, path_, options_);
  } catch (const Error&) {
    // leftovers do no harm
  }
  thread_ = std::jthread([this](const std::stop_token& stop) {
    const std::chrono::duration<double> interval(options_.heartbeat_seconds);
    while (!stop.stop_requested() && !lost_) {
      {
        std::unique_lock lock(state_->mutex);
        state_->never.wait_for(lock, stop, interval, [] { return false; });
      }
      if (stop.stop_requested()) return;
      try {
        renew();
      } catch (const Error&) {
        // the file system may be unavailable for a moment: the next heartbeat tries again
      }
    }
  });
}

void Lease::renew() {
  const std::lock_guard lock(state_->mutex);
  ++state_->holder.counter;
  write_lease(state_->file, state_->holder);
  const auto now = read_lease(calls_, path_);
  if (!now || now->token != state_->holder.token) lost_ = true;
}

void Lease::set_phase(const std::string& phase) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->holder.phase = phase;
  }
  renew();
}

void Lease::check() {
  const std::lock_guard lock(state_->mutex);
  const auto now = read_lease(calls_, path_);
  if (!lost_ && now && now->token == state_->holder.token) return;
  lost_ = true;
  throw Error(
      ExitCode::kCannotCreate,
      "the lease '" + path_ + "' was lost" +
          (now ? " to process " + std::to_string(now->pid) + " on host '" + now->host + "'" : "") +
          ": another run has taken over this output, and nothing was published");
}

}  // namespace bulksim
