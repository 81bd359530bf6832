// The terms of the block sums that the CUDA backend leaves beside its tiles, or alone.
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <gtest/gtest.h>

#include "backend_support.hpp"
#include "bulksim/backend/cuda_backend.hpp"
#include "bulksim/blocks/fine_grid.hpp"
#include "emulated_runtime.hpp"

extern "C" bulksim::SimilarityBackend* bulksim_make_cuda_backend(
    const bulksim::CudaBackendOptions& options);

namespace bulksim {
namespace {

using test::BackendProblem;

constexpr double kScale = 20.0;

/// Keeps values and terms of finished tiles.
class TermCollector final : public TileSink {
 public:
  std::unique_ptr<TileWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::map<TileId, std::vector<BlockTerm>> terms;
  std::map<TileId, std::vector<float>> values;

 private:
  class Writer final : public TileWriter {
   public:
    explicit Writer(TermCollector& sink) : sink_(sink) {}
    void begin(TileId tile) override {
      tile_ = tile;
      terms_.clear();
      values_.clear();
    }
    void write(const TileStripe& stripe) override {
      terms_.insert(terms_.end(), stripe.terms.begin(), stripe.terms.end());
      values_.insert(values_.end(), stripe.values.begin(), stripe.values.end());
    }
    void finish() override {
      const std::lock_guard lock(sink_.mutex_);
      sink_.terms[tile_] = terms_;
      sink_.values[tile_] = values_;
    }

   private:
    TermCollector& sink_;
    TileId tile_;
    std::vector<BlockTerm> terms_;
    std::vector<float> values_;
  };

  std::mutex mutex_;
};

/// By the definition.
std::vector<BlockTerm> expected_terms(const BackendProblem& problem, TileId tile) {
  const std::int64_t blocks = FineGrid(problem.grid).columns_of_a_tile();
  const RowRange queries = problem.grid.queries(tile.row);
  const RowRange items = problem.grid.items(tile.column);
  std::vector<BlockTerm> terms(static_cast<std::size_t>(terms_of_a_tile(problem.grid)));
  for (std::int64_t row = 0; row < queries.size(); ++row) {
    const std::int64_t query = queries.begin + row;
    for (std::int64_t block = 0; block < blocks; ++block) {
      std::vector<float> cosines;
      for (std::int64_t item = items.begin + 1024 * block;
           item < std::min(items.begin + 1024 * (block + 1), items.end); ++item) {
        cosines.push_back(to_cosine(exact_sum(problem.queries.rows, query, problem.items, item),
                                    inverse_one(problem.arithmetic)));
      }
      if (cosines.empty() || problem.queries.rows.columns_of(query).empty()) continue;
      terms[static_cast<std::size_t>(row * blocks + block)] =
          block_term(cosines, 0, exp_scale(kScale), inverse_one(problem.arithmetic));
    }
  }
  return terms;
}

class CudaTermsTest : public testing::TestWithParam<TileContent> {
 protected:
  CudaTermsTest() { emulator::reset_runtime({}, emulator::StreamOrder::kShuffled, 5); }
  ~CudaTermsTest() override {
    emulator::reset_runtime();
    EXPECT_EQ(emulator::live_objects(), 0);
  }

  /// Runs it and compares everything; tiles that were computed again.
  std::int64_t run(const BackendProblem& problem) {
    CudaBackendOptions options;
    options.grid = problem.grid;
    options.arithmetic = problem.arithmetic;
    options.pinned_tiles = 2;
    options.content = GetParam();
    options.softmax_scale = kScale;
    TermCollector sink;
    const std::unique_ptr<SimilarityBackend> backend(bulksim_make_cuda_backend(options));
    problem.run(*backend, sink);
    EXPECT_EQ(static_cast<std::int64_t>(sink.terms.size()), problem.grid.count());
    for (const auto& [tile, terms] : sink.terms)
      EXPECT_EQ(terms, expected_terms(problem, tile)) << tile.row << "," << tile.column;
    const auto cells = static_cast<std::size_t>(problem.grid.tile().cells());
    for (const auto& [tile, values] : sink.values)
      EXPECT_EQ(values.size(), GetParam() == TileContent::kTerms ? 0 : cells);
    return backend->recomputed_tiles();
  }
};

INSTANTIATE_TEST_SUITE_P(Contents, CudaTermsTest,
                         testing::Values(TileContent::kValuesAndTerms, TileContent::kTerms),
                         [](const auto& content) {
                           return content.param == TileContent::kTerms ? "Alone" : "BesideValues";
                         });

TEST_P(CudaTermsTest, HaveTheBitsOfTheDefinition) {
  EXPECT_EQ(run(BackendProblem({20, 100}, {16, 48})), 0);
  EXPECT_EQ(run(BackendProblem({9, 2100}, {6, 1500})), 0);  // blocks that hang over the edge
  EXPECT_EQ(run(BackendProblem({5, 40}, {5, 33}, kWideGrid)), 0);
}

TEST_P(CudaTermsTest, AreComputedAgainWhenTheyAreLost) {
  const BackendProblem problem({16, 64}, {16, 64});
  emulator::lose_downloads(200, GetParam() == TileContent::kTerms ? 1 : 2, 1);

  EXPECT_EQ(run(problem), 1);
}

}  // namespace
}  // namespace bulksim
