#pragma once

// Shared by the tests of all pair backends: a sink, and the pairs that pass a filter.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "bulksim/backend/pair_backend.hpp"
#include "support/backend_support.hpp"

namespace bulksim::test {

using Pairs = std::vector<std::pair<std::int64_t, ScoredItem>>;

/// Keeps the pairs of finished groups of tiles by query, and counts violations of the order.
class PairCollector final : public PairSink {
 public:
  std::unique_ptr<PairWriter> make_writer() override { return std::make_unique<Writer>(*this); }

  std::map<std::int64_t, std::vector<ScoredItem>> rows;
  std::int64_t disorder = 0;

 private:
  class Writer final : public PairWriter {
   public:
    explicit Writer(PairCollector& sink) : sink_(sink) {}
    void begin(PairWork work) override {
      disorder_ += work.tiles.empty();
      group_.clear();
    }
    void write(const PairStripe& stripe) override {
      const auto& [query, pairs] = stripe;
      const bool ascending = std::ranges::is_sorted(pairs, std::less<>(), &ScoredItem::item);
      disorder_ += pairs.empty() || !ascending;
      for (const ScoredItem& pair : pairs)
        group_.emplace_back(query, pair);
    }
    void finish() override {
      const std::lock_guard lock(sink_.mutex_);
      sink_.disorder += disorder_;
      for (const auto& [query, pair] : group_)
        sink_.rows[query].push_back(pair);
    }

   private:
    PairCollector& sink_;
    Pairs group_;
    std::int64_t disorder_ = 0;
  };

  std::mutex mutex_;
};

/// With kBest, puts the lists of all queries into the sink, as a run does when all is searched.
inline void take_lists(const PairBackend& backend, const PairFilterSpec& spec,
                       PairCollector& sink) {
  if (spec.keep != Keep::kBest) return;
  backend.for_each_list({0, kEveryRow}, [&](const PairStripe& list) {
    sink.rows[list.query].assign(list.pairs.begin(), list.pairs.end());
  });
}

/// The result of each query: the pairs with the highest rank keys where not all are kept, by item.
inline Pairs merged(const PairCollector& sink, const PairFilterSpec& spec) {
  Pairs all;
  for (auto [query, pairs] : sink.rows) {
    if (spec.keep != Keep::kAll) {
      std::ranges::sort(pairs, std::greater<>(), [&, query = query](const ScoredItem& pair) {
        return rank_key(spec, query, pair.item, pair.score);
      });
      pairs.resize(std::min(pairs.size(), static_cast<std::size_t>(spec.count)));
    }
    std::ranges::sort(pairs, std::less<>(), &ScoredItem::item);
    for (const ScoredItem& pair : pairs)
      all.emplace_back(query, pair);
  }
  return all;
}

/// The same by definition, from the whole matrix.
inline Pairs expected(const BackendProblem& problem, const std::vector<float>& matrix,
                      const PairFilterSpec& spec) {
  PairCollector sink;
  const std::int64_t width = problem.items.rows();
  for (std::int64_t cell = 0; cell < static_cast<std::int64_t>(matrix.size()); ++cell) {
    const float score = matrix[static_cast<std::size_t>(cell)];
    if (!spec.admits(cell / width, cell % width, score)) continue;
    sink.rows[cell / width].push_back({cell % width, score});
  }
  return merged(sink, spec);
}

}  // namespace bulksim::test
