#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <sys/wait.h>

#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs the program as a user would, without a launcher.
class CommandLine : public testing::Test {
 protected:
  void SetUp() override {
    write_csr(folder / "items.csr", random_rows(2'500, 90, 8, 21));
    write_csr(folder / "queries.csr", random_rows(40, 90, 8, 22));
  }

  Outcome run(const std::string& words, const std::string& environment = "") const {
    const std::string command = "cd '" + folder.path() + "' && " + environment + " '" +
                                BULKSIM_PROGRAM + "' " + words + " >out.txt 2>err.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(folder / "out.txt"),
            read_file(folder / "err.txt")};
  }

  TemporaryFolder folder;
};

TEST_F(CommandLine, ComputePrintsThePathOfTheResultAndNothingElse) {
  const auto outcome = run("compute items.csr queries.csr -o out");

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "out/CURRENT/similarity.h5\n");
  EXPECT_TRUE(std::filesystem::exists(folder / "out/CURRENT/similarity.h5"));
  EXPECT_NE(outcome.err.find("will write"), std::string::npos) << outcome.err;
}

TEST_F(CommandLine, ShowPrintsTheShapeAndTheStrongestPairs) {
  ASSERT_EQ(run("compute items.csr -o self.h5 -q").code, 0);

  const auto outcome = run("show self.h5 --pairs 3 --json");

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["queries"], 2'500);
  ASSERT_EQ(json["strongest"].size(), 3U);
  EXPECT_NE(json["strongest"][0]["query"], json["strongest"][0]["item"]);
  EXPECT_GE(json["strongest"][0]["score"], json["strongest"][1]["score"]);
}

TEST_F(CommandLine, ShowDescribesAMatrixFile) {
  const auto outcome = run("show items.csr");

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2500 rows x 90 columns"), std::string::npos) << outcome.out;
}

TEST_F(CommandLine, AResultWithAMissingPartIsRefused) {
  ASSERT_EQ(run("compute items.csr queries.csr -o out -q").code, 0);
  std::filesystem::remove(folder / "out/CURRENT/parts/part-00001.h5");

  const auto outcome = run("show out");

  EXPECT_EQ(outcome.code, 65);
  EXPECT_NE(outcome.err.find("part-00001.h5"), std::string::npos) << outcome.err;
}

TEST_F(CommandLine, ATileOver4GbIsRefusedWithTheLimit) {
  write_csr(folder / "many.csr", matrix_of(4, std::vector<Entries>(32'768, {{1, 1.0}})));

  const auto outcome = run("compute many.csr -o out --tile 32768x32768 --max-output 1T");

  EXPECT_EQ(outcome.code, 64) << outcome.err;
  EXPECT_NE(outcome.err.find("4294967295 bytes"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(CommandLine, QuietPrintsNothingOnSuccess) {
  const auto outcome = run("compute items.csr queries.csr -o out -q");

  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CommandLine, TheJsonLogIsOneObjectPerLine) {
  const auto outcome = run("compute items.csr queries.csr -o out --log-format json -v");

  std::istringstream lines(outcome.err);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    for (const char* key : {"ts", "level", "event", "msg", "rank", "host"}) {
      EXPECT_TRUE(json.contains(key)) << line;
    }
  }
  EXPECT_GE(count, 3);
}

TEST_F(CommandLine, PrintConfigShowsTheEffectiveOptionsAndRunsNothing) {
  std::ofstream(folder / "run.cfg") << "threads = 3\n";

  const auto outcome = run("compute items.csr -o out --config run.cfg --print-config");

  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("threads = 3\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("zero-rows = zero\n"), std::string::npos) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

TEST_F(CommandLine, ErrorsAreOneLineWithTheirCode) {
  ASSERT_EQ(mkfifo((folder / "pipe.cfg").c_str(), 0600), 0);
  const std::vector<std::pair<std::string, int>> cases = {
      {"compute items.csr", 64},
      {"compute items.csr -o out --thread 2", 64},
      {"compute items.csr a b -o out", 64},
      {"cmpute", 64},
      {"compute items.csr -o out --threads 0", 64},
      {"compute absent.csr -o out", 66},
      {"compute items.csr -o items.csr", 64},
      {"compute items.csr -t 0.5 -o .", 73},
      {"compute items.csr -o out --max-output 1K", 74},
      {"compute items.csr -o out --memory 1K", 71},
      {"compute items.csr -o out --config absent.cfg", 78},
      {"compute items.csr -o out --config pipe.cfg", 78},
      {"show absent.csr", 66},
      {"show .", 66},
  };
  for (const auto& [words, code] : cases) {
    const auto outcome = run(words);
    EXPECT_EQ(outcome.code, code) << words << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "") << words;
    const auto last = outcome.err.rfind("bulksim: error: ");
    ASSERT_NE(last, std::string::npos) << words << ": " << outcome.err;
    EXPECT_EQ(outcome.err.find('\n', last), outcome.err.size() - 1) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out")) << words;
  }
}

TEST_F(CommandLine, HelpListsEveryCommandAndEveryExitCode) {
  const auto help = run("--help");

  EXPECT_EQ(help.code, 0);
  std::size_t place = 0;
  for (const char* command :
       {"compute", "estimate", "import", "plan", "export", "report", "show", "prune", "repair",
        "status", "use", "verify", "versions", "bench", "generate"}) {
    const std::size_t next = help.out.find("\n  " + std::string(command) + " ");
    ASSERT_NE(next, std::string::npos) << command;
    EXPECT_GT(next, place) << command;
    place = next;
    EXPECT_EQ(run(std::string(command) + " --help").code, 0) << command;
  }
  for (const char* code : {"64", "75", "78"})
    EXPECT_NE(help.out.find(code), std::string::npos) << code;
}

TEST_F(CommandLine, ComputeHelpShowsGroupsAndHelpAllShowsTheRest) {
  const auto usual = run("compute --help");
  const auto all = run("compute --help-all");

  EXPECT_EQ(usual.code, 0);
  for (const char* word :
       {"\ninput:\n", "\nresult:\n", "\nspeed and memory:\n", "\nexamples:\n", "--zero-rows"}) {
    EXPECT_NE(usual.out.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(usual.out.find("--commit-bytes"), std::string::npos);
  EXPECT_EQ(all.code, 0);
  EXPECT_NE(all.out.find("--commit-bytes"), std::string::npos);
}

TEST_F(CommandLine, UnderAnotherMpiItStopsWithAMessage) {
  const auto outcome = run("compute items.csr -o out", "OMPI_COMM_WORLD_SIZE=3");

  EXPECT_EQ(outcome.code, 78) << outcome.err;
}

}  // namespace
}  // namespace bulksim::test
