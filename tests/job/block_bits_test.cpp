// The block sums of whole runs have the same bits for any number of ranks.
#include <string>
#include <utility>

#include "bulksim/core/checksum.hpp"
#include "support/block_sums_support.hpp"

namespace bulksim::test {
namespace {

std::string digest_of_map(const BlockMap& map) {
  Hasher hasher;
  hasher.update(bytes_of(map.fine));
  hasher.update(bytes_of(map.coarse));
  hasher.update(bytes_of(map.share));
  return hasher.digest().hex();
}

class Corpora : public testing::TestWithParam<std::pair<std::string, std::string>> {};

TEST_P(Corpora, HaveTheSameBitsForAnyNumberOfRanksAndAnyMode) {
  const auto& [corpus, digest] = GetParam();
  const CsrMatrix queries = load(corpus + "_queries");
  const CsrMatrix items = load(corpus + "_items");
  BlockSumsJob full(queries, items);
  BlockSumsJob blocks(queries, items);
  blocks.config.mode = Mode::kBlocks;
  blocks.config.threads = 1;
  blocks.config.chunk_rows = 1;

  const auto of_full = full.run();
  const auto of_blocks = blocks.run();

  if (world().rank() != 0) return;
  ASSERT_TRUE(of_full && of_blocks);
  EXPECT_EQ(digest_of_map(*of_full), digest);
  EXPECT_EQ(*of_full, *of_blocks);
}

INSTANTIATE_TEST_SUITE_P(
    OfShortTexts, Corpora,
    testing::Values(
        std::pair<std::string, std::string>{"titles", "92260cca7568a8d0b2bb9cb35cefbfd2"},
        std::pair<std::string, std::string>{"trigrams", "992bb279252a5bc77091e0694b340b3a"}));

}  // namespace
}  // namespace bulksim::test
