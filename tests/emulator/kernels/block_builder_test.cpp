// The blocks built on the device equal those of a simple host builder.
#include "backend/cuda/kernels/block_builder.hpp"

#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "emulator/device/emulator_test_support.hpp"
#include "emulator/kernels/cuda_test_support.hpp"

namespace bulksim::cuda {
namespace {

/// One posting list by definition: items that have a label, in the order of the banks.
using Lists = std::map<std::uint32_t, std::vector<std::pair<int, int>>>;

void go_round_the_banks(std::vector<std::pair<int, int>>& list) {
  std::map<int, int> seen;
  std::vector<std::tuple<int, int, std::pair<int, int>>> keyed;
  for (const auto& posting : list) {
    const int bank = posting.second % kBanks;
    keyed.emplace_back(seen[bank]++, bank, posting);
  }
  std::sort(keyed.begin(), keyed.end());
  std::transform(keyed.begin(), keyed.end(), list.begin(),
                 [](const auto& key) { return std::get<2>(key); });
}

/// The lists of every block, by definition.
std::vector<Lists> expected_blocks(const QuantizedRows& items, const Vocabulary& vocabulary,
                                   const BlockGrid& grid) {
  std::vector<Lists> blocks(static_cast<std::size_t>(grid.blocks()));
  for (std::int64_t item = 0; item < items.rows(); ++item) {
    const auto columns = items.columns_of(item);
    const auto values = items.values_of(item);
    for (std::size_t at = 0; at < columns.size(); ++at) {
      const std::uint32_t label = vocabulary.label(columns[at]);
      if (label == RankedSet::kAbsent) continue;
      blocks[static_cast<std::size_t>(grid.block_of(item))][label].emplace_back(
          values[at], grid.place_in_block(item));
    }
  }
  for (Lists& block : blocks) {
    for (auto& [label, list] : block)
      go_round_the_banks(list);
  }
  return blocks;
}

/// The same, read back from the device.
std::vector<Lists> read_blocks(const ItemBlocks& blocks, std::int64_t entries,
                               const Stream& stream) {
  const std::int64_t count = blocks.grid.blocks();
  const auto look = download_all(blocks.look, count * blocks.words, stream);
  const auto first = download_all(blocks.first, count + 1, stream);
  const auto lists = download_all(blocks.lists, entries, stream);
  const auto postings =
      download_all(blocks.postings, blocks.postings == nullptr ? 0 : entries, stream);
  std::vector<Lists> result(static_cast<std::size_t>(count));
  for (std::int64_t block = 0; block < count; ++block) {
    unsigned rank = 0;
    const std::int64_t base = first[static_cast<std::size_t>(block)];
    for (std::int64_t word = 0; word < blocks.words; ++word) {
      const uint2 bits = look[static_cast<std::size_t>(block * blocks.words + word)];
      EXPECT_EQ(bits.y, rank);
      for (unsigned bit = 0; bit < 32; ++bit) {
        if ((bits.x >> bit & 1U) == 0) continue;
        const uint2 list = lists[static_cast<std::size_t>(base + rank++)];
        auto& found =
            result[static_cast<std::size_t>(block)][static_cast<std::uint32_t>(word * 32 + bit)];
        for (unsigned at = list.x; at < list.x + list.y; ++at) {
          const int2 posting = postings[static_cast<std::size_t>(base + at)];
          found.emplace_back(posting.x, posting.y);
        }
      }
    }
  }
  return result;
}

struct BuilderCase {
  const char* name;
  test::RandomRows items;
  std::int64_t tile_items;
};

class BlockBuilderTest : public testing::TestWithParam<BuilderCase> {};

TEST_P(BlockBuilderTest, MakesTheBlocksOfTheDefinition) {
  emulator::settings() = {emulator::ThreadOrder::kRandom, 5};
  const Stream stream;
  const QuantizedRows queries = test::random_rows({.rows = 40, .common_column = true, .seed = 2});
  const QuantizedRows items = test::random_rows(GetParam().items);
  const DeviceQueries device_queries(queries, 16, stream);
  const test::LabelledItems rows(items, device_queries.view(), stream);
  const BlockGrid grid{items.rows(), GetParam().tile_items};
  BlockBuilder builder;

  const ItemBlocks blocks =
      builder.build(rows.view, rows.entries, grid, device_queries.view().labels, stream);

  EXPECT_EQ(read_blocks(blocks, rows.entries, stream),
            expected_blocks(items, device_queries.vocabulary(), grid));
  emulator::settings() = {};
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BlockBuilderTest,
    testing::Values(
        BuilderCase{"OneItem", {.rows = 1, .seed = 3}, 1},
        BuilderCase{"OneShortBlock", {.rows = 31, .seed = 4}, 31},
        BuilderCase{"OneBlockAndOneItem", {.rows = 1025, .entries = 4, .seed = 5}, 2048},
        BuilderCase{"BlocksBeginAnewWithEachTile", {.rows = 3100, .entries = 3, .seed = 6}, 1500},
        BuilderCase{
            "OneColumnInAllRows",
            {.rows = 2100, .entries = 2, .common_column = true, .zero_row_every = 0, .seed = 7},
            1024},
        BuilderCase{"OnlyZeroRows", {.rows = 40, .zero_row_every = 1, .seed = 8}, 64},
        BuilderCase{"ColumnsNoQueryHas", {.rows = 50, .columns = 100000, .seed = 9}, 64}),
    [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace bulksim::cuda
