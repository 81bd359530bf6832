#include "job/config/failure_record.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

nlohmann::json read_json(const std::string& path) {
  return nlohmann::json::parse(read_file(path));
}

TEST(FailureRecord, RecordsRankPlaceAndCauseOfAFailure) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "errors");
  FailureRecord record(system_file_calls());
  record.set_rank(7);
  record.open(folder / "errors", 3);

  record.write(ExitCode::kIoError, "cannot write 'a': No space left", 28,
               {"compute", "pwrite 'a'", TileId{5, 6}});

  const auto json = read_json(folder / "errors/a0003-r0007.json");
  EXPECT_EQ(json["cause"], "cannot write 'a': No space left");
  EXPECT_EQ(json["exit_code"], 74);
  EXPECT_EQ(json["errno"], 28);
  EXPECT_EQ(json["rank"], 7);
  EXPECT_EQ(json["phase"], "compute");
  EXPECT_EQ(json["work"], "pwrite 'a'");
  EXPECT_EQ(json["tile"], nlohmann::json({{"row", 5}, {"column", 6}}));
  EXPECT_FALSE(json["host"].get<std::string>().empty());
  EXPECT_TRUE(json["root_cause"]);
}

TEST(FailureRecord, TheFirstOfAnAttemptIsTheRootCause) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "errors");
  for (const int attempt : {1, 2}) {
    for (const int rank : {4, 2}) {
      FailureRecord record(system_file_calls());
      record.set_rank(rank);
      record.open(folder / "errors", attempt);
      record.write(ExitCode::kUnavailable, "a peer is lost", 0, {});
    }
  }

  EXPECT_TRUE(read_json(folder / "errors/a0001-r0004.json")["root_cause"]);
  EXPECT_FALSE(read_json(folder / "errors/a0001-r0002.json")["root_cause"]);
  EXPECT_TRUE(read_json(folder / "errors/a0002-r0004.json")["root_cause"]);
}

TEST(FailureRecord, KeepsTheFirstFailureOfAProcess) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "errors");
  FailureRecord record(system_file_calls());
  record.open(folder / "errors", 1);
  record.write(ExitCode::kIoError, "the cause", 0, {});

  record.write(ExitCode::kUnavailable, "a consequence", 0, {});

  EXPECT_EQ(read_json(folder / "errors/a0001-r0000.json")["cause"], "the cause");
}

TEST(FailureRecord, WritesNothingBeforeItIsOpenedAndAfterItsFolderIsGone) {
  const TemporaryFolder folder;
  FailureRecord early(system_file_calls());
  FailureRecord late(system_file_calls());
  late.open(folder / "errors", 1);

  early.write(ExitCode::kUsage, "no such option", 0, {});
  late.write(ExitCode::kIoError, "too late", 0, {});

  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace bulksim::test
