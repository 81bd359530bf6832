#include "storage/run/lease.hpp"

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

FileCalls& calls = system_file_calls();

/// An environment in which the test sets which processes are alive, and waiting advances a fake
/// clock.
struct FakeWorld {
  double time = 0.0;
  std::int64_t living = 0;                         ///< the only other live process
  std::function<void(double)> while_waiting = {};  ///< called during a wait

  LeaseOptions of(const std::string& host, std::int64_t pid) {
    LeaseOptions options;
    options.self.host = host;
    options.self.boot_id = "boot of " + host;
    options.self.pid_namespace = "pid:[1]";
    options.self.pid = pid;
    options.self.start_time = 7;
    options.runs = [this](std::int64_t process, std::int64_t) { return process == living; };
    options.clock.now = [this] { return time; };
    options.clock.wait = [this](double seconds) {
      time += seconds;
      if (while_waiting) while_waiting(time);
    };
    return options;
  }
};

TEST(Lease, IsAFileWithItsHolderAndIsRemovedWithIt) {
  const TemporaryFolder folder;
  FakeWorld fake;
  {
    const auto lease = Lease::take(calls, folder / "LOCK", fake.of("a", 11));
    lease->set_phase("compute");

    const auto holder = read_lease(calls, folder / "LOCK");

    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->pid, 11);
    EXPECT_EQ(holder->phase, "compute");
    EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"LOCK"});
  }
  EXPECT_TRUE(list_directory(calls, folder.path()).empty());
}

TEST(Lease, OfALiveProcessOnThisHostIsRefusedAtOnceWithoutLeftovers) {
  const TemporaryFolder folder;
  FakeWorld fake;
  fake.living = 11;
  const auto lease = Lease::take(calls, folder / "LOCK", fake.of("a", 11));
  const std::string before = read_file(folder / "LOCK");

  const auto take = [&] { Lease::take(calls, folder / "LOCK", fake.of("a", 12)); };

  expect_error(ExitCode::kCannotCreate, {"process 11", "host 'a'"}, take);
  EXPECT_EQ(fake.time, 0.0);
  EXPECT_EQ(read_file(folder / "LOCK"), before);
  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"LOCK"});
}

TEST(Lease, OfADeadProcessOnThisHostIsTakenOverAtOnceAndTheOldHolderNotices) {
  const TemporaryFolder folder;
  FakeWorld fake;
  const auto dead = Lease::take(calls, folder / "LOCK", fake.of("a", 11));

  const auto lease = Lease::take(calls, folder / "LOCK", fake.of("a", 12));

  EXPECT_EQ(fake.time, 0.0);
  EXPECT_NO_THROW(lease->check());
  expect_error(ExitCode::kCannotCreate, {"was lost", "process 12"}, [&] { dead->check(); });
  EXPECT_TRUE(dead->lost());
  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"LOCK"});
}

TEST(Lease, AHolderThatHasLostItDoesNotRemoveThatOfAnother) {
  const TemporaryFolder folder;
  FakeWorld fake;
  auto dead = Lease::take(calls, folder / "LOCK", fake.of("a", 11));
  const auto lease = Lease::take(calls, folder / "LOCK", fake.of("a", 12));

  dead.reset();

  EXPECT_NO_THROW(lease->check());
}

TEST(Lease, OfAnotherHostIsRefusedWhenItsCounterRises) {
  const TemporaryFolder folder;
  FakeWorld fake;
  const auto remote = Lease::take(calls, folder / "LOCK", fake.of("b", 11));
  fake.while_waiting = [&](double time) {
    if (time > 9) remote->renew();
  };

  const auto take = [&] { Lease::take(calls, folder / "LOCK", fake.of("a", 12)); };

  expect_error(ExitCode::kCannotCreate, {"host 'b'"}, take);
  EXPECT_LT(fake.time, 15);
  EXPECT_NO_THROW(remote->check());
}

TEST(Lease, OfAnotherHostIsTakenOverWhenItsCounterDoesNotChangeForThirtySeconds) {
  const TemporaryFolder folder;
  FakeWorld fake;
  const auto remote = Lease::take(calls, folder / "LOCK", fake.of("b", 11));

  const auto lease = Lease::take(calls, folder / "LOCK", fake.of("a", 12));

  EXPECT_GE(fake.time, 30);
  EXPECT_LT(fake.time, 35);
  EXPECT_NO_THROW(lease->check());
  remote->renew();
  EXPECT_TRUE(remote->lost());
}

TEST(Lease, OfAnEarlierStartOfTheSameSlurmJobIsTakenOverAtOnce) {
  const TemporaryFolder folder;
  FakeWorld fake;
  LeaseOptions first = fake.of("b", 11);
  first.self.slurm_job = "4711";
  LeaseOptions requeued = fake.of("a", 12);
  requeued.self.slurm_job = "4711";
  requeued.self.slurm_restart = 1;
  const auto killed = Lease::take(calls, folder / "LOCK", first);

  const auto lease = Lease::take(calls, folder / "LOCK", requeued);

  EXPECT_EQ(fake.time, 0.0);
  EXPECT_NO_THROW(lease->check());
}

TEST(Lease, OurOwnProcessNumberIsNeverThatOfALiveHolder) {
  LeaseOptions options;
  LeaseHolder holder = options.self;

  EXPECT_TRUE(options.runs(holder.pid, holder.start_time));
  EXPECT_FALSE(options.runs(holder.pid, holder.start_time + 1));
  EXPECT_EQ(liveness_of(holder, options), Liveness::kDead);
  holder.pid = getppid();
  EXPECT_EQ(liveness_of(holder, options), Liveness::kDead) << "another start time";
}

TEST(Lease, AnInvalidFileCountsAsAHolderWithoutHeartbeats) {
  const TemporaryFolder folder;
  FakeWorld fake;
  replace_file(calls, folder / "LOCK", "\0\0garbage");

  const auto lease = Lease::take(calls, folder / "LOCK", fake.of("a", 12));

  EXPECT_GE(fake.time, 30);
  EXPECT_NO_THROW(lease->check());
}

TEST(Lease, WhatIsNotAFileInItsPlaceIsRefusedAtOnce) {
  const TemporaryFolder folder;
  FakeWorld fake;
  replace_file(calls, folder / "file", "x");
  ASSERT_EQ(symlink("nowhere", (folder / "dangling").c_str()), 0);
  ASSERT_EQ(symlink("file", (folder / "link").c_str()), 0);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  make_directories(calls, folder / "folder");

  for (const char* name : {"dangling", "link", "pipe", "folder"}) {
    const auto take = [&] { Lease::take(calls, folder / name, fake.of("a", 12)); };
    expect_error(ExitCode::kCannotCreate, {folder / name, "not a file", "remove it"}, take);
  }
  EXPECT_EQ(fake.time, 0.0);
}

TEST(Lease, AWaitForAHeartbeatEndsWhenAStopIsRequested) {
  const TemporaryFolder folder;
  FakeWorld fake;
  replace_file(calls, folder / "LOCK", "");
  LeaseOptions options = fake.of("a", 12);
  options.before_wait = [&](const std::string& path, const LeaseHolder& holder) {
    EXPECT_EQ(path, folder / "LOCK");
    EXPECT_TRUE(holder.token.empty());
    if (fake.time >= 2.0) throw Stopped();
  };

  const auto take = [&] { Lease::take(calls, folder / "LOCK", options); };

  expect_error(ExitCode::kTemporary, {"stopped"}, take);
  EXPECT_LE(fake.time, 2.5);
  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"LOCK"});
}

TEST(Lease, ATokenThatIsNoPartOfAFileNameIsIgnored) {
  const TemporaryFolder folder;
  replace_file(calls, folder / "LOCK", R"({"token": "../../x", "pid": 7})");

  const auto holder = read_lease(calls, folder / "LOCK");

  ASSERT_TRUE(holder);
  EXPECT_TRUE(holder->token.empty());
}

TEST(Lease, OneOfManyProcessesTakesOverThatOfADeadHolder) {
  const TemporaryFolder folder;
  FakeWorld dead_world;
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder / ("LOCK" + std::to_string(round));
    const auto dead = Lease::take(calls, path, dead_world.of("a", 1));
    std::vector<std::unique_ptr<Lease>> leases(8);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < leases.size(); ++i) {
        threads.emplace_back([&, i] {
          FakeWorld own;
          LeaseOptions options = own.of("a", 100 + static_cast<std::int64_t>(i));
          options.runs = [](std::int64_t process, std::int64_t) { return process >= 100; };
          try {
            leases[i] = Lease::take(calls, path, options);
          } catch (const Error&) {
            // another process has it
          }
        });
      }
    }
    int owners = 0;
    for (const auto& lease : leases)
      owners += lease ? 1 : 0;
    EXPECT_EQ(owners, 1) << "round " << round;
  }
}

}  // namespace
}  // namespace bulksim::test
