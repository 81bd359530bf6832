#include "comm/mpi_environment.hpp"

#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/mpi_test_main.hpp"

namespace bulksim {
namespace {

using test::environment;

Launch launch_with(const std::map<std::string, std::string>& variables) {
  return detect_launch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(DetectLaunch, AProcessStartedAloneHasNoLauncher) {
  const Launch launch = launch_with({});

  EXPECT_EQ(launch, (Launch{"none", 1, false}));
}

TEST(DetectLaunch, MpirunIsDetectedByItsSize) {
  const Launch launch = launch_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}});

  EXPECT_EQ(launch, (Launch{"mpirun", 4, true}));
}

TEST(DetectLaunch, MpirunInsideASlurmStepCountsAsMpirun) {
  const Launch launch = launch_with(
      {{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"OMPI_COMM_WORLD_SIZE", "8"}});

  EXPECT_EQ(launch, (Launch{"mpirun", 8, true}));
}

TEST(DetectLaunch, ABatchScriptIsNotATask) {
  const Launch launch = launch_with({{"SLURM_JOB_ID", "7"},
                                     {"SLURM_NTASKS", "4"},
                                     {"SLURM_PROCID", "0"},
                                     {"SLURM_LOCALID", "0"}});

  EXPECT_EQ(launch, (Launch{"none", 1, false}));
}

TEST(DetectLaunch, SrunWithPmixOffersAService) {
  const Launch launch =
      launch_with({{"SLURM_STEP_ID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"PMIX_RANK", "3"}});

  EXPECT_EQ(launch, (Launch{"srun", 4, true}));
}

TEST(DetectLaunch, SrunWithoutPmixOffersNone) {
  const Launch launch = launch_with({{"SLURM_STEP_ID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}});

  EXPECT_EQ(launch, (Launch{"srun", 4, false}));
}

TEST(DetectLaunch, AnotherMpirunIsDetectedByPmi) {
  const Launch launch = launch_with({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}});

  EXPECT_EQ(launch, (Launch{"a PMI launcher", 3, true}));
}

TEST(DetectLaunch, PmixAloneDoesNotGiveTheNumberOfTasks) {
  const Launch launch = launch_with({{"PMIX_RANK", "0"}});

  EXPECT_EQ(launch, (Launch{"a PMIx launcher", Launch::kUnknown, true}));
}

TEST(MpiEnvironment, AllRanksOfOneHostShareItsNode) {
  std::vector<std::int64_t> seen(static_cast<std::size_t>(environment->node_size()), 0);
  seen[static_cast<std::size_t>(environment->node_rank())] = 1;

  environment->world().all_reduce_sum(seen);

  EXPECT_EQ(environment->node_size(), environment->world().size());
  EXPECT_EQ(seen, std::vector<std::int64_t>(seen.size(), 1));
}

TEST(MpiEnvironment, OnlyRank0ReturnsTheCodeOfAnOrderlyStop) {
  const int status = environment->exit_status(ExitCode::kTemporary);

  EXPECT_EQ(status, environment->world().rank() == 0 ? 75 : 0);
}

TEST(MpiEnvironment, ReturnsTheVersionOfMpiWhenItWasStarted) {
  const std::string& version = environment->mpi_version();

  if (environment->world().size() == 1) {
    EXPECT_EQ(version, "none");
  } else {
    EXPECT_THAT(version, testing::HasSubstr("MPI"));
  }
}

TEST(MpiEnvironmentOnOneRankDeathTest, AbortEndsASingleProcessWithTheCode) {
  EXPECT_EXIT(environment->abort(ExitCode::kIoError), testing::ExitedWithCode(74), "");
}

/// Runs the constructor in a child process with the environment variables of a launcher.
class ForeignLauncherOnOneRankDeathTest : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  static void start_with(const std::map<std::string, std::string>& variables) {
    const std::string path = std::getenv("PATH");  // where MPI finds its daemon
    clearenv();
    setenv("PATH", path.c_str(), 1);
    for (const auto& [name, value] : variables)
      setenv(name.c_str(), value.c_str(), 1);
    try {
      const MpiEnvironment second;
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(static_cast<int>(error.code()));
    }
    std::_Exit(0);
  }
};

TEST_F(ForeignLauncherOnOneRankDeathTest, SrunWithoutPmixIsAnErrorWithARemedy) {
  const std::map<std::string, std::string> variables{{"SLURM_STEP_ID", "0"},
                                                     {"SLURM_STEP_NUM_TASKS", "2"}};
  const char* sentence = BULKSIM_HAS_MPI ? "srun --mpi=pmix" : "built without MPI";

  EXPECT_EXIT(start_with(variables), testing::ExitedWithCode(78), sentence);
}

TEST_F(ForeignLauncherOnOneRankDeathTest, ASingleRankUnderALauncherOfSeveralTasksIsAnError) {
  const std::map<std::string, std::string> variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
  const char* sentence = BULKSIM_HAS_MPI ? "sees one" : "built without MPI";

  EXPECT_EXIT(start_with(variables), testing::ExitedWithCode(78), sentence);
}

}  // namespace
}  // namespace bulksim
