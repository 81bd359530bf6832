#include "storage/run/journal.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/test_support.hpp"

namespace bulksim::test {
namespace {

FileCalls& calls = system_file_calls();

constexpr Digest kPlan{1, 2};

std::vector<std::int64_t> tiles_of(const JournalContent& content, Trust trust) {
  std::vector<std::int64_t> tiles;
  for (const JournalTile& tile : content.tiles) {
    if (tile.trust == trust) tiles.push_back(tile.tile);
  }
  return tiles;
}

TEST(Journal, DistinguishesDurableFromWrittenTiles) {
  const TemporaryFolder folder;
  Journal journal(calls, folder / "a0003-r0007", {kPlan, 3, 7});
  journal.tile_done(5, {10, 11});
  journal.tile_done(9, {20, 21});
  journal.synced(journal.records());
  journal.tile_done(2, {30, 31});

  const auto content = read_journal(calls, folder / "a0003-r0007", kPlan);

  EXPECT_EQ(content.attempt, 3);
  EXPECT_EQ(content.rank, 7);
  EXPECT_EQ(tiles_of(content, Trust::kDurable), (std::vector<std::int64_t>{5, 9}));
  EXPECT_EQ(tiles_of(content, Trust::kWritten), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(content.tiles[1].digest, (Digest{20, 21}));
  EXPECT_EQ(std::filesystem::file_size(folder / "a0003-r0007"), 4 * 64);
}

TEST(Journal, ASyncedRecordCoversThatManyRecordsAndNoMore) {
  const TemporaryFolder folder;
  Journal journal(calls, folder / "j", {kPlan, 1, 0});
  journal.tile_done(1, {});
  const std::int64_t records = journal.records();
  journal.tile_done(2, {});  // while the first is being synced
  journal.synced(records);

  const auto content = read_journal(calls, folder / "j", kPlan);

  EXPECT_EQ(tiles_of(content, Trust::kDurable), std::vector<std::int64_t>{1});
  EXPECT_EQ(tiles_of(content, Trust::kWritten), std::vector<std::int64_t>{2});
}

TEST(Journal, AfterAFailedSyncUncoveredTilesAreLost) {
  const TemporaryFolder folder;
  Journal journal(calls, folder / "j", {kPlan, 1, 0});
  journal.tile_done(1, {});
  journal.synced(journal.records());
  journal.tile_done(2, {});
  journal.sync_failed();

  const auto content = read_journal(calls, folder / "j", kPlan);

  EXPECT_EQ(tiles_of(content, Trust::kDurable), std::vector<std::int64_t>{1});
  EXPECT_EQ(tiles_of(content, Trust::kLost), std::vector<std::int64_t>{2});
}

TEST(Journal, CannotBeCreatedTwice) {
  const TemporaryFolder folder;
  const Journal journal(calls, folder / "j", {kPlan, 1, 0});

  const auto again = [&] { Journal(calls, folder / "j", {kPlan, 1, 0}); };

  EXPECT_THROW(again(), Error);
}

TEST(Journal, OfAnotherPlanHasNoTiles) {
  const TemporaryFolder folder;
  Journal journal(calls, folder / "j", {kPlan, 1, 0});
  journal.tile_done(1, {});

  const auto content = read_journal(calls, folder / "j", {1, 3});

  EXPECT_TRUE(content.tiles.empty());
  EXPECT_EQ(content.torn, 1);
}

TEST(Journal, ATornOrFlippedRecordAffectsOnlyItself) {
  const TemporaryFolder folder;
  Journal journal(calls, folder / "j", {kPlan, 1, 0});
  for (std::int64_t tile = 0; tile < 10; ++tile)
    journal.tile_done(tile, {static_cast<std::uint64_t>(tile), 1});
  const std::string whole = read_file(folder / "j");
  Random random(31);
  const auto write = [&](const std::string& text) {
    std::ofstream(folder / "j", std::ios::binary) << text;
  };

  for (int round = 0; round < 500; ++round) {
    const auto at = static_cast<std::size_t>(random.below(std::ssize(whole)));
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << random.below(8)));
    write(flipped);
    const auto content = read_journal(calls, folder / "j", kPlan);
    ASSERT_EQ(content.tiles.size(), 9U) << "byte " << at;
    for (const JournalTile& tile : content.tiles)
      ASSERT_EQ(tile.digest.high, static_cast<std::uint64_t>(tile.tile));
    write(whole.substr(0, at));
    ASSERT_EQ(read_journal(calls, folder / "j", kPlan).tiles.size(), at / 64) << "byte " << at;
  }
}

}  // namespace
}  // namespace bulksim::test
