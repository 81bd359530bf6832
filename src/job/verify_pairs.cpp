#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/core/error.hpp"
#include "bulksim/formats/row_stream.hpp"
#include "bulksim/sparse/row_survey.hpp"
#include "bulksim/sparse/unit_rows.hpp"
#include "bulksim/storage/pair_file.hpp"
#include "formats/line_reader.hpp"
#include "job/verification.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kQueriesComputed = 64;
constexpr std::size_t kMostFaults = 100;  // that are named

/// Pairs of one query as a result has them.
struct PairRow {
  std::int64_t query = 0;
  std::vector<ScoredItem> pairs;
};

/// What is wrong with the pairs of one query, or nothing.
std::string fault_in(const PairRow& row, PairLayout layout, std::int64_t items) {
  const ScoredItem* before = nullptr;
  bool ended = false;  // only places that are left over may follow
  for (const ScoredItem& pair : row.pairs) {
    if (layout == PairLayout::kLists && pair.item == -1 && std::isnan(pair.score)) {
      ended = true;
      continue;
    }
    if (ended || pair.item < 0 || pair.item >= items) return "names items that are none";
    if (!std::isfinite(pair.score)) return "has scores that are no numbers";
    const bool in_order =
        before == nullptr || (layout == PairLayout::kCsr
                                  ? before->item < pair.item
                                  : before->score > pair.score ||
                                        (before->score == pair.score && before->item < pair.item));
    if (!in_order) return "has its pairs in another order than they were published";
    before = &pair;
  }
  return "";
}

/// Collects what is wrong.
class Faults {
 public:
  Faults(const std::string& file, Verdict& verdict) : file_(file), verdict_(verdict) {}

  void add(const std::string& what) {
    if (verdict_.damage.size() < kMostFaults) {
      verdict_.damage.push_back({file_, what, {}, {}, {}, {}, 0});
    }
  }
  void add(std::int64_t query, const std::string& what) {
    if (!what.empty()) add("query " + std::to_string(query) + " " + what);
  }

 private:
  const std::string& file_;
  Verdict& verdict_;
};

/// The rows of an input on the grid, frame by frame; `take` gets the number of the first as well.
/// Returns the digest of the whole content.
template <class Take>
Digest stream_units(FileCalls& calls, const std::string& path, Grid arithmetic, Take&& take) {
  const auto rows = stream_of(open_matrix(calls, path));
  Hasher content;
  CsrMatrix frame;
  UnitRows units;
  for (std::int64_t first = 0; rows->next(frame); first += frame.rows()) {
    canonicalize(frame, Irregular::kAccept, path, first);
    const Digest digest = frame_digest(frame.view());
    const std::uint64_t words[] = {digest.high, digest.low};
    content.update(std::as_bytes(std::span(words)));
    units.clear();
    append_unit_rows(frame.view(), arithmetic, units);
    take(first, units);
  }
  return content.digest();
}

/// Holds the pairs of some queries against the inputs.
class Recomputation {
 public:
  Recomputation(FileCalls& calls, const PairFileReader& reader, std::optional<ResultCut> cut,
                const VerifyOptions& options)
      : calls_(calls), reader_(reader), cut_(std::move(cut)), options_(options) {
    for (const auto& [name, value] : reader.attributes()) {
      const auto* text = std::get_if<std::string>(&value);
      const auto* number = std::get_if<std::int64_t>(&value);
      if (name == "queries_content" && text != nullptr) query_content_ = Digest::from_hex(*text);
      if (name == "items_content" && text != nullptr) item_content_ = Digest::from_hex(*text);
      if (name == "grid_bits" && number != nullptr) arithmetic_.bits = static_cast<int>(*number);
    }
    const std::int64_t queries = reader.shape().queries;
    for (std::int64_t k = 0; k < std::min(kQueriesComputed, queries); ++k) {
      const std::int64_t query = k * queries / std::min(kQueriesComputed, queries);
      rows_.push_back({query, {}});
    }
  }

  bool wants(std::int64_t query) const {
    return std::ranges::binary_search(rows_, query, {}, &PairRow::query);
  }
  void note(PairRow row) {
    std::ranges::sort(row.pairs, {}, &ScoredItem::item);
    std::erase_if(row.pairs, [](const ScoredItem& pair) { return pair.item < 0; });
    *std::ranges::lower_bound(rows_, row.query, {}, &PairRow::query) = std::move(row);
  }

  void run(Faults& faults, Verdict& verdict) {
    UnitRows queries;
    const std::string& query_path =
        options_.against_queries.empty() ? options_.against_items : options_.against_queries;
    const Digest found = stream_units(
        calls_, query_path, arithmetic_,
        [&](std::int64_t first, const UnitRows& units) { pick(first, units, queries); });
    require(found == query_content_, query_path);
    std::vector<std::size_t> places(rows_.size());
    const Digest of_items = stream_units(
        calls_, options_.against_items, arithmetic_,
        [&](std::int64_t first, const UnitRows& items) {
          for (std::size_t at = 0; at < rows_.size(); ++at) {
            faults.add(rows_[at].query, compare(at, queries, first, items, places[at]));
            verdict.cells += items.rows();
          }
        });
    require(of_items == item_content_, options_.against_items);
  }

 private:
  /// Keeps the rows of the queries that are wanted.
  void pick(std::int64_t first, const UnitRows& units, UnitRows& queries) const {
    queries.columns = units.columns;
    for (const PairRow& row : rows_) {
      const std::int64_t at = row.query - first;
      if (at < 0 || at >= units.rows()) continue;
      const auto columns = units.columns_of(at);
      const auto values = units.values_of(at);
      queries.col_indices.insert(queries.col_indices.end(), columns.begin(), columns.end());
      queries.values.insert(queries.values.end(), values.begin(), values.end());
      queries.row_offsets.push_back(std::ssize(queries.values));
    }
  }

  /// Some items with one query; `place` is that of the first pair with one of them.
  std::string compare(std::size_t at, const UnitRows& queries, std::int64_t first,
                      const UnitRows& items, std::size_t& place) const {
    const auto& pairs = rows_[at].pairs;
    for (std::int64_t i = 0; i < items.rows(); ++i) {
      const std::int64_t item = first + i;
      const float score = to_cosine(exact_sum(queries, static_cast<std::int64_t>(at), items, i),
                                    inverse_one(arithmetic_));
      if (place < pairs.size() && pairs[place].item == item) {
        if (std::bit_cast<std::uint32_t>(pairs[place++].score) !=
            std::bit_cast<std::uint32_t>(score)) {
          return "has another score with item " + std::to_string(item) + " than the inputs";
        }
      } else if (is_missing(rows_[at], item, score)) {
        return "lacks item " + std::to_string(item);
      }
    }
    return "";
  }

  /// Whether a pair that the result does not have should be in it, as far as the cut is known.
  bool is_missing(const PairRow& row, std::int64_t item, float score) const {
    if (!cut_ || !cut_->admits(row.query, item, score) || cut_->keep == Keep::kSample) return false;
    if (cut_->keep == Keep::kAll || std::ssize(row.pairs) < cut_->count) return true;
    const std::uint64_t mine = preference(*cut_, row.query, item, score);
    return std::ranges::any_of(row.pairs, [&](const ScoredItem& pair) {
      return preference(*cut_, row.query, pair.item, pair.score) < mine;
    });
  }

  static void require(bool same, const std::string& path) {
    if (same) return;
    throw Error(ExitCode::kDataError,
                "'" + path + "' does not hold the rows that this result was computed from");
  }

  FileCalls& calls_;
  const PairFileReader& reader_;
  std::optional<ResultCut> cut_;
  const VerifyOptions& options_;
  Grid arithmetic_;
  Digest query_content_;
  Digest item_content_;
  std::vector<PairRow> rows_;  // pairs by item
};

void verify_h5(FileCalls& calls, const PairFileReader& reader, std::optional<ResultCut> cut,
               const VerifyOptions& options, Faults& faults, Verdict& verdict) {
  Recomputation recomputation(calls, reader, std::move(cut), options);
  std::vector<std::int64_t> items;
  std::vector<float> scores;
  for (std::int64_t query = 0; query < reader.shape().queries; ++query) {
    reader.read({query, query + 1}, items, scores);
    PairRow row{query, {}};
    for (std::size_t at = 0; at < items.size(); ++at)
      row.pairs.push_back({items[at], scores[at]});
    faults.add(query, fault_in(row, reader.layout(), reader.shape().items));
    if (recomputation.wants(query)) recomputation.note(std::move(row));
  }
  if (!options.against_items.empty()) recomputation.run(faults, verdict);
}

/// Every member of the archive is read, and so are its checksums.
void verify_npz(FileCalls& calls, const std::string& path, Faults& faults) {
  const auto rows = open_npz(calls, path);
  CsrMatrix frame;
  for (std::int64_t query = 0; rows->next(frame); query += frame.rows()) {
    for (std::int64_t at = 0; at < frame.rows(); ++at) {
      PairRow row{query + at, {}};
      const CsrView view = frame.view();
      for (std::size_t k = 0; k < view.columns_of(at).size(); ++k) {
        row.pairs.push_back(
            {std::int64_t{view.columns_of(at)[k]}, static_cast<float>(view.values_of(at)[k])});
      }
      faults.add(row.query, fault_in(row, PairLayout::kCsr, view.columns));
    }
  }
}

/// "query, item, score" of a line with two tabs, or what is wrong with it.
std::string fault_in_line(std::string_view line) {
  const auto first = line.find('\t');
  const auto last = line.rfind('\t');
  if (first == std::string_view::npos || first == 0 || last <= first + 1 ||
      line.substr(first + 1, last - first - 1).find('\t') != std::string_view::npos) {
    return "is no query, item and score";
  }
  const std::string_view score = line.substr(last + 1);
  double value = 0.0;
  const auto [end, status] = std::from_chars(score.data(), score.data() + score.size(), value);
  const bool whole = status == std::errc{} && end == score.data() + score.size();
  return whole && std::isfinite(value) ? "" : "has a score that is no number";
}

void verify_tsv(FileCalls& calls, const std::string& path, Faults& faults) {
  const File file = File::open(calls, path, O_RDONLY);
  char last = 0;
  if (file.size() > 0) file.read(std::as_writable_bytes(std::span(&last, 1)), file.size() - 1);
  if (last != '\n') faults.add("ends within a line");
  LineReader lines(calls, path);
  const auto header = lines.next();
  if (!header || std::string(*header) + "\n" != kPairTextHeader) {
    faults.add("does not begin as a result");
  }
  while (const auto line = lines.next()) {
    const std::string fault = fault_in_line(*line);
    if (!fault.empty()) faults.add("line " + std::to_string(lines.number()) + " " + fault);
  }
}

}  // namespace

bool is_pair_result(FileCalls& calls, const std::string& path) {
  if (path.ends_with(".npz") || path.ends_with(".tsv")) return true;
  try {
    return survives_opening(calls, path) && PairFileReader::open(calls, path) != nullptr;
  } catch (const Error&) {
    return false;  // what is wrong with it, others tell
  }
}

void verify_pairs(FileCalls& calls, const std::string& path, std::optional<ResultCut> cut,
                  const VerifyOptions& options, Verdict& verdict) {
  Faults faults(path, verdict);
  try {
    if (path.ends_with(".h5")) {
      const auto reader = PairFileReader::open(calls, path);
      verify_h5(calls, *reader, std::move(cut), options, faults, verdict);
      return;
    }
    if (!options.against_items.empty()) {
      throw Error(ExitCode::kUsage, "'" + path +
                                        "' does not say what it was computed from: only a "
                                        "folder or a .h5 can be held --against inputs");
    }
    if (path.ends_with(".npz")) {
      verify_npz(calls, path, faults);
    } else {
      verify_tsv(calls, path, faults);
    }
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError || !options.against_items.empty()) throw;
    faults.add(error.what());
  }
}

}  // namespace bulksim
