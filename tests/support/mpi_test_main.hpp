#pragma once

// The main function of a test that runs on several ranks: include it in the test's only source
// file. A test communicates first and asserts afterwards; otherwise a failing rank leaves the
// others waiting. Suites with OnOneRank or OnSeveralRanks in their name run only on that many
// ranks.

#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "comm/mpi_environment.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {

inline MpiEnvironment* environment = nullptr;

inline Communicator& world() {
  return environment->world();
}

/// A folder shared by all ranks; rank 0 creates and removes it.
class SharedFolder {
 public:
  SharedFolder() {
    if (world().rank() == 0) own_.emplace();
    path_ = broadcast_text(world(), own_ ? own_->path() : "");
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::optional<TemporaryFolder> own_;
  std::string path_;
};

/// Prints only failures, with their rank.
class RankPrinter final : public testing::EmptyTestEventListener {
 public:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "rank %d of %d: %s:%d\n%s\n", world().rank(), world().size(),
                 result.file_name(), result.line_number(), result.message());
  }
};

inline void print_by_rank() {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world().rank() != 0) delete listeners.Release(listeners.default_result_printer());
  if (world().rank() != 0) listeners.Append(new RankPrinter);
}

inline void leave_out_suites_for_other_numbers_of_ranks() {
  const std::string filter = GTEST_FLAG_GET(filter);
  const std::string others = world().size() == 1 ? "*OnSeveralRanks*" : "*OnOneRank*";
  GTEST_FLAG_SET(filter, filter + (filter.find('-') == std::string::npos ? "-" : ":") + others);
}

inline int run_on_all_ranks() {
  MpiEnvironment mpi({.deadline_seconds = 30.0});
  environment = &mpi;
  try {
    print_by_rank();
    leave_out_suites_for_other_numbers_of_ranks();
    std::array<std::int64_t, 1> failed{RUN_ALL_TESTS()};
    mpi.world().all_reduce_max(failed);
    return mpi.exit_status(failed[0] == 0 ? ExitCode::kOk : ExitCode::kSoftware);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    mpi.abort(ExitCode::kSoftware);
  }
}

}  // namespace bulksim::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return bulksim::test::run_on_all_ranks();
}
