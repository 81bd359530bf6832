// Block sums in the other commands: verify, repair, report, estimate.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "job/estimate_job.hpp"
#include "job/inspect/report/report_job.hpp"
#include "job/inspect/show_job.hpp"
#include "job/repair_job.hpp"
#include "job/verify/verify_result.hpp"
#include "storage/result/block_map.hpp"
#include "storage/result/similarity_file.hpp"
#include "support/failing_disk.hpp"
#include "support/job_support.hpp"

namespace bulksim::test {
namespace {

FileCalls& calls = system_file_calls();

void flip(const std::string& path, std::int64_t at) {
  std::filesystem::permissions(path, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const auto byte = static_cast<char>(file.get() ^ 1);
  file.seekp(at);
  file.put(byte);
}

Verdict look(const JobBench& bench) {
  VerifyOptions options;
  options.path = bench.config.output;
  options.threads = 2;
  Log log({.level = LogLevel::kError});
  return verify(calls, options, log);
}

TEST(BlocksMode, WritesNoMatrixAndIsComplete) {
  JobBench bench;
  bench.config.mode = Mode::kBlocks;

  ASSERT_EQ(bench.run(), 0) << bench.sentence;

  const auto files = bench.files();
  EXPECT_TRUE(files.contains("parts/part-00000.partials"));
  EXPECT_FALSE(files.contains("parts/part-00000.h5"));
  EXPECT_TRUE(look(bench).damage.empty());
  EXPECT_NE(error_of([&] {
              SimilarityReader::open(calls, bench.config.output);
            }).find("contains no matrix"),
            std::string::npos);
}

TEST(BlocksMode, ResumesAfterAFullDiskWithTheSameBytes) {
  JobBench whole;
  whole.config.mode = Mode::kBlocks;
  ASSERT_EQ(whole.run(), 0) << whole.sentence;
  for (const std::int64_t room : {2'000, 20'000, 26'000}) {
    SCOPED_TRACE(room);
    JobBench bench;
    bench.config.mode = Mode::kBlocks;
    bench.config.commit.bytes = 1;
    FailingDisk disk;
    disk.room = room;
    EXPECT_EQ(bench.run(disk), 74);

    EXPECT_EQ(bench.run(), 0) << bench.sentence;

    EXPECT_EQ(bench.files(), whole.files());
  }
}

TEST(DamagedPartials, AreFoundAndRepaired) {
  for (const Mode mode : {Mode::kFull, Mode::kBlocks}) {
    JobBench bench;
    bench.config.mode = mode;
    ASSERT_EQ(bench.run(), 0) << bench.sentence;
    const auto published = bench.files();
    flip(bench.version() + "/parts/part-00001.partials", 1'000);
    const Verdict verdict = look(bench);

    Log log({.level = LogLevel::kError});
    run_repair(bench.config, {bench.mpi, calls, log});

    EXPECT_TRUE(std::ranges::any_of(verdict.damage, [](const Damage& damage) {
      return damage.file == "parts/part-00001.partials" && damage.tile;
    }));
    EXPECT_EQ(bench.files(), published);
    EXPECT_TRUE(look(bench).damage.empty());
  }
}

TEST(DamagedPartials, ThatAreConsistentDoNotMatchTheirCosines) {
  JobBench bench;
  bench.config.block_sums = BlockSumsWanted::kOn;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  JobBench other;
  other.config.softmax_scale = 19.0;
  ASSERT_EQ(other.run(), 0) << other.sentence;
  const std::string path = bench.version() + "/parts/part-00002.partials";
  std::filesystem::remove(path);
  std::filesystem::copy_file(other.version() + "/parts/part-00002.partials", path);

  const Verdict verdict = look(bench);

  EXPECT_TRUE(std::ranges::any_of(verdict.damage, [](const Damage& damage) {
    return damage.what == "softmax partials of the tile do not match its cosines";
  }));
}

TEST(Show, OfBlockSumsAlonePrintsTheirStrongestBlocks) {
  JobBench bench;
  bench.config.mode = Mode::kBlocks;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  std::ostringstream json;
  std::ostringstream text;

  show(calls, bench.config.output, 3, ShowFormat::kJson, json);
  show(calls, bench.config.output, 3, ShowFormat::kText, text);

  const auto shown = nlohmann::json::parse(json.str());
  const auto map = read_block_map(calls, bench.config.output);
  ASSERT_TRUE(map);
  EXPECT_EQ(shown["kind"], "block_sums");
  EXPECT_EQ(shown["queries"], 120);
  EXPECT_EQ(shown["items"], 3'000);
  EXPECT_EQ(shown["blocks"]["rows"], map->rows);
  ASSERT_EQ(shown["strongest"].size(), 3U);
  EXPECT_EQ(shown["strongest"][0]["share"], *std::ranges::max_element(map->share));
  EXPECT_NE(text.str().find("120 queries x 3000 items"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("share of its queries"), std::string::npos) << text.str();
}

TEST(Show, PrintsTheFirstRowsOfBlocksThatEndWithTheirTile) {
  JobBench bench;
  bench.config.mode = Mode::kBlocks;
  bench.config.tile = TileShape{64, 1500};
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  std::ostringstream json;

  show(calls, bench.config.output, 100, ShowFormat::kJson, json);
  ReportOptions options;
  options.path = bench.config.output;
  options.output = bench.config.output + ".html";
  write_report(calls, options);

  std::set<std::pair<int, int>> first_rows;
  const auto shown = nlohmann::json::parse(json.str());
  for (const auto& block : shown["strongest"])
    first_rows.emplace(block["query_row"], block["item_row"]);
  const std::set<std::pair<int, int>> expected{{0, 0},  {0, 1024},  {0, 1500},  {0, 2524},
                                               {64, 0}, {64, 1024}, {64, 1500}, {64, 2524}};
  EXPECT_EQ(first_rows, expected);
  const std::string page = read_text(calls, options.output);
  for (const char* rows : {"64 – 119", "1,024 – 1,499", "1,500 – 2,523", "2,524 – 2,999"})
    EXPECT_NE(page.find(rows), std::string::npos) << rows;
}

TEST(Report, IsOneSelfContainedPage) {
  JobBench bench;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;

  const std::string page = write_report(calls, {.path = bench.config.output, .output = ""});

  const std::string html = read_file(page);
  EXPECT_EQ(page, bench.version() + "/report.html");
  EXPECT_NE(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("data:image/png;base64,iVBORw0KGgo"), std::string::npos);
  EXPECT_NE(html.find("class=\"outline\" d=\"M"), std::string::npos);
  EXPECT_NE(html.find("Strongest blocks"), std::string::npos);
  EXPECT_EQ(html.find("http"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_TRUE(look(bench).damage.empty());  // the page is in no manifest
}

TEST(Report, OfAResultWithoutBlockSumsReportsThat) {
  JobBench bench;
  bench.config.block_sums = BlockSumsWanted::kOff;
  ASSERT_EQ(bench.run(), 0) << bench.sentence;

  const std::string html = read_file(
      write_report(calls, {.path = bench.config.output, .output = bench.folder / "page.html"}));

  EXPECT_EQ(html.find("<svg"), std::string::npos);
  EXPECT_NE(html.find("no block sums"), std::string::npos);
}

/// Clusters: rows of one kind share columns, and queries are ordered by kind.
void write_clusters(JobBench& bench) {
  constexpr std::int64_t kKinds = 8;
  Random random(7);
  std::vector<Entries> sides[2];
  for (auto& [rows, count] : {std::pair{&sides[0], 128}, std::pair{&sides[1], 2'048}}) {
    for (std::int64_t row = 0; row < count; ++row) {
      Entries& entries = rows->emplace_back();
      const std::int64_t kind = row * kKinds / count;
      for (int entry = 0; entry < 10; ++entry) {
        const std::int64_t column = entry < 6 ? 40 * kind + random.below(40) : random.below(400);
        entries.emplace_back(static_cast<Column>(column), 0.5 + random.unit());
      }
    }
  }
  bench.config.tile = TileShape{16, 256};
  write_csr(bench.config.queries, matrix_of(400, sides[0]));
  write_csr(bench.config.items, matrix_of(400, sides[1]));
}

TEST(Estimate, FindsTheBlocksThatHoldTheMass) {
  JobBench bench;
  write_clusters(bench);
  ASSERT_EQ(bench.run(), 0) << bench.sentence;
  Log log({.level = LogLevel::kError});
  std::ostringstream out;

  run_estimate(bench.config, {{SelectBy::kMass, 0.5}, bench.config.output, EstimateFormat::kJson},
               {bench.mpi, calls, log}, out);

  const auto json = nlohmann::json::parse(out.str());
  EXPECT_EQ(json["blocks"]["rows"], 8);
  EXPECT_EQ(json["blocks"]["columns"], 8);
  EXPECT_GT(json["recall"]["mass"].get<double>() / json["recall"]["best"].get<double>(), 0.95);
}

BlockMap even_map(std::int64_t columns, TileShape tile) {
  BlockMap map;
  map.tile = tile;
  map.rows = 1;
  map.columns = columns;
  map.fine.assign(static_cast<std::size_t>(columns), 1.0);
  map.share.assign(map.fine.size(), 1.0 / static_cast<double>(columns));
  return map;
}

TEST(Estimate, IsComparedOnlyWithAMapOfTheSameBlocks) {
  const Selection half{SelectBy::kMass, 0.5};
  const BlockMap map = even_map(4, {1024, 4096});

  EXPECT_DOUBLE_EQ(recall_of(map, half, even_map(4, {1024, 8192})).mass, 0.5);
  // of the same number and size, but with borders at 1,500 and 2,000 items
  EXPECT_THROW(recall_of(even_map(4, {1024, 1500}), half, even_map(4, {1024, 2000})), Error);
  EXPECT_THROW(recall_of(map, half, even_map(5, {1024, 4096})), Error);
}

TEST(Selection, OfNoBlockIsRefusedAndNothingIsWritten) {
  JobBench bench;
  write_clusters(bench);
  bench.config.select = Selection{SelectBy::kShare, 0.99};

  EXPECT_EQ(bench.run(), 65);

  EXPECT_NE(bench.sentence.find("--select-share 0.99 selects 0 of 64 blocks"), std::string::npos)
      << bench.sentence;
  EXPECT_FALSE(std::filesystem::exists(bench.config.output));
}

TEST(Selection, ComputesTheSelectedTilesAndMarksTheOthers) {
  JobBench whole;
  write_clusters(whole);
  ASSERT_EQ(whole.run(), 0) << whole.sentence;
  JobBench some;
  write_clusters(some);
  some.config.select = Selection{SelectBy::kMass, 0.4};
  ASSERT_EQ(some.run(), 0) << some.sentence;

  const auto reader = SimilarityReader::open(calls, some.config.output);
  const auto full = SimilarityReader::open(calls, whole.config.output);
  const auto map = read_block_map(calls, some.config.output);

  ASSERT_TRUE(map);
  EXPECT_TRUE(map->is_estimate);
  const auto selected = std::count(map->mask.begin(), map->mask.end(), 1);
  EXPECT_GT(selected, 0);
  EXPECT_LT(selected, 32);
  for (std::int64_t block = 0; block < 64; ++block) {
    const RowRange queries{block / 8 * 16, block / 8 * 16 + 16};
    const RowRange items{block % 8 * 256, block % 8 * 256 + 256};
    const auto values = reader.read(queries, items);
    if (map->mask[static_cast<std::size_t>(block)] == 1) {
      EXPECT_EQ(values, full.read(queries, items));
    } else {
      EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return std::isnan(value); }));
    }
  }
  EXPECT_TRUE(look(some).damage.empty());
}

}  // namespace
}  // namespace bulksim::test
