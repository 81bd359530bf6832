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

/// Each row is the same: every pair has the score 1.
CsrMatrix same_rows(std::int64_t rows) {
  return matrix_of(8, std::vector<Entries>(static_cast<std::size_t>(rows), {{3, 1.5}}));
}

TEST(PairsLimit, AFileOfAnyFormatEndsBeforeItIsLargerThanAllowed) {
  for (const char* name : {"result.h5", "result.npz", "result.tsv", "out"}) {
    PairsJob job(same_rows(300), {.at_least = 0.0f, .partners = Partners::kOthers});
    job.config.output = job.folder / name;
    job.config.max_output = 500'000;

    EXPECT_EQ(job.run(), 74) << name;
    EXPECT_NE(job.sentence.find("--max-output allows 500.0 kB"), std::string::npos) << job.sentence;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(job.folder / "")) {
      if (entry.is_regular_file() && entry.path().extension() != ".pairs") {
        EXPECT_LE(entry.file_size(), 500'000U) << entry.path();
      }
    }
    job.config.max_output = 1'500'000;
    EXPECT_EQ(job.run(), 0) << name << ": " << job.sentence;
  }
}

TEST(PairsLimit, IdsCount) {
  for (const char* name : {"result.h5", "out"}) {
    PairsJob job(same_rows(100), {.at_least = 2.0f, .partners = Partners::kLater});
    job.config.output = job.folder / name;
    job.config.item_ids = job.folder / "ids";
    std::string ids;
    for (int row = 0; row < 100; ++row)
      ids += std::to_string(row) + std::string(2'000, 'x') + "\n";
    replace_file(system_file_calls(), job.config.item_ids, ids);
    job.config.max_output = 100'000;

    EXPECT_EQ(job.run(), 74) << name;
    job.config.filter.reset();
    EXPECT_EQ(job.run(), 74) << name << ", the whole matrix";
  }
}

}  // namespace
}  // namespace bulksim::test
