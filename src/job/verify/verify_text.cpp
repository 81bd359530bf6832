#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bulksim/core/error.hpp"
#include "formats/npz/npy.hpp"
#include "formats/shared/line_reader.hpp"
#include "job/verify/verification.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/result_path.hpp"
#include "storage/result/text_format.hpp"

namespace bulksim {

namespace {

/// The fields of a line of pairs.
struct Line {
  std::string_view query;
  std::string_view item;
  float score = 0.0f;
};

std::vector<std::string_view> split(std::string_view line, char separator) {
  std::vector<std::string_view> fields;
  for (;;) {
    const auto end = line.find(separator);
    fields.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return fields;
    line.remove_prefix(end + 1);
  }
}

/// Parses a line; nothing with the fault in `fault`.
std::optional<Line> parse_line(std::string_view line, bool trec, std::string& fault) {
  const auto fields = split(line, trec ? ' ' : '\t');
  const std::size_t item = trec ? 2 : 1;
  if (fields.size() != (trec ? 6U : 3U) || fields.front().empty() || fields[item].empty() ||
      (trec && fields[1] != "Q0")) {
    fault =
        trec ? "is not 'query Q0 item rank score tag'" : "does not contain query, item and score";
    return std::nullopt;
  }
  const std::string_view text = fields[trec ? 4 : 2];
  Line parsed{fields.front(), fields[item]};
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, parsed.score);
  if (status != std::errc{} || stop != end || !std::isfinite(parsed.score)) {
    fault = "has a score that is not a finite number";
    return std::nullopt;
  }
  return parsed;
}

/// The rows that the names in a text result stand for.
class RowNames {
 public:
  RowNames(const StringTable& ids, std::int64_t rows, bool trec) : rows_(rows) {
    for (std::int64_t row = 0; row < ids.size(); ++row) {
      const std::string id = trec ? without_blanks(ids[row]) : std::string(ids[row]);
      if (!numbers_.emplace(id, row).second) {
        throw Error(ExitCode::kDataError, "the id '" + id +
                                              "' stands for more than one row, so that lines of "
                                              "text cannot be compared with the inputs");
      }
    }
  }

  /// The row, or -1.
  std::int64_t row_of(std::string_view name, bool is_escaped) const {
    if (!numbers_.empty()) {
      const auto found = numbers_.find(is_escaped ? unescaped(name) : std::string(name));
      return found == numbers_.end() ? -1 : found->second;
    }
    std::int64_t row = -1;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), row);
    const bool whole = status == std::errc{} && end == name.data() + name.size();
    return whole && row < rows_ ? row : -1;
  }

 private:
  std::int64_t rows_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

MatrixShape shape_of(const SourcePair& inputs) {
  return {inputs.queries->info().rows, inputs.items->info().rows};
}

/// Of a top-k, text holds no pairs with score 0, and so nothing follows from the absence of a
/// lower score.
PairReference reference_of_text(const PairReference& reference) {
  PairReference of_text = reference;
  if (of_text.filter && of_text.filter->keep == Keep::kBest) {
    of_text.filter->at_least =
        std::max(of_text.filter->at_least, std::numeric_limits<float>::denorm_min());
  }
  return of_text;
}

/// Gathers the pairs of the queries that are recomputed.
class TextRows {
 public:
  TextRows(const PairReference& reference, bool trec)
      : reference_(reference_of_text(reference)),
        recomputation_(PairRecomputation(shape_of(reference.inputs), {}, reference_)),
        queries_(reference.ids.queries, shape_of(reference.inputs).queries, trec),
        items_(reference.ids.items, shape_of(reference.inputs).items, trec) {}

  void escape(bool queries, bool items) {
    queries_escaped_ = queries;
    items_escaped_ = items;
  }
  /// The fault in a line, or "".
  std::string take(const Line& line) {
    const std::int64_t query = queries_.row_of(line.query, queries_escaped_);
    const std::int64_t item = items_.row_of(line.item, items_escaped_);
    if (query < 0 || item < 0) return "names a row that the inputs do not have";
    if (recomputation_->wants(query)) rows_[query].push_back({item, line.score});
    return "";
  }
  void finish(Faults& faults, Verdict& verdict) {
    for (auto& [query, pairs] : rows_)
      recomputation_->note({query, std::move(pairs)});
    faults.add_wrong_pairs(recomputation_, verdict);
  }

 private:
  PairReference reference_;
  std::optional<PairRecomputation> recomputation_;
  RowNames queries_;
  RowNames items_;
  bool queries_escaped_ = false;
  bool items_escaped_ = false;
  std::map<std::int64_t, std::vector<ScoredItem>> rows_;
};

}  // namespace

void verify_text(FileCalls& calls, const std::string& path, const PairReference* reference,
                 Faults& faults, Verdict& verdict) {
  verdict.has_checksum = false;
  const bool trec = file_form(path) == FileForm::kTrec;
  const File file = File::open(calls, path, O_RDONLY);
  char last = trec ? '\n' : '\0';  // a TREC run may be empty
  if (file.size() > 0) file.read(std::as_writable_bytes(std::span(&last, 1)), file.size() - 1);
  if (last != '\n') faults.add("ends in the middle of a line");
  LineReader lines(calls, path);
  std::optional<TextRows> rows;
  if (reference != nullptr) rows.emplace(*reference, trec);
  if (!trec) {
    const std::string header(lines.next().value_or(""));
    if (!is_tsv_header(header)) faults.add("does not begin with the header line of a result");
    if (rows) {
      rows->escape(header.starts_with("query_escaped\t"),
                   header.find("\titem_escaped\t") != std::string::npos);
    }
  }
  while (const auto line = lines.next()) {
    std::string fault;
    const auto parsed = parse_line(*line, trec, fault);
    if (parsed && rows) fault = rows->take(*parsed);
    if (!fault.empty()) faults.add("line " + std::to_string(lines.number()) + " " + fault);
  }
  if (rows) rows->finish(faults, verdict);
}

void verify_npy(FileCalls& calls, const std::string& path, const PairReference* reference,
                Faults& faults, Verdict& verdict) {
  verdict.has_checksum = false;
  const File file = File::open(calls, path, O_RDONLY);
  const NpyFile npy = open_npy(file);
  if (npy.header.shape.size() != 2 || npy.header.type.text != "<f4" || npy.header.fortran_order)
    return faults.add("is not a matrix of float32 values");
  const MatrixShape shape{npy.header.shape[0], npy.header.shape[1]};
  std::optional<PairRecomputation> recomputation;
  if (reference != nullptr) {
    if (shape_of(reference->inputs) != shape)
      return faults.add("does not have the shape of these inputs");
    recomputation.emplace(shape, FileAttributes{}, *reference);
  }
  std::vector<float> scores(shape.items);
  for (std::int64_t query = 0; query < shape.queries; ++query) {
    file.read(std::as_writable_bytes(std::span(scores)), npy.data_at + query * shape.items * 4);
    PairRow row{query, {}};
    bool infinite = false;
    for (std::int64_t item = 0; item < shape.items; ++item) {
      infinite |= std::isinf(scores[item]);
      if (!std::isnan(scores[item])) row.pairs.push_back({item, scores[item]});
    }
    if (infinite) faults.add(query, "has scores out of range");
    if (recomputation && recomputation->wants(query)) recomputation->note(std::move(row));
  }
  faults.add_wrong_pairs(recomputation, verdict);
}

}  // namespace bulksim
