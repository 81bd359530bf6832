#include "backend/pair_search.hpp"

#include <algorithm>
#include <cmath>

namespace bulksim {

namespace {

constexpr float kUp = 1.0f + 0x1p-20f;
// More than the roundings of the float32 operations of a sieve, whose numbers are below 2^29.
constexpr float kRounding = 128.0f;
// Costs in multiply-adds, measured.
constexpr float kSweepCost = 0.09f;          // an item
constexpr float kVisitCost = 2.2f;           // a posting that is added and visited
constexpr std::int64_t kCandidateCost = 30;  // beside its entries
constexpr float kStartShare = 0.6f;
constexpr std::size_t kBins = 1024;  // of the histogram of sums
constexpr int kBinShift = 19;        // 2^28 / 512

}  // namespace

PairSearch::PairSearch(Grid arithmetic, const SearchKernel& kernel)
    : arithmetic_(arithmetic), kernel_(kernel), histogram_(kBins) {
  sums_.require(kSearchItems);
  std::fill_n(sums_.data(), kSearchItems, 0);
  candidates_.require(kSearchItems + 1);  // one more is written than kept
}

void PairSearch::begin_queries(const SearchQueries& queries) {
  queries_ = &queries;
  shares_.assign(static_cast<std::size_t>(queries.batch().rows.rows()), kStartShare);
  columns_.resize(static_cast<std::size_t>(queries.longest()) + 1);
  query_values_.assign(queries.vocabulary().size(), 0);
}

bool PairSearch::find(const SearchGoal& goal, const SearchBlock& block, const LabelledRows& items,
                      std::vector<ExactPair>& out) {
  collect(goal, block);
  const float limit = limit_of(goal, block);
  work_.cells += block.items();
  work_.useful_products += cuts_[0].postings;
  const Cut& all = cuts_[kBands];
  const bool nothing_shared = cuts_[0].postings == 0 && goal.zeros == 0;
  if (nothing_shared || std::min(all.rest * block.longest(kBands - 1), all.most) < limit) {
    work_.skipped += block.items();
    return true;
  }
  std::size_t bands = 0;
  if (goal.best > 0) {
    candidate_count_ = find_best(goal, limit, block);
  } else if (limit < 1.0f) {
    candidate_count_ = touch(goal.zeros, block);
  } else {
    bands = choose_cut(limit, block, shares_[static_cast<std::size_t>(goal.query)]);
    candidate_count_ = sieve(bands, limit, block);
  }
  if (total_ != expected_) return false;
  if (candidate_count_ == 0) {
    adapt(goal, bands, 0);
    return true;
  }
  return make_exact(goal, bands, block, items, out);
}

/// Looks up the columns of the query and adds up what its bands can add.
void PairSearch::collect(const SearchGoal& goal, const SearchBlock& block) {
  const auto entries = queries_->row(goal.query);
  const auto& borders = queries_->borders();
  Column* columns = columns_.data();
  std::size_t count = 0;
  std::size_t band = 0;
  std::int64_t postings = 0;
  float squares = 0.0f;
  float most = 0.0f;
  cuts_[0] = {};
  const auto close = [&] {
    cuts_[++band] = {count, postings, std::sqrt(squares) * kUp * kCoarseOne, most * kUp};
  };
  for (const SearchEntry& entry : entries) {
    while (entry.label >= borders[band])
      close();
    const RankedSet::Place place = block.present().place(entry.label);
    const SearchColumn& column = block.columns()[place.smaller];
    columns[count] = {column.start, column.size, entry.coarse, column.sum};
    if (place.present != 0) {
      ++count;
      postings += column.size;
      squares += entry.weight * entry.weight;
      most += std::fabs(static_cast<float>(entry.coarse)) * static_cast<float>(column.peak);
    }
  }
  while (band < kBands)
    close();
  column_count_ = count;
  // so far postings counts what lies before a cut
  for (Cut& cut : cuts_)
    cut.postings = postings - cut.postings;
  const auto n = static_cast<float>(count);
  slack_ = std::sqrt(n) * 0x1p14f + n / 4 + kRounding;
}

/// The coarse sum from which an item may have the score wanted.
float PairSearch::limit_of(const SearchGoal& goal, const SearchBlock& block) const {
  const double lengths = queries_->norm(goal.query) * block.norm();
  if (lengths == 0.0) return goal.score > 0.0f ? HUGE_VALF : -HUGE_VALF;
  const double sum = std::ldexp(static_cast<double>(goal.score), 2 * arithmetic_.bits);
  const double lowest = sum - std::fabs(sum) * 0x1p-23;  // a score is rounded to float32
  return static_cast<float>(lowest / lengths * kCoarseOne) - slack_;
}

/// How many bands to leave out: the cheapest choice whose rest stays below `share` of the limit.
std::size_t PairSearch::choose_cut(float limit, const SearchBlock& block, float share) {
  const float room = share * limit;
  const float sweep = kSweepCost * static_cast<float>(block.padded());
  float least = HUGE_VALF;
  std::size_t best = 0;
  for (std::size_t bands = 0; bands <= kBands; ++bands) {
    const Cut& cut = cuts_[bands];
    const float typical = bands == 0 ? 0.0f : cut.rest * block.mean(bands - 1);
    if (bands > 0 && std::min(typical, cut.most) > room) break;
    const auto postings = static_cast<float>(cut.postings);
    const float cost = std::min(kVisitCost * postings, postings + sweep);
    if (cost < least) {
      least = cost;
      best = bands;
    }
  }
  return best;
}

void PairSearch::add_columns(const SearchBlock& block, const Cut& cut) {
  std::uint32_t expected = 0;
  for (std::size_t at = cut.first; at < column_count_; ++at) {
    const Column& column = columns_[at];
    kernel_.add(block.postings() + column.start, column.size, column.weight, sums_.data());
    expected += static_cast<std::uint32_t>(column.weight) * static_cast<std::uint32_t>(column.sum);
  }
  expected_ = expected;
  work_.products += cut.postings;
}

std::size_t PairSearch::sieve(std::size_t bands, float limit, const SearchBlock& block) {
  const Cut& cut = cuts_[bands];
  add_columns(block, cut);
  const std::size_t lengths_of = bands == 0 ? 0 : bands - 1;
  Sieve sieve{block.lengths(lengths_of), cut.rest, cut.most, limit};
  const float most = std::min(cut.rest * block.longest(lengths_of), cut.most);
  const auto postings = static_cast<float>(cut.postings);
  const bool untouched_pass = most >= limit;
  if (untouched_pass ||
      kVisitCost * postings > postings + kSweepCost * static_cast<float>(block.padded())) {
    return sweep(block, sieve);
  }
  return visit(block, cut, sieve);
}

std::size_t PairSearch::sweep(const SearchBlock& block, const Sieve& sieve) {
  const SieveResult result = kernel_.sweep(sums_.data(), block.padded(), sieve, candidates_.data());
  total_ = result.total;
  std::size_t count = result.candidates;
  // padding passes only where everything does
  while (count > 0 && candidates_.data()[count - 1].item >= block.items())
    --count;
  return count;
}

/// As a sweep, over the items of few postings; others cannot pass.
std::size_t PairSearch::visit(const SearchBlock& block, const Cut& cut, const Sieve& sieve) {
  std::int32_t* sums = sums_.data();
  Candidate* candidates = candidates_.data();
  std::size_t count = 0;
  std::uint32_t total = 0;
  for (std::size_t at = cut.first; at < column_count_; ++at) {
    const CoarsePosting* posting = block.postings() + columns_[at].start;
    for (const CoarsePosting* end = posting + columns_[at].size; posting < end; ++posting) {
      const std::int32_t sum = sums[posting->item];
      sums[posting->item] = 0;
      total += static_cast<std::uint32_t>(sum);
      const float rest = std::min(sieve.rest * sieve.lengths[posting->item], sieve.most);
      candidates[count] = {posting->item, sum};
      count += sum != 0 && static_cast<float>(sum) + rest >= sieve.limit;
    }
  }
  total_ = total;
  std::sort(candidates, candidates + count,
            [](const Candidate& a, const Candidate& b) { return a.item < b.item; });
  return count;
}

/// The candidates when only the best `goal.best` of the block are wanted.
std::size_t PairSearch::find_best(const SearchGoal& goal, float limit, const SearchBlock& block) {
  const Sieve positive{block.lengths(0), 0.0f, 0.0f, std::max(limit, 1.0f)};
  add_columns(block, cuts_[0]);
  const std::size_t count = sweep(block, positive);
  Candidate* candidates = candidates_.data();
  std::fill(histogram_.begin(), histogram_.end(), 0U);
  for (std::size_t at = 0; at < count; ++at) {
    ++histogram_[std::min(static_cast<std::size_t>(candidates[at].sum >> kBinShift), kBins - 1)];
  }
  std::size_t bin = kBins;
  for (std::int64_t above = 0; bin > 0 && above < goal.best;)
    above += histogram_[--bin];
  // so many items have a true sum of at least this bin less the slack: the others need that
  const float wanted = static_cast<float>(bin << kBinShift) - 2 * slack_;
  if (std::max(wanted, limit) < 1.0f) return total_ == expected_ ? touch(goal.zeros, block) : 0;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < count; ++at) {
    candidates[kept] = candidates[at];
    kept += static_cast<float>(candidates[at].sum) >= wanted;
  }
  return kept;
}

/// All items that share a column with the query, and the first `zeros` others.
std::size_t PairSearch::touch(std::int64_t zeros, const SearchBlock& block) {
  constexpr std::int32_t kTouched = std::numeric_limits<std::int32_t>::min();
  add_columns(block, cuts_[0]);
  std::int32_t* sums = sums_.data();
  Candidate* candidates = candidates_.data();
  std::size_t count = 0;
  std::uint32_t total = 0;
  for (std::size_t at = 0; at < column_count_; ++at) {
    const CoarsePosting* posting = block.postings() + columns_[at].start;
    for (const CoarsePosting* end = posting + columns_[at].size; posting < end; ++posting) {
      const std::int32_t sum = sums[posting->item];
      if (sum == kTouched) continue;
      sums[posting->item] = kTouched;
      total += static_cast<std::uint32_t>(sum);
      candidates[count++] = {posting->item, sum};
    }
  }
  for (std::uint32_t item = 0; zeros > 0 && item < block.items(); ++item) {
    if (sums[item] == kTouched) continue;
    candidates[count++] = {item, 0};
    --zeros;
  }
  std::fill_n(sums, block.padded(), 0);
  total_ = total;
  std::sort(candidates, candidates + count,
            [](const Candidate& a, const Candidate& b) { return a.item < b.item; });
  return count;
}

/// Exact sums of the candidates, from the rows. What was added coarsely has to agree.
bool PairSearch::make_exact(const SearchGoal& goal, std::size_t bands, const SearchBlock& block,
                            const LabelledRows& items, std::vector<ExactPair>& out) {
  const auto entries = queries_->row(goal.query);
  std::int32_t* values = query_values_.data();
  for (const SearchEntry& entry : entries)
    values[entry.label] = entry.value;
  const std::uint32_t border = bands == 0 ? 0 : queries_->borders()[bands - 1];
  const double scale = kCoarseOne / (queries_->norm(goal.query) * block.norm());
  bool holds = true;
  std::int64_t visited = 0;
  for (std::size_t at = 0; at < candidate_count_; ++at) {
    const Candidate& candidate = candidates_.data()[at];
    const std::int64_t item = block.rows().begin + candidate.item;
    const auto row = items.row(item);
    std::int64_t rest = 0;
    std::int64_t added = 0;
    for (const LabelledEntry& entry : row) {
      const std::int64_t product = std::int64_t{values[entry.label]} * entry.value;
      const std::int64_t is_rest = -static_cast<std::int64_t>(entry.label < border);
      rest += product & is_rest;
      added += product & ~is_rest;
    }
    visited += static_cast<std::int64_t>(row.size());
    holds &= !(std::fabs(static_cast<double>(added) * scale - candidate.sum) >
               static_cast<double>(slack_));
    out.push_back({item, rest + added});
  }
  for (const SearchEntry& entry : entries)
    values[entry.label] = 0;
  work_.candidates += static_cast<std::int64_t>(candidate_count_);
  adapt(goal, bands, visited);
  return holds;
}

/// Leaves out less where the exact sums cost more than the coarse ones, and more where they cost
/// next to nothing. `entries` were visited for exact sums.
void PairSearch::adapt(const SearchGoal& goal, std::size_t bands, std::int64_t entries) {
  float& share = shares_[static_cast<std::size_t>(goal.query)];
  const std::int64_t added = cuts_[bands].postings + 64;
  const std::int64_t exact = entries + kCandidateCost * static_cast<std::int64_t>(candidate_count_);
  if (2 * exact > added) {
    share = std::max(share * 0.9f, 0.1f);
  } else if (8 * exact < added) {
    share = std::min(share * 1.03f, 0.98f);
  }
}

PairWork PairSearch::take_work() {
  const PairWork work = work_;
  work_ = {};
  return work;
}

std::int64_t PairSearch::bytes(std::int64_t longest, std::int64_t labels, std::int64_t queries) {
  return queries * 4 + (longest + 1) * std::int64_t{sizeof(Column)} + labels * 4 +
         kSearchItems * std::int64_t{4 + sizeof(Candidate) + sizeof(ExactPair)};
}

}  // namespace bulksim
