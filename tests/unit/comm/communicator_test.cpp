#include "comm/communicator.hpp"

#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/mpi_test_main.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::environment;
using test::error_of;
using test::world;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::byte> to_bytes(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

/// Element `at` of the vector of rank `rank`.
std::int64_t element(int rank, std::size_t at) {
  return (static_cast<std::int64_t>(at) * 7919 + 13) * (rank % 2 == 0 ? rank + 1 : -rank);
}

std::vector<std::int64_t> vector_of(int rank, std::size_t count) {
  std::vector<std::int64_t> values(count);
  for (std::size_t at = 0; at < count; ++at)
    values[at] = element(rank, at);
  return values;
}

std::int64_t sum_of_ranks(int ranks, std::size_t at) {
  std::int64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank)
    sum += element(rank, at);
  return sum;
}

TEST(SelfCommunicator, BehavesLikeASingleRank) {
  const auto comm = make_self_communicator();
  std::vector<std::int64_t> sums{3, -2};
  std::vector<std::int64_t> largest{-7};
  auto bytes = to_bytes("abc");

  comm->barrier();
  comm->wait_for_all();
  comm->all_reduce_sum(sums);
  comm->all_reduce_max(largest);
  comm->broadcast(bytes);
  const auto gathered = comm->gather(to_bytes("xy"));

  EXPECT_EQ(comm->size(), 1);
  EXPECT_EQ(comm->rank(), 0);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{3, -2}));
  EXPECT_EQ(largest, std::vector<std::int64_t>{-7});
  EXPECT_EQ(bytes, to_bytes("abc"));
  ASSERT_EQ(gathered.size(), 1U);
  EXPECT_EQ(gathered[0], to_bytes("xy"));
}

TEST(Communicator, EveryRankHasItsNumber) {
  std::vector<std::int64_t> seen(static_cast<std::size_t>(world().size()), 0);
  seen[static_cast<std::size_t>(world().rank())] = 1;

  world().all_reduce_sum(seen);

  EXPECT_EQ(seen, std::vector<std::int64_t>(seen.size(), 1));
}

TEST(Communicator, SumsEveryElementOverAllRanks) {
  auto values = vector_of(world().rank(), 1001);

  world().all_reduce_sum(values);

  for (std::size_t at = 0; at < values.size(); ++at) {
    ASSERT_EQ(values[at], sum_of_ranks(world().size(), at)) << at;
  }
}

TEST(Communicator, SumOfDisjointNumbersIsExact) {
  constexpr std::size_t kCount = 50;
  const auto ranks = static_cast<std::size_t>(world().size());
  const auto number = [](std::size_t at) { return 1.0 / (3.0 + static_cast<double>(at)); };
  std::vector<double> values(kCount);
  for (auto at = static_cast<std::size_t>(world().rank()); at < kCount; at += ranks)
    values[at] = number(at);

  world().all_reduce_sum(values);

  for (std::size_t at = 0; at < kCount; ++at)
    ASSERT_EQ(values[at], number(at)) << at;
}

TEST(Communicator, TakesTheMaximumOfEveryElementOverAllRanks) {
  auto values = vector_of(world().rank(), 77);

  world().all_reduce_max(values);

  for (std::size_t at = 0; at < values.size(); ++at) {
    std::int64_t expected = element(0, at);
    for (int rank = 1; rank < world().size(); ++rank) {
      expected = std::max(expected, element(rank, at));
    }
    ASSERT_EQ(values[at], expected) << at;
  }
}

TEST(Communicator, ReducesAnEmptySpan) {
  std::vector<std::int64_t> nothing;

  world().all_reduce_sum(nothing);
  world().all_reduce_max(nothing);

  EXPECT_TRUE(nothing.empty());
}

TEST(Communicator, BroadcastReplacesTheBytesOfTheOtherRanks) {
  auto bytes = to_bytes(std::string(static_cast<std::size_t>(5 * world().rank() + 3), 'a'));

  world().broadcast(bytes);

  EXPECT_EQ(bytes, to_bytes("aaa"));
}

TEST(Communicator, BroadcastOfNoBytesLeavesNoBytes) {
  auto bytes = to_bytes(world().rank() == 0 ? "" : "old");

  world().broadcast(bytes);

  EXPECT_TRUE(bytes.empty());
}

TEST(Communicator, TextOfRank0ArrivesOnEveryRank) {
  const std::string text = broadcast_text(world(), world().rank() == 0 ? "plan \n {}" : "other");

  EXPECT_EQ(text, "plan \n {}");
}

TEST(Communicator, GatherKeepsTheLengthOfEveryRankEvenIfEmpty) {
  const int rank = world().rank();
  const auto mine = to_bytes(std::string(static_cast<std::size_t>(rank == 1 ? 0 : 10 + rank), 'g'));

  const auto all = world().gather(mine);

  if (rank != 0) {
    EXPECT_TRUE(all.empty());
    return;
  }
  ASSERT_EQ(all.size(), static_cast<std::size_t>(world().size()));
  for (std::size_t peer = 0; peer < all.size(); ++peer) {
    EXPECT_EQ(all[peer], to_bytes(std::string(peer == 1 ? 0 : 10 + peer, 'g'))) << peer;
  }
}

/// What a rank sends to another in the tests of exchange.
std::string letter(std::size_t from, std::size_t to) {
  return std::string(from == to || (from + to) % 3 == 0 ? 0 : 100 * from + to, 'x') +
         std::to_string(from);
}

TEST(Communicator, ExchangeBringsEveryRankWhatTheOthersSentToIt) {
  const auto rank = static_cast<std::size_t>(world().rank());
  const auto ranks = static_cast<std::size_t>(world().size());
  std::vector<std::vector<std::byte>> letters;
  for (std::size_t peer = 0; peer < ranks; ++peer)
    letters.push_back(to_bytes(letter(rank, peer)));

  const auto received = world().exchange(letters);

  ASSERT_EQ(received.size(), ranks);
  for (std::size_t peer = 0; peer < ranks; ++peer)
    EXPECT_EQ(received[peer], to_bytes(letter(peer, rank))) << peer;
}

class SplitMessages : public testing::TestWithParam<std::int64_t> {};

TEST_P(SplitMessages, MessagesOfAnyLengthAreSplit) {
  const auto comm =
      environment->make_communicator({.deadline_seconds = 30.0, .largest_message = GetParam()});
  const std::string text = "a text that is longer than one message";
  auto sums = vector_of(comm->rank(), 23);
  auto bytes = to_bytes(comm->rank() == 0 ? text : "");

  comm->all_reduce_sum(sums);
  comm->broadcast(bytes);
  std::vector<std::vector<std::byte>> letters;
  for (int peer = 0; peer < comm->size(); ++peer)
    letters.push_back(to_bytes(text.substr(static_cast<std::size_t>(peer))));
  const auto received = comm->exchange(letters);
  const auto all =
      comm->gather(to_bytes(text.substr(0, static_cast<std::size_t>(comm->rank()) + 7)));

  for (std::size_t at = 0; at < sums.size(); ++at) {
    ASSERT_EQ(sums[at], sum_of_ranks(comm->size(), at)) << at;
  }
  EXPECT_EQ(bytes, to_bytes(text));
  for (const auto& one : received)
    EXPECT_EQ(one, to_bytes(text.substr(static_cast<std::size_t>(comm->rank()))));
  for (std::size_t peer = 0; peer < all.size(); ++peer) {
    EXPECT_EQ(all[peer], to_bytes(text.substr(0, peer + 7))) << peer;
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, SplitMessages, testing::Values(1, 7, 22, 23, 24));

TEST(CommunicatorOnSeveralRanks, DifferentCountsAreTheSameErrorOnAllRanks) {
  std::vector<std::int64_t> values(world().rank() == 1 ? 5 : 4, 2);

  const std::string sentence = error_of([&] { world().all_reduce_sum(values); });
  std::vector<std::int64_t> afterwards{1};
  world().all_reduce_sum(afterwards);

  EXPECT_THAT(sentence,
              AllOf(StartsWith("70: "), HasSubstr("rank 0 is in all_reduce_sum with 4 values"),
                    HasSubstr("rank 1 in all_reduce_sum with 5 values")));
  EXPECT_EQ(values, std::vector<std::int64_t>(values.size(), 2));
  EXPECT_EQ(afterwards[0], world().size());
}

TEST(CommunicatorOnSeveralRanks, DifferentCallsAreTheSameErrorOnAllRanks) {
  std::vector<std::int64_t> values(3, 2);

  const std::string sentence = error_of([&] {
    if (world().rank() == 0) world().barrier();
    if (world().rank() != 0) world().all_reduce_max(values);
  });
  world().barrier();

  EXPECT_THAT(sentence, AllOf(StartsWith("70: "), HasSubstr("rank 0 is in barrier"),
                              HasSubstr("rank 1 in all_reduce_max")));
}

TEST(CommunicatorOnSeveralRanks, AMissingRankIsReportedAfterTheDeadline) {
  const int last = world().size() - 1;
  const auto comm = environment->make_communicator({.deadline_seconds = 1.0});
  std::string sentence;

  if (world().rank() != last) {
    sentence = error_of([&] { comm->barrier(); });
  }
  world().barrier();

  if (world().rank() == last) {
    EXPECT_EQ(sentence, "");
  } else {
    EXPECT_THAT(sentence, AllOf(StartsWith("69: "), HasSubstr("has waited in barrier for")));
  }
  if (world().rank() == 0) {
    EXPECT_THAT(sentence, HasSubstr("for rank " + std::to_string(last) + " for"));
  }
}

TEST(Communicator, WaitingForAllHasNoDeadline) {
  const auto comm = environment->make_communicator({.deadline_seconds = 0.05});
  if (comm->rank() == comm->size() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }

  const std::string error = error_of([&] { comm->wait_for_all(); });

  EXPECT_EQ(error, "nothing");
}

TEST(Communicator, WaitsForALatePeerWithinTheDeadline) {
  std::vector<std::int64_t> values{1};

  if (world().rank() == world().size() - 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  world().all_reduce_sum(values);

  EXPECT_EQ(values[0], world().size());
}

}  // namespace
}  // namespace bulksim
