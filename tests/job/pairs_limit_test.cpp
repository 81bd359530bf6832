// A run with too many pairs, on one rank, which fails while it streams, as one of several ranks
// would without the others knowing.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "support/pairs_job_support.hpp"

namespace bulksim::test {
namespace {

TEST(PairsLimit, TooManyPairsOfIdenticalRowsAreRefusedWithTheirSize) {
  const std::vector<Entries> same(60'000, {{3, 1.5}});
  PairsJob job(matrix_of(8, same), {.at_least = 0.5f, .partners = Partners::kLater});
  job.config.max_output = 64 << 20;

  EXPECT_EQ(job.run(), 74);

  EXPECT_NE(job.sentence.find(" GB ("), std::string::npos) << job.sentence;
  EXPECT_NE(job.sentence.find("--max-output allows 67.1 MB"), std::string::npos) << job.sentence;
  EXPECT_FALSE(std::filesystem::exists(job.config.output));
}

TEST(PairsLimit, ARefusedRunResumesWithAHigherLimit) {
  const std::vector<Entries> same(2'000, {{3, 1.5}});
  PairsJob job(matrix_of(8, same), {.at_least = 0.5f, .partners = Partners::kLater});
  job.config.max_output = 8'000'000;
  ASSERT_EQ(job.run(), 74);
  job.config.max_output = 80'000'000;

  EXPECT_EQ(job.run(), 0) << job.sentence;

  const h5::File file = h5::open_file(job.config.output);
  const auto offsets = read_array<std::int64_t>(file, "pairs/indptr", H5T_NATIVE_INT64);
  EXPECT_EQ(offsets.back(), 2'000 * 1'999 / 2);
}

}  // namespace
}  // namespace bulksim::test
