// The communicator over NCCL with a stand-in for its library: ranks are threads, and each fault can
// occur on any of them.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/nccl/setup.hpp"
#include "emulator/device/emulated_runtime.hpp"
#include "emulator/nccl/nccl_stand_in.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using nccl_stand_in::Fault;
using nccl_stand_in::kRanks;
using nccl_stand_in::Library;
using nccl_stand_in::library;

/// State with which the ranks of one process meet without MPI.
struct Meeting {
  std::barrier<> barrier{kRanks};
  std::atomic<bool> lost = false;  // whether a rank is lost
  std::array<std::vector<std::byte>, kRanks> bytes;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return kRanks; }
  void barrier() override {
    meeting_.barrier.arrive_and_wait();
    if (meeting_.lost) throw Error(ExitCode::kUnavailable, "a rank is lost");
  }
  void wait_for_all() override { barrier(); }
  void broadcast(std::vector<std::byte>& bytes) override {
    if (rank_ == 0) meeting_.bytes[0] = bytes;
    barrier();
    bytes = meeting_.bytes[0];
    barrier();
  }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> bytes) override {
    meeting_.bytes[static_cast<std::size_t>(rank_)].assign(bytes.begin(), bytes.end());
    barrier();
    std::vector<std::vector<std::byte>> all;
    if (rank_ == 0) all.assign(meeting_.bytes.begin(), meeting_.bytes.end());
    barrier();
    return all;
  }
  std::vector<std::vector<std::byte>> exchange(
      const std::vector<std::vector<std::byte>>&) override {
    std::abort();
  }
  void all_reduce_sum(std::span<std::int64_t>) override { std::abort(); }
  void all_reduce_sum(std::span<double>) override { std::abort(); }
  void all_reduce_max(std::span<std::int64_t>) override { std::abort(); }

 private:
  Meeting& meeting_;
  int rank_;
};

class NcclTest : public testing::Test {
 protected:
  NcclTest() {
    emulator::reset_runtime({.devices = kRanks});
    library = &library_;
  }
  ~NcclTest() override {
    library = nullptr;
    emulator::reset_runtime();
    EXPECT_EQ(emulator::live_objects(), 0);
  }

  /// Runs `body` on every rank; returns what each has thrown as "69: sentence", or "nothing".
  template <class Body>
  std::array<std::string, kRanks> on_all_ranks(const Body& body) {
    Meeting meeting;
    std::array<std::string, kRanks> thrown;
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < kRanks; ++rank) {
        threads.emplace_back([&, rank] {
          nccl_stand_in::this_rank = rank;
          ThreadCommunicator control(meeting, rank);
          thrown[static_cast<std::size_t>(rank)] = test::error_of([&] { body(control, rank); });
          if (thrown[static_cast<std::size_t>(rank)] != "nothing") meeting.lost = true;
          meeting.barrier.arrive_and_drop();  // the others no longer wait for this rank
        });
      }
    }
    return thrown;
  }

  /// What each rank reports for a sum after a fault of the device of rank 0.
  template <class Break>
  std::array<std::string, kRanks> all_reduce_after(const Break& break_device) {
    deadline_ = 0.1;
    return on_all_ranks([&](Communicator& control, int rank) {
      const NcclSetup made = make_setup(control);
      std::vector<std::int64_t> values{1};
      control.barrier();
      if (rank == 0) break_device();
      control.barrier();

      made.world->all_reduce_sum(values);
    });
  }

  NcclSetup make_setup(Communicator& control, const std::string& why_not = "") {
    return nccl::make_setup(why_not.empty() ? &nccl_stand_in::kCalls : nullptr, why_not, control,
                            control.rank(), {.deadline_seconds = deadline_});
  }

  Library library_;
  double deadline_ = 20.0;  ///< seconds
};

TEST_F(NcclTest, ReducesAndMovesWhatEveryRankHas) {
  const auto thrown = on_all_ranks([&](Communicator& control, int rank) {
    const NcclSetup made = make_setup(control);
    Communicator& world = *made.world;
    std::vector<std::int64_t> sums{rank + 1, -rank};
    std::vector<std::int64_t> largest{rank == 1 ? 9 : -5};
    std::vector<double> disjoint(kRanks);
    disjoint[static_cast<std::size_t>(rank)] = 1.0 / (rank + 3);
    std::vector<std::byte> bytes(rank == 0 ? 5U : 2U, static_cast<std::byte>(rank + 65));

    world.all_reduce_sum(sums);
    world.all_reduce_max(largest);
    world.all_reduce_sum(disjoint);
    world.broadcast(bytes);
    const auto gathered =
        world.gather(std::vector<std::byte>(static_cast<std::size_t>(rank * 4), std::byte{7}));

    EXPECT_EQ(made.version, "NCCL 2.28.9");
    EXPECT_EQ(sums, (std::vector<std::int64_t>{6, -3}));
    EXPECT_EQ(largest, (std::vector<std::int64_t>{9}));
    EXPECT_EQ(disjoint, (std::vector<double>{1.0 / 3, 1.0 / 4, 1.0 / 5}));
    EXPECT_EQ(bytes, std::vector<std::byte>(5, std::byte{65}));
    if (rank != 0) return;
    ASSERT_EQ(gathered.size(), 3U);
    EXPECT_EQ(gathered[0].size(), 0U);
    EXPECT_EQ(gathered[2], std::vector<std::byte>(8, std::byte{7}));
  });

  EXPECT_EQ(thrown, (std::array<std::string, kRanks>{"nothing", "nothing", "nothing"}));
  EXPECT_EQ(library_.destroyed, kRanks);
  EXPECT_EQ(library_.aborted, 0);
}

TEST_F(NcclTest, SplitsWhatIsTooLongForItsBuffers) {
  constexpr std::size_t kCount = (std::size_t{8} << 20) / 8 + 1000;

  const auto thrown = on_all_ranks([&](Communicator& control, int rank) {
    const NcclSetup made = make_setup(control);
    std::vector<std::int64_t> values(kCount, rank);
    values.back() = 10;

    made.world->all_reduce_sum(values);

    EXPECT_EQ(values.front(), 3);
    EXPECT_EQ(values[kCount - 2], 3);
    EXPECT_EQ(values.back(), 30);
  });

  EXPECT_EQ(thrown[0], "nothing");
  EXPECT_EQ(library_.collectives, 2);
}

TEST_F(NcclTest, IsNotAvailableWhenARankDoesNotHaveTheLibrary) {
  const auto thrown = on_all_ranks([&](Communicator& control, int rank) {
    const NcclSetup made = make_setup(control, rank == 2 ? "cannot load 'libnccl.so.2'" : "");

    EXPECT_EQ(made.world, nullptr);
    EXPECT_EQ(made.why_not, "rank 2: cannot load 'libnccl.so.2'");
  });

  EXPECT_EQ(thrown[0], "nothing");
}

TEST_F(NcclTest, MismatchedCountsAreRejectedByAllBeforeAnyDataMoves) {
  const auto thrown = on_all_ranks([&](Communicator& control, int rank) {
    const NcclSetup made = make_setup(control);
    std::vector<std::int64_t> values(rank == 1 ? 5U : 4U, 1);

    const std::string sentence = test::error_of([&] { made.world->all_reduce_sum(values); });

    EXPECT_EQ(sentence.substr(0, 3), "70:");
    EXPECT_NE(sentence.find("rank 0 is in all_reduce_sum with 4 values, rank 1 in all_reduce_sum "
                            "with 5 values"),
              std::string::npos)
        << sentence;
    EXPECT_EQ(library->collectives, 0);
    values.assign(1, rank);
    made.world->all_reduce_sum(values);
    EXPECT_EQ(values[0], 3);
  });

  EXPECT_EQ(thrown[0], "nothing");
}

TEST_F(NcclTest, AStuckDeviceIsAbandonedAtTheDeadline) {
  const auto thrown = all_reduce_after([] { emulator::stall_events(); });

  for (const std::string& sentence : thrown) {
    EXPECT_EQ(sentence.substr(0, 3), "69:");
    EXPECT_NE(sentence.find("in all_reduce_sum, has waited"), std::string::npos) << sentence;
  }
  EXPECT_EQ(library_.aborted, kRanks);
}

TEST_F(NcclTest, NamesTheDeviceWhoseCallHasFailed) {
  const auto thrown =
      all_reduce_after([] { emulator::fail_call("cudaMemcpyAsync", 1, cudaErrorInvalidValue); });

  const auto named = std::count_if(thrown.begin(), thrown.end(), [](const std::string& sentence) {
    return sentence.starts_with("69: cannot copy to the device") &&
           sentence.find("on emulated device (GPU-") != std::string::npos;
  });
  EXPECT_EQ(named, 1) << thrown[0] << '\n' << thrown[1] << '\n' << thrown[2];
}

TEST_F(NcclTest, CannotBeUsedAfterAFault) {
  library_.fault = Fault::kCallFails;
  library_.faulty = 0;
  deadline_ = 0.1;

  const auto thrown = on_all_ranks([&](Communicator& control, int) {
    const NcclSetup made = make_setup(control);
    std::vector<std::int64_t> values{1};
    test::error_of([&] { made.world->all_reduce_sum(values); });

    made.world->all_reduce_sum(values);
  });

  EXPECT_NE(thrown[0].find("had failed before"), std::string::npos) << thrown[0];
}

using FaultCase = std::tuple<Fault, int>;

class NcclFaultTest : public NcclTest, public testing::WithParamInterface<FaultCase> {};

INSTANTIATE_TEST_SUITE_P(
    Faults, NcclFaultTest,
    testing::Combine(testing::Values(Fault::kOtherVersion, Fault::kNoIdentity, Fault::kInitFails,
                                     Fault::kInitHangs, Fault::kInitFailsLater, Fault::kCallFails,
                                     Fault::kCallFailsLater, Fault::kPeerIsLost),
                     testing::Values(0, 1, 2)),
    [](const auto& test_case) {
      return nccl_stand_in::name_of(std::get<0>(test_case.param)) + "AtRank" +
             std::to_string(std::get<1>(test_case.param));
    });

TEST_P(NcclFaultTest, EveryRankEndsWith69AndNothingIsLeftRunning) {
  library_.fault = std::get<0>(GetParam());
  library_.faulty = std::get<1>(GetParam());
  deadline_ = 0.1;

  const auto thrown = on_all_ranks([&](Communicator& control, int) {
    const NcclSetup made = make_setup(control);
    std::vector<std::int64_t> values{1, 2, 3};
    made.world->all_reduce_sum(values);
    made.world->barrier();  // ranks without a fault continue
  });

  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string& sentence = thrown[static_cast<std::size_t>(rank)];
    EXPECT_EQ(sentence.substr(0, 3), "69:") << "rank " << rank << ": " << sentence;
    EXPECT_NE(sentence.find("rank "), std::string::npos) << sentence;
  }
  EXPECT_EQ(library_.aborted, library_.made);
  EXPECT_EQ(library_.destroyed, 0);
}

}  // namespace
}  // namespace bulksim
