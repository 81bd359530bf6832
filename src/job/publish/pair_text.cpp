#include "job/publish/pair_text.hpp"

#include <utility>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "storage/result/text_format.hpp"

namespace bulksim {

namespace {

bool needs_escapes(const StringTable& ids) {
  return bulksim::needs_escapes(ids.bytes);
}

template <class Change>
StringTable changed(const StringTable& ids, const Change& change) {
  StringTable table;
  for (std::int64_t row = 0; row < ids.size(); ++row)
    table.add(change(ids[row]));
  return table;
}

/// Throws for the first id that is no field of a TREC run.
void refuse_blanks(const StringTable& ids, const char* side) {
  for (std::int64_t row = 0; row < ids.size(); ++row) {
    if (!has_blanks(ids[row])) continue;
    throw Error(ExitCode::kDataError,
                "the id '" + shown_text(ids[row]) + "' of " + side + " " + std::to_string(row) +
                    (ids[row].empty() ? " is empty" : " contains a blank") +
                    ", which a TREC run cannot hold: use --replace-blanks or another format");
  }
}

std::string name_of(const StringTable& ids, std::int64_t row) {
  return ids.empty() ? std::to_string(row) : std::string(ids[row]);
}

}  // namespace

PairTextWriter::PairTextWriter(PairText text, ResultIds ids, TakeLine take)
    : text_(std::move(text)), ids_(std::move(ids)), take_(std::move(take)) {
  if (text_.form == FileForm::kTrec) {
    if (!text_.replace_blanks) {
      refuse_blanks(ids_.queries, "query");
      refuse_blanks(ids_.items, "item");
    }
    ids_ = {changed(ids_.queries, without_blanks), changed(ids_.items, without_blanks)};
    return;
  }
  const bool queries_escaped = needs_escapes(ids_.queries);
  const bool items_escaped = needs_escapes(ids_.items);
  if (queries_escaped) ids_.queries = changed(ids_.queries, escaped);
  if (items_escaped) ids_.items = changed(ids_.items, escaped);
  take_(tsv_header(queries_escaped, items_escaped) + "\n");
}

void PairTextWriter::append_row(std::int64_t query, std::span<const std::int64_t> items,
                                std::span<const float> scores) {
  const bool trec = text_.form == FileForm::kTrec;
  const std::string start = name_of(ids_.queries, query) + (trec ? " Q0 " : "\t");
  std::int64_t rank = 0;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (text_.nonzero_only && scores[at] == 0.0f) continue;
    const auto score = static_cast<double>(scores[at]);
    line_.assign(start).append(name_of(ids_.items, items[at]));
    if (trec) {
      line_ += formatted(" %lld %.9g ", static_cast<long long>(++rank), score) + text_.tag;
    } else {
      line_ += formatted("\t%.9g", score);
    }
    take_(line_ += '\n');
  }
}

}  // namespace bulksim
