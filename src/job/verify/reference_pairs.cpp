#include "job/verify/reference_pairs.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <variant>

#include "bulksim/core/error.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "job/verify/verification.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kQueriesComputed = 64;

/// Reads the rows of an input, quantized, one row block after the other; `take` receives the number
/// of the first row and the rows. Throws Error (65) when the digest of the content is not `wanted`.
template <class Take>
void stream_quantized(const MatrixSource& source, FixedPoint arithmetic, const Digest& wanted,
                      Take&& take) {
  const std::string& path = source.info().path;
  ContentHasher content;
  CsrMatrix row_block;
  QuantizedRows quantized;
  for (std::int64_t first = 0; first < source.info().rows; first += kRowBlockRows) {
    source.read({first, std::min(first + kRowBlockRows, source.info().rows)}, row_block);
    canonicalize(row_block, Irregular::kAccept, path, first);
    content.add(row_block_digest(row_block.view()));
    quantized.clear();
    append_quantized_rows(row_block.view(), arithmetic, quantized);
    take(first, quantized);
  }
  require_content(source, content.digest(), wanted);
}

/// The filter of a result that also contains the mirror images.
PairFilterSpec unfolded(PairFilterSpec filter) {
  if (!filter.mirrored) return filter;
  filter.mirrored = false;
  filter.partners = filter.partners == Partners::kNotEarlier ? Partners::kAll : Partners::kOthers;
  return filter;
}

}  // namespace

PairRecomputation::PairRecomputation(const PairFileReader& reader,
                                     std::optional<PairFilterSpec> filter)
    : filter_(filter) {
  if (filter_) filter_ = unfolded(*filter_);
  for (const auto& [name, value] : reader.attributes()) {
    const auto* text = std::get_if<std::string>(&value);
    const auto* number = std::get_if<std::int64_t>(&value);
    if (name == "queries_content" && text != nullptr) query_content_ = Digest::from_hex(*text);
    if (name == "items_content" && text != nullptr) item_content_ = Digest::from_hex(*text);
    if (name == "metric" && text != nullptr && *text == "dot") arithmetic_.metric = Metric::kDot;
    if (name == "fraction_bits" && number != nullptr) arithmetic_.bits = static_cast<int>(*number);
    if (name == "arithmetic_version" && number != nullptr) arithmetic_version_ = *number;
  }
  const std::int64_t queries = reader.shape().queries;
  const std::int64_t computed = std::min(kQueriesComputed, queries);
  for (std::int64_t k = 0; k < computed; ++k)
    rows_.push_back({k * queries / computed, {}});
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
    const SourcePair& inputs,
    const std::function<void(std::int64_t query, const std::string& what)>& fault) {
  QuantizedRows queries;
  stream_quantized(
      *inputs.queries, arithmetic_, query_content_,
      [&](std::int64_t first, const QuantizedRows& quantized) { pick(first, quantized, queries); });
  std::vector<std::size_t> places(rows_.size());
  std::int64_t cells = 0;
  stream_quantized(*inputs.items, arithmetic_, item_content_,
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
