#include "cli/options.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "cli/config_file.hpp"
#include "cli/help.hpp"
#include "core/text/format_text.hpp"
#include "job/config/job_config.hpp"
#include "job/config/make_job_config.hpp"
#include "job/config/option_table.hpp"
#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

OptionValues parse(const std::vector<std::string>& words) {
  return parse_options(compute_syntax(), words);
}

TEST(Options, ArgumentsWithoutADashAreItemsAndQueries) {
  const auto config = make_job_config(parse({"items.csr", "queries.csr", "-o", "out"}));

  EXPECT_EQ(config.items, "items.csr");
  EXPECT_EQ(config.query_path(), "queries.csr");
  EXPECT_EQ(config.output, "out");
}

TEST(Options, WithoutQueriesTheItemsAreComparedWithThemselves) {
  const auto config = make_job_config(parse({"items.csr", "--output=out"}));

  EXPECT_EQ(config.query_path(), "items.csr");
}

TEST(Options, AnUnknownOptionIsRefusedWithASuggestion) {
  expect_error(ExitCode::kUsage, {"--thread'", "did you mean --threads"}, [] {
    parse({"a", "--thread", "2"});
  });
}

TEST(Options, AbbreviationsAreNotGuessed) {
  expect_error(ExitCode::kUsage, {"--out"}, [] { parse({"a", "--out", "x"}); });
}

TEST(Options, AnExcessArgumentIsRefused) {
  expect_error(ExitCode::kUsage, {"too many arguments"}, [] { parse({"a", "b", "c", "-o", "x"}); });
}

TEST(Options, AMissingValueOrArgumentIsRefused) {
  expect_error(ExitCode::kUsage, {"threads"}, [] { parse({"a", "--threads"}); });
  expect_error(ExitCode::kUsage, {"ITEMS"}, [] { make_job_config(parse({"-o", "x"})); });
  expect_error(ExitCode::kUsage, {"-o OUT"}, [] { make_job_config(parse({"a"})); });
}

TEST(Options, NumbersAreSignedAndChecked) {
  for (const char* bad : {"-5", "0", "x", "3x", "", "4097", "99999999999999999999"}) {
    expect_error(ExitCode::kUsage, {"--threads"}, [&] {
      make_job_config(parse({"a", "-o", "x", std::string("--threads=") + bad}));
    });
  }
}

TEST(Options, PairsOfOneMatrixAreTheUpperHalfAndListsHaveBothSides) {
  const auto partners = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"a", "-o", "x"});
    return make_job_config(parse(words)).filter->partners;
  };

  EXPECT_EQ(partners({"-t", "0.5"}), Partners::kLater);
  EXPECT_EQ(partners({"-t", "0.5", "--include-self"}), Partners::kNotEarlier);
  EXPECT_EQ(partners({"-t", "0.5", "--pairs", "both"}), Partners::kOthers);
  EXPECT_EQ(partners({"--nonzero", "--pairs", "both", "--include-self"}), Partners::kAll);
  EXPECT_EQ(partners({"-k", "5"}), Partners::kOthers);
  EXPECT_EQ(partners({"-k", "5", "--include-self"}), Partners::kAll);
  EXPECT_EQ(partners({"-k", "5", "--pairs", "upper"}), Partners::kLater);
}

TEST(Options, RangesOfRowsTakeSuffixesAndAreChecked) {
  const auto config = make_job_config(
      parse({"a", "b", "-o", "x", "-k", "5", "--items-range", "1K:2M", "--queries-range", "0:7"}));

  EXPECT_EQ(config.filter->items, (RowRange{1024, 2 * 1024 * 1024}));
  EXPECT_EQ(config.filter->queries, (RowRange{0, 7}));
  for (const char* bad : {"", "5", "5:", ":5", "5:5", "7:5", "-1:5", "1:2:3", "a:b"}) {
    expect_error(ExitCode::kUsage, {"--items-range"}, [&] {
      make_job_config(parse({"a", "b", "-o", "x", "-k", "5", std::string("--items-range=") + bad}));
    });
  }
}

TEST(Options, Float16AppliesOnlyToTheMatrix) {
  const auto config =
      make_job_config(parse({"a", "-o", "x", "--dtype", "float16", "--metric", "dot"}));

  EXPECT_EQ(config.value_type, ValueType::kFloat16);
  EXPECT_EQ(config.metric, Metric::kDot);
  expect_error(ExitCode::kUsage, {"--dtype float16"}, [] {
    make_job_config(parse({"a", "-o", "x", "-k", "5", "--dtype", "float16"}));
  });
}

TEST(Options, SizesTakeBinarySuffixes) {
  const auto config =
      make_job_config(parse({"a", "-o", "x", "--memory", "3G", "--max-output", "2t", "-c", "4K"}));

  EXPECT_EQ(config.memory, std::int64_t{3} << 30);
  EXPECT_EQ(config.max_output, std::int64_t{2} << 40);
  EXPECT_EQ(config.chunk_rows, 4096);
  for (const char* bad : {"G", "1.5G", "1GB", "-1K", "9999999999T"}) {
    expect_error(ExitCode::kUsage, {"--memory"}, [&] {
      make_job_config(parse({"a", "-o", "x", std::string("--memory=") + bad}));
    });
  }
}

TEST(Options, ATileIsTwoWholeNumbers) {
  const auto config = make_job_config(parse({"a", "-o", "x", "--tile", "7x1000"}));

  EXPECT_EQ(config.tile, (TileShape{7, 1000}));
  for (const char* bad : {"7", "x7", "7x", "0x7", "7x-1", "7x7x7", "7X7"}) {
    expect_error(ExitCode::kUsage, {"--tile"}, [&] {
      make_job_config(parse({"a", "-o", "x", std::string("--tile=") + bad}));
    });
  }
}

TEST(Options, TheCommandLinePrecedesTheFileAndTheFilePrecedesTheDefault) {
  const TemporaryFolder folder;
  std::ofstream(folder / "run.cfg") << "# a comment\n threads = 3  # more\noutput=file\n\n"
                                    << "zero-rows = error\nstrict = off\n";

  const auto config = make_job_config(parse({"a", "--config", folder / "run.cfg", "-o", "line"}));

  EXPECT_EQ(config.threads, 3);
  EXPECT_EQ(config.output, "line");
  EXPECT_EQ(config.zero_rows, ZeroRows::kError);
  EXPECT_EQ(config.irregular, Irregular::kAccept);
}

TEST(Options, AnUnknownKeyInAFileIsReportedWithItsLine) {
  const TemporaryFolder folder;
  std::ofstream(folder / "run.cfg") << "threads = 3\noutpt = x\n";

  expect_error(ExitCode::kConfig, {"run.cfg", "line 2", "did you mean --output"}, [&] {
    parse({"a", "--config", folder / "run.cfg"});
  });
  expect_error(ExitCode::kConfig, {"absent.cfg"}, [&] {
    parse({"a", "--config", folder / "absent.cfg"});
  });
}

TEST(Options, AnOptionGivenTwiceIsRefused) {
  expect_error(ExitCode::kUsage, {"--output", "twice"}, [] {
    parse({"a", "-o", "x", "--output", "y"});
  });
}

TEST(Options, TheShippedConfigurationListsEveryOptionWithItsDefault) {
  const std::string path = std::string(BULKSIM_CONFIGS) + "/compute.cfg";
  const std::string text = read_file(path);
  const auto shipped = parse({"a", "-o", "x", "--config", path});
  const auto without = parse({"a", "-o", "x"});

  for (const Option& option : compute_syntax().options) {
    if (!is_setting(option.name)) continue;
    EXPECT_NE(text.find("\n" + option.name + " "), text.find("\n# " + option.name + " "))
        << option.name;
    EXPECT_EQ(shipped.text(option.name), without.text(option.name)) << option.name;
  }
}

TEST(Options, TheShippedConfigurationsAreGeneratedFromTheTable) {
  const bool write = std::getenv("BULKSIM_WRITE_CONFIGS") != nullptr;

  for (const auto& [name, text] : shipped_configs()) {
    const std::string path = std::string(BULKSIM_CONFIGS) + "/" + name;
    if (write) std::ofstream(path) << text;
    EXPECT_EQ(read_file(path), text)
        << path << " differs from the table; BULKSIM_WRITE_CONFIGS=1 options_test writes it";
  }
}

TEST(Options, TheNightlyConfigurationDiffersOnlyInGuardAndLog) {
  const auto defaults = parse({"a", "-o", "x"});
  const auto nightly =
      parse({"a", "-o", "x", "--config", std::string(BULKSIM_CONFIGS) + "/nightly.cfg"});

  for (const Option& option : compute_syntax().options) {
    const bool differs = option.name == "guard" || option.name == "log-format";
    if (!is_setting(option.name)) continue;
    EXPECT_EQ(nightly.text(option.name) != defaults.text(option.name), differs) << option.name;
  }
}

TEST(Options, EveryShippedConfigurationIsValid) {
  for (const auto& entry : std::filesystem::directory_iterator(BULKSIM_CONFIGS)) {
    EXPECT_NO_THROW(make_job_config(parse({"a", "-o", "x", "--config", entry.path().string()})))
        << entry.path();
  }
}

TEST(Help, RarelyNeededOptionsAreShownByHelpAllOnly) {
  const std::string usual = help_text(compute_syntax());
  const std::string all = help_text(compute_syntax(), HelpDetail::kAll);

  EXPECT_EQ(usual.find("--commit-bytes"), std::string::npos);
  EXPECT_NE(all.find("\nrarely needed:\n"), std::string::npos);
  for (const Option& option : compute_syntax().options)
    EXPECT_NE(all.find("--" + option.name), std::string::npos) << option.name;
}

TEST(Help, ACommandAcceptsEveryOptionOfComputeAndShowsThoseThatApplyToIt) {
  CommandSyntax plan = compute_syntax();
  plan.options = options_of(ComputeCommand::kPlan);

  EXPECT_EQ(parse_options(plan, {"a", "-o", "x", "--keep", "5"}).text("keep"), "5");
  EXPECT_EQ(plan.options.size(), compute_syntax().options.size());
  EXPECT_EQ(help_text(plan).find("--keep"), std::string::npos);
  EXPECT_NE(help_text(plan, HelpDetail::kAll).find("--keep"), std::string::npos);
}

TEST(Help, RepairRefusesOptionsThatTheVersionDetermines) {
  CommandSyntax repair = compute_syntax();
  repair.options = options_of(ComputeCommand::kRepair);

  for (const char* word : {"--tile=1x1", "--parts=1", "--recompute", "--pad-dims"}) {
    expect_error(ExitCode::kUsage, {"unknown option"}, [&] { parse_options(repair, {word}); });
  }
}

TEST(BytesText, UsesPowersOfAThousand) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(999), "999 B");
  EXPECT_EQ(bytes_text(402653184000), "402.7 GB");
}

}  // namespace
}  // namespace bulksim::test
