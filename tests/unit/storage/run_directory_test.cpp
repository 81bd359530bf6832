#include "storage/run/run_directory.hpp"

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "bulksim/core/checksum.hpp"
#include "core/files/forwarding_calls.hpp"
#include "storage/result/similarity_file.hpp"
#include "storage/run/manifest.hpp"
#include "support/storage_support.hpp"
#include "support/test_support.hpp"

namespace bulksim {
namespace {

using test::expect_error;
using test::TemporaryFolder;

FileCalls& calls = system_file_calls();

constexpr Digest kPlan{0x6f1c2a9b00000000, 1};
constexpr Digest kOtherPlan{0x0011223300000000, 2};

/// Claims the output and creates a staging folder, as a run does.
Staged take(RunDirectory& run, const std::string& plan_json = "{}\n") {
  run.claim();
  return run.prepare(plan_json);
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

/// Creates a finished run in its staging folder; returns its manifest.
std::string stage_version(const RunDirectory& run, const TileGrid& grid) {
  const test::Parts parts = test::make_result(run.staging(), grid, 2);
  Manifest manifest{.plan = kPlan.hex(), .files = {}};
  for (const std::string& name : {parts.names[0], parts.names[1], std::string("similarity.h5")}) {
    manifest.files.push_back(describe_file(calls, run.staging(), name));
  }
  return manifest.to_json();
}

std::string publish_version(const std::string& output, Digest plan = kPlan) {
  RunDirectory run(calls, output, plan);
  take(run);
  return run.publish(stage_version(run, TileGrid({9, 41}, {4, 8})));
}

void stage_file(const RunDirectory& run, const TileGrid& grid) {
  const PartLayout layout = plan_part(grid, {0, grid.columns()}, "similarity");
  preallocate_parts(calls, grid, {run.part_path(0)}, {layout});
  test::fill(grid, {{run.part_name(0)}, {run.part_path(0)}, {layout}});
  write_attributes(calls, run.part_path(0), grid, layout, result_attributes(grid, {}));
}

TEST(RunDirectory, SuffixDecidesTheForm) {
  EXPECT_EQ(output_form("result.h5"), OutputForm::kSingleFile);
  EXPECT_EQ(output_form("pairs.npz"), OutputForm::kSingleFile);
  EXPECT_EQ(output_form("pairs.tsv"), OutputForm::kSingleFile);
  EXPECT_EQ(output_form("result.h5/"), OutputForm::kVersions);
  EXPECT_EQ(output_form("out"), OutputForm::kVersions);
}

TEST(RunDirectory, PreparesAMarkedFolderWithAPrivateStagingFolder) {
  const TemporaryFolder folder;
  RunDirectory run(calls, folder / "out/", kPlan);

  take(run, "{\"plan\":1}\n");

  EXPECT_EQ(run.staging(), folder / "out/staging/6f1c2a9b");
  EXPECT_EQ(run.part_path(7), folder / "out/staging/6f1c2a9b/parts/part-00007.h5");
  EXPECT_EQ(list_directory(calls, folder / "out"),
            (std::vector<std::string>{".bulksim", "staging", "versions"}));
  EXPECT_EQ(list_directory(calls, run.staging()),
            (std::vector<std::string>{"PLAN.json", "attempts", "errors", "journal", "parts"}));
  EXPECT_EQ(test::read_file(folder / "out/.bulksim"), "{\"format\":1}\n");
  EXPECT_EQ(test::read_file(run.staging() + "/PLAN.json"), "{\"plan\":1}\n");
  EXPECT_EQ(mode_of(folder / "out/staging"), 0700U);
  EXPECT_EQ(mode_of(run.staging()), 0700U);
}

TEST(RunDirectory, ClaimsAnEmptyFolderAndRemovesLeftoversOfTheMarker) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "out");
  replace_file(calls, folder / "out/.bulksim.tmp", "{\"for");
  RunDirectory run(calls, folder / "out", kPlan);

  take(run);

  EXPECT_EQ(list_directory(calls, folder / "out"),
            (std::vector<std::string>{".bulksim", "staging", "versions"}));
}

TEST(RunDirectory, ResumesTheStagingFolderOfTheSamePlanAndReplacesThatOfAnother) {
  const TemporaryFolder folder;
  RunDirectory run(calls, folder / "out", kPlan);
  EXPECT_EQ(take(run), Staged::kNothing);
  replace_file(calls, run.staging() + "/parts/left-over", "x");

  EXPECT_EQ(take(run), Staged::kUnfinished);
  EXPECT_TRUE(exists(calls, run.staging() + "/parts/left-over"));
  EXPECT_EQ(take(run, "{\"same name\":1}\n"), Staged::kNothing);
  EXPECT_FALSE(exists(calls, run.staging() + "/parts/left-over"));
}

TEST(RunDirectory, AttemptNumbersFollowAnyTraceOfEarlierAttempts) {
  const TemporaryFolder folder;
  RunDirectory run(calls, folder / "out", kPlan);
  take(run);

  EXPECT_EQ(run.begin_attempt(), 1);
  EXPECT_EQ(run.begin_attempt(), 2);
  replace_file(calls, run.journal_path(7, 3), "");
  EXPECT_EQ(run.begin_attempt(), 8);
}

TEST(RunDirectory, AFinalizedTreeIsOnlyPublished) {
  const TemporaryFolder folder;
  RunDirectory run(calls, folder / "out", kPlan);
  take(run);
  int steps = 0;
  const auto stop_at_the_rename = [&] {
    if (++steps == 3) throw Error(ExitCode::kCannotCreate, "lost");
  };
  const std::string manifest = stage_version(run, TileGrid({9, 41}, {4, 8}));
  EXPECT_THROW(run.publish(manifest, stop_at_the_rename), Error);

  EXPECT_EQ(take(run), Staged::kFinalized);
  run.publish_finalized([] {});

  EXPECT_NO_THROW(SimilarityReader::open(calls, folder / "out"));
}

TEST(RunDirectory, AVersionThatIsNotCurrentYetBecomesCurrent) {
  const TemporaryFolder folder;
  RunDirectory run(calls, folder / "out", kPlan);
  take(run);
  int steps = 0;
  const auto stop_before_current = [&] {
    if (++steps == 4) throw Error(ExitCode::kCannotCreate, "lost");
  };
  const std::string manifest = stage_version(run, TileGrid({9, 41}, {4, 8}));
  EXPECT_THROW(run.publish(manifest, stop_before_current), Error);
  ASSERT_FALSE(run.published("{}\n"));

  EXPECT_EQ(run.finish_publication("{}\n"), folder / "out/CURRENT/similarity.h5");

  EXPECT_EQ(run.published("{}\n"), folder / "out/CURRENT/similarity.h5");
}

TEST(RunDirectory, LeavesTheStagingFolderOfAnotherPlanAlone) {
  const TemporaryFolder folder;
  RunDirectory other(calls, folder / "out", kOtherPlan);
  take(other);

  publish_version(folder / "out");

  EXPECT_EQ(list_directory(calls, folder / "out/staging"), std::vector<std::string>{"00112233"});
}

TEST(RunDirectory, RefusesAFolderThatIsNotOursAndReportsItsContent) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "out");
  replace_file(calls, folder / "out/thesis.tex", "precious");
  RunDirectory run(calls, folder / "out", kPlan);

  const auto prepare = [&] { take(run); };

  expect_error(ExitCode::kCannotCreate, {folder / "out", "thesis.tex"}, prepare);
  EXPECT_EQ(list_directory(calls, folder / "out"), std::vector<std::string>{"thesis.tex"});
}

TEST(RunDirectory, RefusesAFolderOfAnotherFormat) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "out");
  replace_file(calls, folder / "out/.bulksim", "{\"format\":2}\n");
  RunDirectory run(calls, folder / "out", kPlan);

  const auto prepare = [&] { take(run); };

  expect_error(ExitCode::kCannotCreate, {folder / "out", "another version"}, prepare);
}

TEST(RunDirectory, RefusesFilesAndLinksInPlaceOfItsFolders) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "victim");
  replace_file(calls, folder / "file", "x");
  ASSERT_EQ(symlink("nowhere", (folder / "dangling").c_str()), 0);
  publish_version(folder / "versions-linked");
  remove_tree(calls, folder / "versions-linked/versions");
  ASSERT_EQ(symlink("../victim", (folder / "versions-linked/versions").c_str()), 0);
  publish_version(folder / "staging-linked");
  remove_tree(calls, folder / "staging-linked/staging");
  ASSERT_EQ(symlink("../victim", (folder / "staging-linked/staging").c_str()), 0);

  publish_version(folder / "current-folder");
  remove_file(calls, folder / "current-folder/CURRENT");
  make_directories(calls, folder / "current-folder/CURRENT");

  ASSERT_EQ(symlink("file", (folder / "file-linked").c_str()), 0);

  for (const char* name :
       {"file", "file-linked", "dangling", "versions-linked", "staging-linked", "current-folder"}) {
    RunDirectory run(calls, folder / name, kPlan);
    const auto prepare = [&] { take(run); };
    expect_error(ExitCode::kCannotCreate, {folder / name}, prepare);
  }
  EXPECT_TRUE(list_directory(calls, folder / "victim").empty());
}

TEST(RunDirectory, ALinkToAFolderIsThatFolder) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "real");
  ASSERT_EQ(symlink("real", (folder / "out").c_str()), 0);

  const std::string path = publish_version(folder / "out");
  publish_version(folder / "out/inner");
  publish_version(folder / "out", kOtherPlan);

  EXPECT_EQ(path, folder / "out/CURRENT/similarity.h5");
  EXPECT_EQ(std::filesystem::read_symlink(folder / "real/CURRENT"), "versions/000002-00112233");
  EXPECT_NO_THROW(SimilarityReader::open(calls, folder / "out"));
  EXPECT_NO_THROW(SimilarityReader::open(calls, folder / "real/inner"));
}

TEST(RunDirectory, APipeInPlaceOfAFileIsRefusedWithoutWaiting) {
  const TemporaryFolder folder;
  publish_version(folder / "out");
  remove_file(calls, folder / "out/.bulksim");
  ASSERT_EQ(mkfifo((folder / "out/.bulksim").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((folder / "result.h5").c_str(), 0600), 0);
  RunDirectory versions(calls, folder / "out", kPlan);
  RunDirectory file(calls, folder / "result.h5", kPlan);

  EXPECT_THROW(versions.claim(), Error);
  EXPECT_EQ(file.published("{}\n"), std::nullopt);
  expect_error(ExitCode::kCannotCreate, {folder / "result.h5", "not a file"},
               [&] { file.claim(); });
}

TEST(RunDirectory, AWithdrawnOutputLeavesWhatWasThereBefore) {
  const TemporaryFolder folder;
  make_directories(calls, folder / "empty");
  publish_version(folder / "used");
  const auto before = list_directory(calls, folder / "used");

  for (const char* name : {"new", "empty", "used", "result.h5"}) {
    RunDirectory run(calls, folder / name, kOtherPlan);
    const Claim claim = run.claim();
    make_directories(calls, run.imports_folder());
    run.withdraw(claim);
  }

  EXPECT_EQ(list_directory(calls, folder.path()), (std::vector<std::string>{"empty", "used"}));
  EXPECT_TRUE(list_directory(calls, folder / "empty").empty());
  std::vector<std::string> without_staging = before;
  std::erase(without_staging, "staging");
  EXPECT_EQ(list_directory(calls, folder / "used"), without_staging);
}

TEST(RunDirectory, WorkOfAnyPlanSurvivesAWithdrawal) {
  const TemporaryFolder folder;
  for (const char* name : {"out", "result.h5"}) {
    RunDirectory earlier(calls, folder / name, kPlan);
    take(earlier);
    earlier.begin_attempt();
    RunDirectory other(calls, folder / name, kOtherPlan);
    const Claim claim = other.claim();
    other.prepare("{}\n");

    other.withdraw(claim);
    earlier.withdraw(claim);

    EXPECT_TRUE(is_directory(calls, earlier.staging())) << name;
    EXPECT_FALSE(is_directory(calls, other.staging())) << name;
  }
}

TEST(RunDirectory, AMissingParentIsReported) {
  const TemporaryFolder folder;
  RunDirectory versions(calls, folder / "none/out", kPlan);
  RunDirectory file(calls, folder / "none/result.h5", kPlan);

  const auto prepare_versions = [&] { take(versions); };
  const auto prepare_file = [&] { take(file); };

  expect_error(ExitCode::kCannotCreate, {"'" + (folder / "none") + "'", "create it"},
               prepare_versions);
  expect_error(ExitCode::kCannotCreate, {"'" + (folder / "none") + "'", "create it"}, prepare_file);
}

TEST(RunDirectory, MissingPermissionAndAReadOnlyFileSystemHaveTheirExitCodes) {
  const TemporaryFolder folder;
  class Refusing final : public ForwardingCalls {
   public:
    int reason = EACCES;
    int mkdir(const char*, mode_t) override {
      errno = reason;
      return -1;
    }
  } refusing;
  RunDirectory run(refusing, folder / "out", kPlan);
  const auto prepare = [&] { take(run); };

  expect_error(ExitCode::kNoPermission, {folder / "out"}, prepare);
  refusing.reason = EROFS;
  expect_error(ExitCode::kNoPermission, {folder / "out"}, prepare);
}

TEST(RunDirectory, PublishesAReadableVersionThatIsReadOnly) {
  const TemporaryFolder folder;
  const mode_t before = umask(027);

  const std::string path = publish_version(folder / "out");
  umask(before);

  const std::string version = folder / "out/versions/000001-6f1c2a9b";
  EXPECT_EQ(path, folder / "out/CURRENT/similarity.h5");
  EXPECT_EQ(std::filesystem::read_symlink(folder / "out/CURRENT"), "versions/000001-6f1c2a9b");
  EXPECT_TRUE(list_directory(calls, folder / "out/staging").empty());
  EXPECT_EQ(list_directory(calls, version),
            (std::vector<std::string>{"MANIFEST.json", "PLAN.json", "_SUCCESS", "parts",
                                      "similarity.h5"}));
  EXPECT_EQ(mode_of(version), 0750U);
  EXPECT_EQ(mode_of(version + "/parts"), 0750U);
  for (const char* file : {"MANIFEST.json", "_SUCCESS", "similarity.h5", "parts/part-00001.h5"}) {
    EXPECT_EQ(mode_of(version + "/" + file), 0440U) << file;
  }
  EXPECT_EQ(SimilarityReader::open(calls, folder / "out").read({0, 9}, {0, 41}),
            test::block_values({0, 9}, {0, 41}));
}

TEST(RunDirectory, SuccessHoldsTheDigestOfTheManifestAndTheTotals) {
  const TemporaryFolder folder;

  publish_version(folder / "out");

  const std::string manifest = test::read_file(folder / "out/CURRENT/MANIFEST.json");
  const auto success = nlohmann::json::parse(test::read_file(folder / "out/CURRENT/_SUCCESS"));
  std::int64_t bytes = 0;
  for (const ManifestFile& file : Manifest::from_json(manifest).files)
    bytes += file.bytes;
  EXPECT_EQ(success["manifest"], digest_of(std::as_bytes(std::span(manifest))).hex());
  EXPECT_EQ(success["files"], 3);
  EXPECT_EQ(success["bytes"], bytes);
}

TEST(RunDirectory, EqualRunsPublishEqualBytes) {
  const TemporaryFolder folder;

  publish_version(folder / "one");
  publish_version(folder / "two");

  for (const char* name : {"MANIFEST.json", "_SUCCESS", "similarity.h5", "parts/part-00000.h5"}) {
    EXPECT_EQ(test::read_file(folder / "one/CURRENT" + "/" + name),
              test::read_file(folder / "two/CURRENT" + "/" + name))
        << name;
  }
}

TEST(RunDirectory, VersionNumbersContinueAfterTheLargestAndCurrentFollows) {
  const TemporaryFolder folder;
  publish_version(folder / "out");
  make_directories(calls, folder / "out/versions/1000041-0a0b0c0d");
  make_directories(calls, folder / "out/versions/9999999");
  make_directories(calls, folder / "out/versions/x-9");

  publish_version(folder / "out", kOtherPlan);

  EXPECT_EQ(std::filesystem::read_symlink(folder / "out/CURRENT"), "versions/1000042-00112233");
  EXPECT_TRUE(exists(calls, folder / "out/versions/000001-6f1c2a9b/_SUCCESS"));
}

TEST(RunDirectory, NothingIsPublishedWithAnInvalidManifest) {
  const TemporaryFolder folder;
  RunDirectory run(calls, folder / "out", kPlan);
  take(run);

  const auto publish = [&] { run.publish("{}"); };

  expect_error(ExitCode::kDataError, {"manifest"}, publish);
  EXPECT_FALSE(exists(calls, folder / "out/CURRENT"));
  EXPECT_TRUE(list_directory(calls, folder / "out/versions").empty());
}

/// Makes the n-th call of link, rename or symlink fail.
class FailsToName final : public ForwardingCalls {
 public:
  explicit FailsToName(int at) : at_(at) {}
  int link(const char* from, const char* to) override {
    return fails() ? -1 : ForwardingCalls::link(from, to);
  }
  int rename(const char* from, const char* to) override {
    return fails() ? -1 : ForwardingCalls::rename(from, to);
  }
  int symlink(const char* target, const char* path) override {
    return fails() ? -1 : ForwardingCalls::symlink(target, path);
  }

 private:
  bool fails() {
    errno = EIO;
    return ++count_ == at_;
  }

  int at_;
  int count_ = 0;
};

TEST(RunDirectory, CurrentIsACompleteVersionWhicheverStepOfPublishingFails) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 41}, {4, 8});
  int failures = 0;
  for (int step = 1; step <= 5; ++step) {
    const std::string output = folder / ("out" + std::to_string(step));
    publish_version(output, kOtherPlan);
    RunDirectory before(calls, output, kPlan);
    take(before);
    FailsToName failing(step);
    RunDirectory run(failing, output, kPlan);
    const std::string manifest = stage_version(run, grid);

    try {
      run.publish(manifest);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kIoError) << error.what();
      ++failures;
    }

    EXPECT_EQ(std::filesystem::read_symlink(output + "/CURRENT"), "versions/000001-00112233");
    EXPECT_NO_THROW(SimilarityReader::open(calls, output));
  }
  EXPECT_EQ(failures, 5);
}

TEST(RunDirectory, ASingleFileIsPublishedByOneRenameWithoutLeftovers) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  RunDirectory run(calls, folder / "result.h5", kPlan);
  take(run);
  EXPECT_EQ(run.staging(), folder / ".result.h5.bulksim/6f1c2a9b");
  EXPECT_EQ(mode_of(folder / ".result.h5.bulksim"), 0700U);
  stage_file(run, grid);

  const std::string path = run.publish("");

  EXPECT_EQ(path, folder / "result.h5");
  EXPECT_EQ(list_directory(calls, folder.path()), std::vector<std::string>{"result.h5"});
  EXPECT_EQ(mode_of(path) & 0222, 0U);
  EXPECT_EQ(SimilarityReader::open(calls, path).read({0, 9}, {0, 13}), test::matrix_values(grid));
}

TEST(RunDirectory, ASingleFileReplacesAnEarlierResultAndNothingElse) {
  const TemporaryFolder folder;
  const TileGrid grid({9, 13}, {4, 4});
  RunDirectory result(calls, folder / "result.h5", kPlan);
  replace_file(calls, folder / "input.h5", "rows that took a week");
  for (int night = 0; night < 2; ++night) {
    take(result);
    stage_file(result, grid);
    result.publish("");
  }
  RunDirectory input(calls, folder / "input.h5", kPlan);

  const auto prepare = [&] { take(input); };

  expect_error(ExitCode::kCannotCreate, {folder / "input.h5", "cannot be recognized"}, prepare);
  EXPECT_EQ(test::read_file(folder / "input.h5"), "rows that took a week");
  EXPECT_EQ(list_directory(calls, folder.path()),
            (std::vector<std::string>{"input.h5", "result.h5"}));
}

}  // namespace
}  // namespace bulksim
