#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/half.hpp"
#include "job/verify/verify_result.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/similarity_file.hpp"
#include "support/job_support.hpp"

namespace bulksim::test {
namespace {

FileCalls& calls = system_file_calls();

class MetricJob : public JobBench {
 public:
  MetricJob(const CsrMatrix& queries, const CsrMatrix& items) : queries_(queries), items_(items) {
    write_csr(config.queries, queries);
    write_csr(config.items, items);
    config.metric = Metric::kDot;
  }

  std::vector<float> matrix() const {
    return SimilarityReader::open(calls, config.output)
        .read({0, queries_.rows()}, {0, items_.rows()});
  }
  std::vector<float> wanted(FixedPoint format) const {
    return reference(quantized_rows(queries_, format), quantized_rows(items_, format), format);
  }
  std::string verdict() const {
    VerifyOptions options;
    options.path = config.output;
    options.against_items = config.items;
    options.against_queries = config.queries;
    Log log({.level = LogLevel::kError});
    const Verdict verdict = verify(calls, options, log);
    return verdict.damage.empty() ? "whole" : verdict.damage.front().what;
  }

 private:
  CsrMatrix queries_;
  CsrMatrix items_;
};

TEST(DotJob, ValuesOfAnyKindHaveTheBitsOfTheDefinition) {
  MetricJob job(random_rows(90, 300, 12, 1), random_rows(2'000, 300, 15, 2));

  ASSERT_EQ(job.run(), 0) << job.sentence;

  EXPECT_EQ(job.matrix(), job.wanted(kDotQ26));
  EXPECT_EQ(job.verdict(), "whole");
}

TEST(DotJob, IntegersGiveIntegers) {
  MetricJob job(integer_rows(90, 300, 12, 1), integer_rows(2'000, 300, 15, 2));

  ASSERT_EQ(job.run(), 0) << job.sentence;

  const auto matrix = job.matrix();
  EXPECT_EQ(matrix, job.wanted(kDotQ26));
  EXPECT_TRUE(std::ranges::all_of(matrix, [](float v) { return v == std::trunc(v); }));
  EXPECT_GT(*std::ranges::max_element(matrix), 100.0f);
  EXPECT_EQ(job.verdict(), "whole");
}

TEST(DotJob, TheBestOfIntegersAreAStableSortWithTrueTies) {
  constexpr std::int64_t kBest = 50;
  MetricJob job(integer_rows(90, 300, 12, 1), integer_rows(2'000, 300, 15, 2));
  job.config.output = job.folder / "best.h5";
  job.config.filter = PairFilterSpec{.keep = Keep::kBest, .count = kBest};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  const auto matrix = job.wanted(kDotQ26);
  std::vector<std::int64_t> items;
  std::vector<float> scores;
  PairFileReader::open(calls, job.config.output)->read({0, 90}, items, scores);
  std::int64_t wrong = 0;
  std::int64_t ties = 0;
  for (std::size_t query = 0; query < 90; ++query) {
    const float* row = matrix.data() + query * 2'000;
    std::vector<std::int64_t> order(2'000);
    for (std::size_t at = 0; at < order.size(); ++at)
      order[at] = static_cast<std::int64_t>(at);
    std::ranges::stable_sort(order, [&](auto a, auto b) { return row[a] > row[b]; });
    for (std::size_t place = 0; place < kBest; ++place) {
      const std::size_t at = query * kBest + place;
      wrong += items[at] != order[place] || scores[at] != row[order[place]];
      ties += place > 0 && scores[at] == scores[at - 1] && scores[at] > 0.0f;
    }
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(ties, 100);
}

TEST(DotJob, PairsOfAFolderAreVerifiedAgainstTheirInputs) {
  MetricJob job(random_rows(90, 300, 12, 1), random_rows(2'000, 300, 15, 2));
  job.config.filter = PairFilterSpec{.at_least = 3.0f};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  EXPECT_EQ(job.verdict(), "whole");
}

TEST(MirroredJob, BothHalvesAreVerifiedAgainstTheInputs) {
  const auto rows = random_rows(900, 300, 12, 1);
  MetricJob job(rows, rows);
  job.config.metric = Metric::kCosine;
  job.config.queries = "";
  job.config.filter = PairFilterSpec{.at_least = 0.3f, .partners = Partners::kOthers};

  ASSERT_EQ(job.run(), 0) << job.sentence;

  EXPECT_EQ(job.verdict(), "whole");
}

TEST(DotJob, SumsBeyondExactFloat64IntegersAreRefused) {
  const auto large = matrix_of(4, {{{0, 2e9}, {1, 2e9}, {2, 2e9}}});
  MetricJob job(large, large);

  EXPECT_EQ(job.run(), 65);

  EXPECT_NE(job.sentence.find("dot products may reach 1.2e+19, over 2^53"), std::string::npos)
      << job.sentence;
}

TEST(Float16Job, EveryCellIsTheHalfEvenRoundingOfTheFloat32) {
  MetricJob job(random_rows(90, 300, 12, 1), random_rows(2'000, 300, 15, 2));
  job.config.metric = Metric::kCosine;
  job.config.value_type = ValueType::kFloat16;
  for (const char* name : {"half.h5", "out"}) {
    job.config.output = job.folder / name;

    ASSERT_EQ(job.run(), 0) << job.sentence;

    std::vector<float> want = job.wanted(kQ26);
    for (float& value : want)
      value = widen_half(round_to_half(value));
    EXPECT_EQ(job.matrix(), want);
    EXPECT_EQ(SimilarityReader::open(calls, job.config.output).value_type(), ValueType::kFloat16);
    EXPECT_EQ(job.verdict(), "whole");
  }
  const auto part = std::filesystem::file_size(job.version() + "/parts/part-00000.h5");
  EXPECT_EQ(part, (1 << 20) + 2 * 96 * 512);  // whole tiles of two bytes per value
}

TEST(Float16Job, DotProductsTooLargeForAFloat16AreRefused) {
  const auto rows = matrix_of(4, {{{0, 300.5}}});
  MetricJob job(rows, rows);
  job.config.value_type = ValueType::kFloat16;

  EXPECT_EQ(job.run(), 65);

  EXPECT_NE(job.sentence.find("a float16 holds at most 65504"), std::string::npos) << job.sentence;
}

}  // namespace
}  // namespace bulksim::test
