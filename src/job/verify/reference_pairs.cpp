#include "job/verify/reference_pairs.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "bulksim/core/error.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "job/plan/filter_attributes.hpp"
#include "job/verify/verification.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kQueriesComputed = 64;

/// Calls `take` for each row block, with the number of its first row.
template <class Take>
void stream_canonical(const MatrixSource& source, Take&& take) {
  CsrMatrix row_block;
  for (std::int64_t first = 0; first < source.info().rows; first += kRowBlockRows) {
    source.read({first, std::min(first + kRowBlockRows, source.info().rows)}, row_block);
    canonicalize(row_block, Irregular::kAccept, source.info().path, first);
    take(first, row_block);
  }
}

/// Reads the rows of an input, quantized, one row block after the other; `take` receives the number
/// of the first row and the rows. Throws Error (65) when the digest of the content is not `wanted`,
/// where that is known.
template <class Take>
void stream_quantized(const MatrixSource& source, FixedPoint arithmetic,
                      const std::optional<Digest>& wanted, Take&& take) {
  ContentHasher content;
  QuantizedRows quantized;
  stream_canonical(source, [&](std::int64_t first, const CsrMatrix& row_block) {
    content.add(row_block_digest(row_block.view()));
    quantized.clear();
    append_quantized_rows(row_block.view(), arithmetic, quantized);
    take(first, quantized);
  });
  if (wanted) require_content(source, content.digest(), *wanted);
}

/// The format in which a run computes with these inputs.
FixedPoint format_of(const SourcePair& inputs, Metric metric) {
  if (metric == Metric::kDot) return kDotQ26;
  const auto longest_rounded_row = [](const MatrixSource& source) {
    ValueInfo values;
    stream_canonical(source, [&](std::int64_t, const CsrMatrix& row_block) {
      values += value_info(row_block.view());
    });
    return values.rounding.longest_rounded_row;
  };
  return cosine_format(longest_rounded_row(*inputs.queries), longest_rounded_row(*inputs.items));
}

}  // namespace

PairRecomputation::PairRecomputation(MatrixShape shape, const FileAttributes& attributes,
                                     const PairReference& reference)
    : inputs_(reference.inputs), filter_(filter_of(attributes)) {
  if (!filter_) filter_ = reference.filter;
  if (filter_) filter_ = unfolded(*filter_);
  const auto text = [&](const char* name) { return find_attribute<std::string>(attributes, name); };
  if (const auto content = text("queries_content")) query_content_ = Digest::from_hex(*content);
  if (const auto content = text("items_content")) item_content_ = Digest::from_hex(*content);
  const auto metric = text("metric");
  arithmetic_.metric =
      metric ? (*metric == "dot" ? Metric::kDot : Metric::kCosine) : reference.metric;
  const auto bits = find_attribute<std::int64_t>(attributes, "fraction_bits");
  arithmetic_ = bits ? FixedPoint{static_cast<int>(*bits), arithmetic_.metric}
                     : format_of(inputs_, arithmetic_.metric);
  const std::int64_t computed = std::min(kQueriesComputed, shape.queries);
  for (std::int64_t k = 0; k < computed; ++k)
    rows_.push_back({k * shape.queries / computed, {}});
}

bool PairRecomputation::wants(std::int64_t query) const {
  return std::ranges::binary_search(rows_, query, {}, &PairRow::query);
}

void PairRecomputation::note(PairRow row) {
  std::ranges::sort(row.pairs, {}, &ScoredItem::item);
  std::erase_if(row.pairs, [](const ScoredItem& pair) { return pair.item < 0; });
  *std::ranges::lower_bound(rows_, row.query, {}, &PairRow::query) = std::move(row);
}

std::int64_t PairRecomputation::run(
    const std::function<void(std::int64_t query, const std::string& what)>& fault) {
  QuantizedRows queries;
  stream_quantized(
      *inputs_.queries, arithmetic_, query_content_,
      [&](std::int64_t first, const QuantizedRows& quantized) { pick(first, quantized, queries); });
  std::vector<std::size_t> places(rows_.size());
  std::int64_t cells = 0;
  stream_quantized(*inputs_.items, arithmetic_, item_content_,
                   [&](std::int64_t first, const QuantizedRows& items) {
                     for (std::size_t at = 0; at < rows_.size(); ++at) {
                       const std::string what = compare(at, queries, first, items, places[at]);
                       if (!what.empty()) fault(rows_[at].query, what);
                       cells += items.rows();
                     }
                   });
  return cells;
}

/// Keeps the rows of the chosen queries.
void PairRecomputation::pick(std::int64_t first, const QuantizedRows& quantized,
                             QuantizedRows& queries) const {
  queries.columns = quantized.columns;
  for (const PairRow& row : rows_) {
    const std::int64_t at = row.query - first;
    if (at < 0 || at >= quantized.rows()) continue;
    const auto columns = quantized.columns_of(at);
    const auto values = quantized.values_of(at);
    queries.col_indices.insert(queries.col_indices.end(), columns.begin(), columns.end());
    queries.values.insert(queries.values.end(), values.begin(), values.end());
    queries.row_offsets.push_back(std::ssize(queries.values));
    queries.scales.push_back(quantized.scales[at]);
  }
}

/// Compares the pairs of one query with its scores with some items; `place` is the first pair with
/// one of them.
std::string PairRecomputation::compare(std::size_t at, const QuantizedRows& queries,
                                       std::int64_t first, const QuantizedRows& items,
                                       std::size_t& place) const {
  const auto& pairs = rows_[at].pairs;
  for (std::int64_t i = 0; i < items.rows(); ++i) {
    const std::int64_t item = first + i;
    const float score = exact_score(queries, at, items, i);
    if (place < pairs.size() && pairs[place].item == item) {
      if (std::bit_cast<std::uint32_t>(pairs[place++].score) !=
          std::bit_cast<std::uint32_t>(score)) {
        return "has a wrong score with item " + std::to_string(item);
      }
    } else if (is_missing(rows_[at], item, score)) {
      return "lacks item " + std::to_string(item);
    }
  }
  return "";
}

/// Whether a pair is missing in the result, as far as the filter is known.
bool PairRecomputation::is_missing(const PairRow& row, std::int64_t item, float score) const {
  if (!filter_ || !filter_->admits(row.query, item, score) || filter_->keep == Keep::kSample)
    return false;
  if (filter_->keep == Keep::kAll || std::ssize(row.pairs) < filter_->count) return true;
  const std::uint64_t mine = rank_key(*filter_, row.query, item, score);
  return std::ranges::any_of(row.pairs, [&](const ScoredItem& pair) {
    return rank_key(*filter_, row.query, pair.item, pair.score) < mine;
  });
}

}  // namespace bulksim
