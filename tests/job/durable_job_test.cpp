#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "core/files/forwarding_calls.hpp"
#include "job/inspect/status_job.hpp"
#include "job/inspect/versions_job.hpp"
#include "job/publish/change_guard.hpp"
#include "storage/result/similarity_file.hpp"
#include "storage/run/versions.hpp"
#include "support/failing_disk.hpp"
#include "support/job_support.hpp"

namespace bulksim::test {
namespace {

FileCalls& calls = system_file_calls();

/// Inode and time of every file below a folder.
std::map<std::string, std::pair<ino_t, std::int64_t>> info_of(const std::string& folder) {
  std::map<std::string, std::pair<ino_t, std::int64_t>> info;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    struct stat status {};
    lstat(entry.path().c_str(), &status);
    info[entry.path()] = {status.st_ino,
                          status.st_mtim.tv_sec * 1'000'000'000LL + status.st_mtim.tv_nsec};
  }
  return info;
}

/// Refuses to give files a name with a given suffix.
class FailingName final : public ForwardingCalls {
 public:
  explicit FailingName(std::string end) : end_(std::move(end)) {}

  int link(const char* from, const char* to) override {
    return is_refused(to) ? -1 : ForwardingCalls::link(from, to);
  }
  int rename(const char* from, const char* to) override {
    return is_refused(to) ? -1 : ForwardingCalls::rename(from, to);
  }

 private:
  bool is_refused(const std::string& to) const {
    errno = EIO;
    return to.ends_with(end_);
  }

  std::string end_;
};

nlohmann::json report_of(const JobBench& bench) {
  return nlohmann::json::parse(read_file(bench.version() + "/report.json"));
}

std::map<std::string, std::string> undisturbed_files() {
  JobBench bench;
  bench.run();
  return bench.files();
}

TEST(DurableJob, TheSameCommandAfterSuccessChangesNothing) {
  JobBench bench;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const auto before = info_of(bench.config.output);

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_EQ(info_of(bench.config.output), before);
  EXPECT_EQ(bench.result, bench.config.output + "/CURRENT/similarity.h5");
}

TEST(DurableJob, AFinishedSingleFileIsFoundToBeDoneAndNothingIsLeftBesideIt) {
  JobBench bench;
  bench.config.output = bench.folder / "result.h5";
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const auto before = info_of(bench.folder.path());

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_EQ(info_of(bench.folder.path()), before);
  EXPECT_FALSE(std::filesystem::exists(bench.folder / ".result.h5.bulksim"));
}

TEST(DurableJob, LeftoversOfAStopBesideASingleFileAreRemovedByTheNextRun) {
  for (const char* left : {".result.h5.bulksim", ".result.h5.bulksim.old"}) {
    JobBench bench;
    bench.config.output = bench.folder / "result.h5";
    ASSERT_EQ(bench.run(), 0) << bench.sentence;
    const auto before = info_of(bench.folder.path());
    const std::string folder = bench.folder / left;
    std::filesystem::create_directories(folder + "/inputs");
    std::ofstream(folder + "/.bulksim") << "{\"format\":1}\n";

    EXPECT_EQ(bench.run(), 0) << bench.sentence;

    EXPECT_EQ(info_of(bench.folder.path()), before) << left;
  }
}

TEST(DurableJob, ARefusedInputLeavesNothing) {
  for (const char* output : {"result.h5", "out", "empty"}) {
    JobBench bench;
    bench.config.items = bench.folder / "items.npz";
    bench.config.output = bench.folder / output;
    std::ofstream(bench.config.items) << "not an archive";
    std::filesystem::create_directory(bench.folder / "empty");
    const auto before = info_of(bench.folder.path());

    EXPECT_EQ(bench.run(), 65) << bench.sentence;

    auto after = info_of(bench.folder.path());
    after[bench.folder / "empty"] = before.at(bench.folder / "empty");
    EXPECT_EQ(after, before) << output;
  }
}

TEST(DurableJob, ADiskThatIsFullFromTheStartKeepsNoWork) {
  JobBench bench;
  bench.config.output = bench.folder / "result.h5";
  class Full final : public ForwardingCalls {
   public:
    int fallocate(int, off_t, off_t) override {
      errno = ENOSPC;
      return -1;
    }
  } full;

  EXPECT_EQ(bench.run(full), 74) << bench.sentence;

  EXPECT_FALSE(std::filesystem::exists(bench.folder / ".result.h5.bulksim"));
}

TEST(DurableJob, RecomputeMakesANewVersionOfTheSameBytes) {
  JobBench bench;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const auto before = bench.files();
  bench.config.repeat = Repeat::kRecompute;

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_EQ(bench.files(), before);
  EXPECT_EQ(list_versions(calls, bench.config.output).size(), 2U);
}

TEST(DurableJob, AFullDiskAtAnyMomentGives74AndTheNextRunResumes) {
  const auto reference = undisturbed_files();
  Random random(51);
  std::int64_t resumed = 0;
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    JobBench bench;
    FailingDisk disk;
    disk.room = random.below(4 * 12 * 32 * 256 * 4);

    const int code = bench.run(disk);

    ASSERT_EQ(code, 74) << bench.sentence;
    ASSERT_FALSE(std::filesystem::exists(bench.config.output + "/CURRENT"));
    ASSERT_EQ(bench.run(), 0) << bench.sentence;
    ASSERT_EQ(bench.files(), reference);
    resumed += report_of(bench)["tiles"]["resumed"].get<std::int64_t>();
  }
  EXPECT_GT(resumed, 20);
}

TEST(DurableJob, TilesWhoseSyncFailedAreNeverTrusted) {
  const auto reference = undisturbed_files();
  JobBench bench;
  FailingDisk disk;
  disk.failing_syncs = 1;

  EXPECT_EQ(bench.run(disk), 74) << bench.sentence;

  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  EXPECT_EQ(report_of(bench)["tiles"]["resumed"], 0);
  EXPECT_EQ(bench.files(), reference);
}

TEST(DurableJob, ATileDamagedAfterItsSyncIsRecomputedBeforePublication) {
  const auto reference = undisturbed_files();
  JobBench bench;
  FailingDisk disk;
  disk.room = 4 * 12 * 32 * 256 * 4 * 3 / 4;
  ASSERT_EQ(bench.run(disk), 74) << bench.sentence;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(bench.config.output + "/staging")) {
    if (entry.path().extension() != ".h5") continue;
    std::fstream part(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
    part.seekp((1 << 20) + 100);
    part.write("damage", 6);
  }
  bench.config.read_back = ReadBack::kFull;

  int code = bench.run();
  for (int again = 0; again < 3 && code == 65; ++again)
    code = bench.run();

  EXPECT_EQ(code, 0) << bench.sentence;
  EXPECT_EQ(bench.files(), reference);
}

TEST(DurableJob, AnotherInputIsAnotherPlanAndOldTilesAreUnchanged) {
  JobBench bench;
  FailingDisk disk;
  disk.room = 500'000;
  ASSERT_EQ(bench.run(disk), 74) << bench.sentence;
  const std::string staging = bench.config.output + "/staging";
  const auto before = list_directory(calls, staging);
  write_csr(bench.config.items, random_rows(3'000, 300, 10, 43));

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_EQ(report_of(bench)["tiles"]["resumed"], 0);
  EXPECT_EQ(list_directory(calls, staging), before);
}

TEST(DurableJob, AnotherTileIsAnotherPlan) {
  JobBench bench;
  FailingDisk disk;
  disk.room = 900'000;
  ASSERT_EQ(bench.run(disk), 74) << bench.sentence;
  bench.config.tile = TileShape{64, 256};

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_EQ(report_of(bench)["tiles"]["resumed"], 0);
}

TEST(DurableJob, KeepsTheNewestVersionsTheCurrentOneAndUnexpectedFiles) {
  JobBench bench;
  bench.config.repeat = Repeat::kRecompute;
  bench.config.keep = 3;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const std::string versions = bench.config.output + "/versions/";
  std::filesystem::create_directories(versions + "000099-precious/notes");
  std::filesystem::create_directories(versions + "thesis");
  const File held_open = File::open(calls, bench.version() + "/similarity.h5", O_RDONLY);
  for (int night = 1; night < 10; ++night)
    ASSERT_EQ(bench.run(), 0) << bench.sentence;

  const auto kept = list_versions(calls, bench.config.output);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept.back().name, std::filesystem::path(bench.version()).filename());
  EXPECT_TRUE(std::filesystem::exists(versions + "000099-precious/notes"));
  EXPECT_TRUE(std::filesystem::exists(versions + "thesis"));
}

TEST(DurableJob, UseChangesTheCurrentVersionAndPruneKeepsIt) {
  JobBench bench;
  bench.config.repeat = Repeat::kRecompute;
  for (int night = 0; night < 3; ++night)
    ASSERT_EQ(bench.run(), 0) << bench.sentence;
  Log log({.level = LogLevel::kError});

  use_version(calls, bench.config.output, 1, log);
  prune_versions(calls, bench.config.output, 1, log);

  const auto versions = list_versions(calls, bench.config.output);
  ASSERT_EQ(versions.size(), 2U);
  EXPECT_EQ(versions[0].number, 1);
  EXPECT_TRUE(versions[0].current);
  EXPECT_EQ(versions[1].number, 3);
  expect_error(ExitCode::kNoInput, {"no complete version 2"},
               [&] { use_version(calls, bench.config.output, 2, log); });
}

TEST(DurableJob, AVersionThatCannotBeRemovedIsAWarning) {
  class Undeletable final : public ForwardingCalls {
   public:
    int rmdir(const char*) override {
      errno = EBUSY;
      return -1;
    }
  } undeletable;
  JobBench bench;
  bench.config.repeat = Repeat::kRecompute;
  bench.config.keep = 1;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  Removal removal;
  bench.config.keep = 3;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;

  removal = retire_versions(undeletable, bench.config.output, 1, 60);

  EXPECT_EQ(removal.failures.size(), 1U);
  EXPECT_EQ(list_versions(calls, bench.config.output).size(), 1U);
}

TEST(DurableJob, OldWorkOfOtherPlansIsRemovedAndRecentWorkStays) {
  JobBench bench;
  FailingDisk disk;
  disk.room = 500'000;
  ASSERT_EQ(bench.run(disk), 74) << bench.sentence;
  const std::string staging = bench.config.output + "/staging";
  bench.config.tile = TileShape{64, 256};
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  ASSERT_EQ(list_directory(calls, staging).size(), 1U);
  bench.config.repeat = Repeat::kRecompute;
  bench.config.keep_days = 0;
  timespec long_ago[2] = {{1, 0}, {1, 0}};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(staging))
    utimensat(AT_FDCWD, entry.path().c_str(), long_ago, 0);

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_TRUE(list_directory(calls, staging).empty());
}

TEST(DurableJob, TheGuardKeepsAShrunkenCorpusUnpublishedUntilItIsAccepted) {
  JobBench bench;
  bench.config.guard = Guard::kOn;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const std::string before = bench.version();
  write_csr(bench.config.items, random_rows(2'000, 300, 10, 44));

  EXPECT_EQ(bench.run(), 65);
  EXPECT_NE(bench.sentence.find("--accept-change"), std::string::npos) << bench.sentence;
  EXPECT_EQ(bench.version(), before);
  bench.config.guard = Guard::kAccept;
  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_NE(bench.version(), before);
  EXPECT_EQ(report_of(bench)["tiles"]["computed"], 0);
}

/// Empties the first `count` rows.
CsrMatrix with_zero_rows(CsrMatrix rows, std::int64_t count) {
  std::fill_n(rows.values.begin(), rows.row_offsets[static_cast<std::size_t>(count)], 0.0);
  return rows;
}

struct ChangedInput {
  const char* name;
  std::int64_t items;
  std::int64_t more_zero_rows;
  int code;
};

class GuardedJob : public testing::TestWithParam<std::tuple<ChangedInput, bool>> {};

TEST_P(GuardedJob, RefusesAChangeThatIsTooLargeInEveryModeAndKeepsThePreviousVersion) {
  const auto& [change, pairs] = GetParam();
  JobBench bench;
  bench.config.guard = Guard::kOn;
  if (pairs) bench.config.filter = PairFilterSpec{.at_least = 0.5F};
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const std::string before = bench.version();
  const CsrMatrix rows =
      random_rows(change.items, 300, 10, 41);  // the first rows of the previous input
  write_csr(bench.config.items, with_zero_rows(rows, change.more_zero_rows));

  EXPECT_EQ(bench.run(), change.code) << bench.sentence;

  EXPECT_EQ(bench.version() == before, change.code == 65);
  bench.config.guard = Guard::kAccept;
  EXPECT_EQ(bench.run(), 0) << bench.sentence;
  EXPECT_NE(bench.version(), before);
}

INSTANTIATE_TEST_SUITE_P(Changes, GuardedJob,
                         testing::Combine(testing::Values(ChangedInput{"FewerItems", 2'399, 0, 65},
                                                          ChangedInput{"SomeLess", 2'401, 0, 0},
                                                          ChangedInput{"ZeroRows", 3'000, 60, 65},
                                                          ChangedInput{"SomeZero", 3'000, 20, 0}),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::get<0>(test.param).name +
                                  std::string(std::get<1>(test.param) ? "_Pairs" : "_Full");
                         });

TEST(Guard, RefusesNanThatEmptyRowsDoNotExplain) {
  const TemporaryFolder folder;
  const RunDirectory run(calls, folder / "out", Digest{});
  JobConfig config;
  config.guard = Guard::kOn;
  Plan plan;
  plan.grid = TileGrid({3, 20}, {4, 8});
  plan.nan_cells = 20;
  const PartSet parts;
  const std::vector<Digest> digests;
  Publication publication{config, plan, parts, digests, 21, 0, [] { return ResultIds{}; }, ""};

  expect_error(ExitCode::kDataError, {"21 values are not", "explain 20", "--accept-change"},
               [&] { check_guard(publication, run, calls); });
  publication.outside = 20;
  EXPECT_NO_THROW(check_guard(publication, run, calls));
}

TEST(DurableJob, ADamagedTileOfASmallMatrixIsFoundWhenTheRunResumes) {
  const auto reference = undisturbed_files();
  JobBench bench;
  FailingName unindexed("/tiles.idx");
  ASSERT_EQ(bench.run(unindexed), 74) << bench.sentence;
  const std::string staging = bench.config.output + "/staging/";
  std::fstream part(staging + list_directory(calls, staging).at(0) + "/parts/part-00000.h5",
                    std::ios::binary | std::ios::in | std::ios::out);
  part.seekp((1 << 20) + 4 * 32 * 256);  // the second tile
  part.write("damage", 6);
  part.close();

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_EQ(report_of(bench)["tiles"]["damaged"], 1);
  EXPECT_EQ(bench.files(), reference);
}

TEST(DurableJob, WithoutDurabilityTheBytesAreTheSameAndNothingIsSynced) {
  class Counting final : public ForwardingCalls {
   public:
    int syncs = 0;
    int fsync(int fd) override { return ++syncs, ForwardingCalls::fsync(fd); }
    int fdatasync(int fd) override { return ++syncs, ForwardingCalls::fdatasync(fd); }
  } counting;
  const auto reference = undisturbed_files();
  JobBench bench;
  bench.config.durability = Durability::kOff;

  EXPECT_EQ(bench.run(counting), 0) << bench.sentence;

  EXPECT_EQ(counting.syncs, 0);
  EXPECT_EQ(bench.files(), reference);
}

TEST(DurableJob, FoundPairsAreKeptUntilTheResultIsFinalized) {
  FailingName late("/_SUCCESS");
  JobBench bench;
  bench.config.filter = PairFilterSpec{.at_least = 0.5F};
  ASSERT_EQ(bench.run(late), 74) << bench.sentence;
  const OutputStatus status = read_status(calls, bench.config.output, 0);

  EXPECT_EQ(bench.run(), 0) << bench.sentence;

  EXPECT_EQ(status.tiles, 4 * 12);
  EXPECT_EQ(status.tiles_done, 4 * 12);
  EXPECT_EQ(report_of(bench)["tiles"]["resumed"], 4 * 12);
  EXPECT_FALSE(std::filesystem::exists(bench.version() + "/parts"));
}

TEST(DurableJob, TheReportCountsTheSecondsOfEveryStep) {
  JobBench pairs;
  pairs.config.filter = PairFilterSpec{.at_least = 0.1F};
  ASSERT_EQ(pairs.run(), 0) << pairs.sentence;
  JobBench matrix;
  ASSERT_EQ(matrix.run(), 0) << matrix.sentence;

  const auto of_pairs = report_of(pairs)["seconds"];
  const auto of_matrix = report_of(matrix)["seconds"];

  EXPECT_GT(of_pairs["merge"].get<double>(), 0.0);
  EXPECT_GT(of_matrix["publish"].get<double>(), 0.0);
}

TEST(DurableJob, ARateCountsOnlyTheTilesOfThisAttempt) {
  JobBench bench;
  FailingDisk disk;
  disk.room = 700'000;
  ASSERT_EQ(bench.run(disk), 74) << bench.sentence;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;

  const auto report = report_of(bench);

  const double seconds = report["seconds"]["compute"];
  const double share = report["tiles"]["computed"].get<double>() / 48;
  EXPECT_LT(share, 1.0);
  EXPECT_NEAR(report["output_bytes_per_s"].get<double>() * seconds,
              share * report["output_bytes"].get<double>(), 1.0);
}

TEST(DurableJob, ListsOfBestItemsAreFinishedSomeRowsAtATimeAndResumed) {
  for (const bool is_self_join : {false, true}) {
    JobBench bench;
    if (is_self_join) {
      bench.config.queries.clear();
      bench.config.tile = TileShape{200, 256};
    }
    const std::int64_t rows = is_self_join ? 15 : 4;
    bench.config.filter =
        PairFilterSpec{.partners = is_self_join ? Partners::kOthers : Partners::kAll,
                       .keep = Keep::kBest,
                       .count = 20};
    JobBench whole;
    whole.config.filter = bench.config.filter;
    whole.config.queries = bench.config.queries.empty() ? "" : whole.config.queries;
    whole.config.tile = bench.config.tile;
    ASSERT_EQ(whole.run(), 0) << whole.sentence;
    bench.config.commit.seconds = 0.0;  // one row of tiles at a time
    FailingDisk disk;
    disk.room = is_self_join ? 200'000 : 20'000;
    ASSERT_EQ(bench.run(disk), 74) << bench.sentence;

    ASSERT_EQ(bench.run(), 0) << bench.sentence;

    const std::int64_t resumed = report_of(bench)["tiles"]["resumed"];
    EXPECT_GT(resumed, 0);
    EXPECT_LT(resumed, 12 * rows);
    EXPECT_EQ(resumed % 12, 0) << "whole rows of tiles";
    EXPECT_EQ(bench.files(), whole.files());
  }
}

TEST(DurableJob, PairsAreAlsoMadeDurableAfterATime) {
  class Counting final : public ForwardingCalls {
   public:
    std::atomic<int> syncs = 0;
    int fdatasync(int fd) override { return ++syncs, ForwardingCalls::fdatasync(fd); }
  } counting;
  JobBench bench;
  bench.config.filter = PairFilterSpec{.at_least = 0.5F};
  bench.config.commit.seconds = 0.0;

  ASSERT_EQ(bench.run(counting), 0) << bench.sentence;

  EXPECT_GE(counting.syncs, 4);  // rows of tiles
}

TEST(DurableJob, MetricsRecordFailuresAndKeepTheLastSuccess) {
  JobBench bench;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const std::string before = read_file(bench.config.output + "/metrics.prom");
  bench.config.tile = TileShape{64, 256};
  FailingDisk disk;
  disk.room = 600'000;

  ASSERT_EQ(bench.run(disk), 74) << bench.sentence;

  const std::string after = read_file(bench.config.output + "/metrics.prom");
  EXPECT_NE(before.find("bulksim_run_exit_code 0\n"), std::string::npos) << before;
  EXPECT_EQ(before.substr(0, before.find('\n')), after.substr(0, before.find('\n')));
}

TEST(DurableJob, StatusDistinguishesUnfinishedFromPublished) {
  JobBench bench;
  FailingDisk disk;
  disk.room = 700'000;
  ASSERT_EQ(bench.run(disk), 74) << bench.sentence;

  const OutputStatus unfinished = read_status(calls, bench.config.output, 0);
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  const OutputStatus published = read_status(calls, bench.config.output, 0);

  EXPECT_EQ(unfinished.phase, "unfinished");
  EXPECT_EQ(unfinished.code(), ExitCode::kTemporary);
  EXPECT_EQ(unfinished.tiles, 48);
  EXPECT_LT(unfinished.tiles_done, 48);
  EXPECT_EQ(published.phase, "idle");
  EXPECT_EQ(published.code(), ExitCode::kOk);
  EXPECT_EQ(published.tiles, 0);
}

}  // namespace
}  // namespace bulksim::test
