#include "backend/search/pair_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/rows/prefetch.hpp"

namespace bulksim {

namespace {

// More than the rounding errors of the float32 operations of a sieve, whose numbers are below 2^29.
constexpr float kRounding = 128.0f;
// Measured costs in multiply-adds.
constexpr std::int64_t kCandidateCost = 30;  // in addition to its entries
constexpr float kStartShare = 0.35f;
constexpr std::size_t kCandidatesAhead = 3;

}  // namespace

PairSearch::PairSearch(const SearchKernel& kernel) : kernel_(kernel), histogram_(kBins) {
  sums_.require(kSearchItems);
  std::fill_n(sums_.data(), kSearchItems, 0);
  candidates_.require(kSearchItems + 1);  // one more is written than is kept
}

void PairSearch::begin_queries(const SearchQueries& queries) {
  queries_ = &queries;
  shares_.assign(queries.rows().rows(), kStartShare);
  columns_.resize(queries.rows().longest() + 1);
  query_values_.assign(std::size_t{queries.vocabulary().size()} + 1, 0);  // read in pairs
}

bool PairSearch::find(const SearchGoal& goal, const SearchBlock& block, const LabelledRows& items,
                      std::vector<ExactPair>& out) {
  collect(goal, block);
  const float limit = limit_of(goal, block);
  work_.cells += block.items();
  work_.useful_products += suffixes_[0].postings;
  const BandSuffix& all = suffixes_[kBands];
  const bool nothing_shared = suffixes_[0].postings == 0 && goal.zeros == 0;
  if (nothing_shared || std::min(all.rest * block.longest(kBands - 1), most_) < limit) {
    work_.skipped += block.items();
    return true;
  }
  std::size_t bands = 0;
  if (goal.best > 0) {
    candidate_count_ = find_best(goal, limit, block);
  } else if (limit < 1.0f) {
    candidate_count_ = touch(goal.zeros, block);
  } else {
    bands = choose_suffix(limit, block, shares_[goal.query]);
    candidate_count_ = sieve(bands, limit, block);
  }
  if (total_ != expected_) return false;
  if (candidate_count_ == 0) {
    adapt(goal, bands, 0);
    return true;
  }
  return make_exact(goal, bands, block, items, out);
}

/// Looks up the columns of the query and computes how much each suffix of bands can add.
void PairSearch::collect(const SearchGoal& goal, const SearchBlock& block) {
  const auto entries = queries_->row(goal.query);
  const UnitEntry* unit = queries_->unit_row(goal.query).data();
  const auto& borders = queries_->borders();
  Column* columns = columns_.data();
  std::size_t count = 0;
  std::size_t band = 0;
  std::int64_t postings = 0;
  float squares = 0.0f;
  float most = 0.0f;
  suffixes_[0] = {};
  // more than the rounding errors of the sums
  const float up = kUp + static_cast<float>(entries.size()) * 0x1p-23f;
  const auto close = [&] {
    suffixes_[++band] = {count, postings, std::sqrt(squares) * up * kCoarseOne};
  };
  for (const LabelledEntry& entry : entries) {
    while (entry.label >= borders[band])
      close();
    const RankedSet::Place place = block.present().place(entry.label);
    const SearchColumn& column = block.columns()[place.smaller];
    // branch-free, because presence cannot be predicted: counted 0 or 1 times
    const auto times = static_cast<float>(static_cast<std::int32_t>(place.present));
    columns[count] = {column.start, column.size, unit->coarse, column.sum};
    count += place.present;
    postings += std::int64_t{column.size} * place.present;
    squares += times * unit->size * unit->size;
    most += times * std::fabs(static_cast<float>(unit->coarse)) * static_cast<float>(column.peak);
    ++unit;
  }
  while (band < kBands)
    close();
  column_count_ = count;
  most_ = most * up;
  // up to here, postings counts those before the border
  for (BandSuffix& suffix : suffixes_)
    suffix.postings = postings - suffix.postings;
  const auto n = static_cast<float>(count);
  slack_ = std::sqrt(n) * 0x1p14f + n / 4 + kRounding;
}

/// The lowest coarse sum with which an item may have the wanted score.
float PairSearch::limit_of(const SearchGoal& goal, const SearchBlock& block) const {
  const double lengths = queries_->norm(goal.query) * block.norm();
  if (lengths == 0.0) return goal.score > 0.0f ? HUGE_VALF : -HUGE_VALF;
  constexpr double kLeastScore = std::numeric_limits<float>::denorm_min();
  const double score = goal.score;
  const double rounding = std::fabs(score) * 0x1p-23 + kLeastScore;  // a score is a float32
  const double lowest = (score - rounding) / (queries_->scale(goal.query) * block.unit());
  return static_cast<float>(lowest / lengths * kCoarseOne) - slack_;
}

/// The number of bands to leave out: the cheapest choice whose rest is below `share` of the limit.
std::size_t PairSearch::choose_suffix(float limit, const SearchBlock& block, float share) {
  const float room = share * limit;
  const float sweep = kSweepCost * static_cast<float>(block.padded());
  float least = HUGE_VALF;
  std::size_t best = 0;
  for (std::size_t bands = 0; bands <= kBands; ++bands) {
    const BandSuffix& suffix = suffixes_[bands];
    const float typical = bands == 0 ? 0.0f : suffix.rest * block.mean(bands - 1);
    if (typical > room) break;
    const auto postings = static_cast<float>(suffix.postings);
    const float cost = std::min(kVisitCost * postings, postings + sweep);
    if (cost < least) {
      least = cost;
      best = bands;
    }
  }
  return best;
}

/// Computes exact sums of the candidates from the rows. The coarse sums must agree with them.
bool PairSearch::make_exact(const SearchGoal& goal, std::size_t bands, const SearchBlock& block,
                            const LabelledRows& items, std::vector<ExactPair>& out) {
  const auto entries = queries_->row(goal.query);
  std::int32_t* values = query_values_.data();
  for (const LabelledEntry& entry : entries)
    values[entry.label] = entry.value;
  const std::uint32_t border = bands == 0 ? 0 : queries_->borders()[bands - 1];
  const double scale = kCoarseOne / (queries_->norm(goal.query) * block.norm());
  bool holds = true;
  std::int64_t visited = 0;
  for (std::size_t at = 0; at < candidate_count_; ++at) {
    const Candidate& candidate = candidates_.data()[at];
    const std::int64_t item = block.rows().begin + candidate.item;
    if (at + kCandidatesAhead < candidate_count_) {
      const Candidate& later = candidates_.data()[at + kCandidatesAhead];
      prefetch(items.row(block.rows().begin + later.item).data(), kBytesAhead);
    }
    const auto row = items.row(item);
    const SplitSum sum = kernel_.multiply(row.data(), row.size(), values, border);
    visited += row.size();
    const double exact =
        static_cast<double>(sum.others) * (scale * block.relative_scale(items.scale(item)));
    holds &= !(std::fabs(exact - candidate.sum) > static_cast<double>(slack_));
    out.push_back({item, sum.below + sum.others});
  }
  for (const LabelledEntry& entry : entries)
    values[entry.label] = 0;
  work_.candidates += candidate_count_;
  adapt(goal, bands, visited);
  return holds;
}

/// Leaves out less if the exact sums cost more than the coarse ones, and more if they cost very
/// little. `entries` is the number visited for exact sums.
void PairSearch::adapt(const SearchGoal& goal, std::size_t bands, std::int64_t entries) {
  float& share = shares_[goal.query];
  const std::int64_t added = suffixes_[bands].postings + 64;
  const std::int64_t exact = entries + kCandidateCost * static_cast<std::int64_t>(candidate_count_);
  if (2 * exact > added) {
    share = std::max(share * 0.9f, 0.1f);
  } else if (8 * exact < added) {
    share = std::min(share * 1.03f, 0.98f);
  }
}

PairStats PairSearch::take_work() {
  const PairStats work = work_;
  work_ = {};
  return work;
}

std::int64_t PairSearch::bytes(std::int64_t longest, std::int64_t labels, std::int64_t queries) {
  return queries * 4 + (longest + 1) * std::int64_t{sizeof(Column)} + labels * 4 +
         kSearchItems * std::int64_t{4 + sizeof(Candidate) + sizeof(ExactPair)};
}

}  // namespace bulksim
