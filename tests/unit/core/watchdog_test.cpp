#include "core/run/watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "bulksim/core/file.hpp"
#include "core/files/watched_calls.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

/// Prints its report on standard error; the watchdog then ends the process with 69.
class TalkingWatchdog : public Watchdog {
 public:
  explicit TalkingWatchdog(double deadline)
      : Watchdog({deadline, deadline, deadline, deadline, deadline},
                 {[](const std::string& sentence, const Location& where) {
                    std::fprintf(stderr, "%s [%s]\n", sentence.c_str(), where.phase.c_str());
                  },
                  [] {}}) {}
};

class WatchdogDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(WatchdogDeathTest, ACallThatDoesNotReturnIsReportedAndEndsTheProcess) {
  const auto hang = [] {
    TalkingWatchdog watchdog(0.3);
    watchdog.begin_phase("sync");
    const Watchdog::Watch watch(&watchdog, {Activity::kWrite, "fsync", "/out/parts/part-00003.h5"});
    sleep_for(60);
  };

  EXPECT_EXIT(hang(), testing::ExitedWithCode(69),
              "stuck in fsync '/out/parts/part-00003.h5' for .* \\[sync\\]");
}

TEST_F(WatchdogDeathTest, ATileOfAnotherThreadIsReported) {
  const auto hang = [] {
    TalkingWatchdog watchdog(0.3);
    std::thread([&] {
      const Watchdog::Watch watch(&watchdog, {.tile = TileId{3, 4}});
      sleep_for(60);
    }).join();
  };

  EXPECT_EXIT(hang(), testing::ExitedWithCode(69), "stuck in the tile in row 3, column 4");
}

TEST_F(WatchdogDeathTest, AMainThreadWithoutCompletedOperationsIsStuck) {
  const auto hang = [] {
    TalkingWatchdog watchdog(0.3);
    watchdog.begin_phase("plan");
    sleep_for(60);
  };

  EXPECT_EXIT(hang(), testing::ExitedWithCode(69), "no operation has completed .*plan");
}

TEST_F(WatchdogDeathTest, AnExternalReportEndsTheProcess) {
  const auto lose_a_peer = [] {
    TalkingWatchdog watchdog(60);
    watchdog.expire("rank 7 has died");
  };

  EXPECT_EXIT(lose_a_peer(), testing::ExitedWithCode(69), "rank 7 has died");
}

TEST(Watchdog, WorkThatProceedsInStepsIsNotStuck) {
  TalkingWatchdog watchdog(1.0);
  const Watchdog::Watch tile(&watchdog, {.tile = TileId{0, 0}});

  for (int step = 0; step < 20; ++step) {  // twice the deadline
    const Watchdog::Watch call(&watchdog, {Activity::kWrite, "pwrite", "part"});
    sleep_for(0.1);
  }

  EXPECT_EQ(watchdog.location().work, "the tile in row 0, column 0");
}

TEST(Watchdog, AWatchThatIsFedIsNotStuck) {
  TalkingWatchdog watchdog(1.0);
  Watchdog::Watch waiting(&watchdog, {Activity::kCollective, "wait_for_all"});

  for (int step = 0; step < 20; ++step) {
    sleep_for(0.1);
    waiting.feed();
  }

  EXPECT_EQ(watchdog.location().work, "wait_for_all");
}

TEST(Watchdog, TheLocationOfAFailureIsTheWorkThatTheExceptionEndedFirst) {
  TalkingWatchdog watchdog(60);
  watchdog.begin_phase("compute");
  try {
    const Watchdog::Watch tile(&watchdog, {.tile = TileId{5, 6}});
    const Watchdog::Watch call(&watchdog, {Activity::kWrite, "pwrite", "part-00001.h5"});
    throw std::runtime_error("no space");
  } catch (const std::runtime_error&) {
    watchdog.begin_phase("later");
  }

  const Location where = watchdog.location();

  EXPECT_EQ(where.phase, "compute");
  EXPECT_EQ(where.work, "pwrite 'part-00001.h5'");
  EXPECT_EQ(where.tile, (TileId{5, 6}));
}

TEST(WatchedCalls, KeepTheErrorNumberOfTheCall) {
  TalkingWatchdog watchdog(60);
  const auto calls = make_watched_calls(system_file_calls(), watchdog);

  const int result = calls->open("/nowhere/at/all", O_RDONLY, 0);
  const int error_number = errno;

  EXPECT_EQ(result, -1);
  EXPECT_EQ(error_number, ENOENT);
}

}  // namespace
}  // namespace bulksim::test
