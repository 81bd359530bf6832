#include "core/run/stop_request.hpp"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "job/config/deadlines.hpp"
#include "job/config/job_config.hpp"

namespace bulksim::test {
namespace {

// Signals affect the whole process, so each test that sends one uses a separate process.
class StopRequestDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Exits with 0 when `holds` is true.
[[noreturn]] void log_failure(bool holds) {
  _exit(holds ? 0 : 1);
}

TEST_F(StopRequestDeathTest, ASignalRequestsAStopAndIsReported) {
  for (const auto& [signal, name] :
       {std::pair{SIGUSR1, "SIGUSR1"}, {SIGTERM, "SIGTERM"}, {SIGINT, "SIGINT"}}) {
    const auto send = [signal = signal, name = name] {
      listen_to_signals();
      const StopRequest stop;
      const bool before = stop.requested();
      std::raise(signal);
      log_failure(!before && stop.requested() && stop.reason() == name);
    };

    EXPECT_EXIT(send(), testing::ExitedWithCode(0), "") << name;
  }
}

TEST_F(StopRequestDeathTest, TwoSignalsAtOnceAreOneRequest) {
  const auto send = [] {
    listen_to_signals();
    std::raise(SIGUSR1);
    std::raise(SIGTERM);
    log_failure(StopRequest().requested());
  };

  EXPECT_EXIT(send(), testing::ExitedWithCode(0), "");
}

TEST_F(StopRequestDeathTest, ASecondSignalWithinFiveSecondsEndsTheProcess) {
  const auto send = [] {
    listen_to_signals();
    std::raise(SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    std::raise(SIGUSR1);
    log_failure(true);
  };

  EXPECT_EXIT(send(), testing::ExitedWithCode(75), "");
}

TEST_F(StopRequestDeathTest, Sigusr2RequestsOneProgressLineAndNothingElse) {
  const auto send = [] {
    listen_to_signals();
    std::raise(SIGUSR2);
    const bool asked = take_progress_request();
    log_failure(asked && !take_progress_request() && !StopRequest().requested());
  };

  EXPECT_EXIT(send(), testing::ExitedWithCode(0), "");
}

TEST(StopRequest, TheTimeLimitRequestsAStop) {
  const StopRequest never;
  const StopRequest now(0.0);

  EXPECT_FALSE(never.requested());
  EXPECT_EQ(never.reason(), "");
  EXPECT_EQ(now.reason(), "the time limit");
  EXPECT_THROW(now.check(), Stopped);
}

TEST(StopRequest, ATimeLimitLeavesTimeToStop) {
  EXPECT_DOUBLE_EQ(stop_after(10), 35'640);         // 0.99 of the limit
  EXPECT_DOUBLE_EQ(stop_after(0.5), 1'800 - 30);    // half a minute before the limit
  EXPECT_DOUBLE_EQ(stop_after(10.0 / 3'600), 9.0);  // a tenth before a short limit
}

TEST(Deadlines, AreReadByNameOrAllAtOnce) {
  const Deadlines some = parse_deadlines("tile=7,write=0.5");
  const Deadlines all = parse_deadlines("3");

  EXPECT_EQ(some.tile, 7);
  EXPECT_EQ(some.write, 0.5);
  EXPECT_EQ(some.read, Deadlines().read);
  EXPECT_EQ(all.init, 3);
  EXPECT_EQ(all.collective, 3);
}

TEST(Deadlines, AnythingElseIsRefused) {
  for (const char* text :
       {"tiles=3", "tile", "tile=", "tile=0", "tile=-1", "tile=nan", "tile=3s"}) {
    EXPECT_THROW(parse_deadlines(text), Error) << text;
  }
}

}  // namespace
}  // namespace bulksim::test
