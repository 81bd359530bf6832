#include "job/publish/pair_text.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/text/format_text.hpp"
#include "storage/result/pair_file.hpp"

namespace bulksim {

namespace {

constexpr std::string_view kBlanks(" \t\n\v\f\r\0", 7);
constexpr std::string_view kEscaped = "\t\n\r\\";

bool needs_escapes(const StringTable& ids) {
  return ids.bytes.find_first_of(kEscaped) != std::string::npos;
}

/// The ids with escapes, in which no line or column can begin or end.
StringTable escaped(const StringTable& ids) {
  StringTable table;
  for (std::int64_t row = 0; row < ids.size(); ++row) {
    std::string text;
    for (const char letter : ids[row]) {
      const auto place = kEscaped.find(letter);
      if (place == std::string_view::npos) {
        text += letter;
      } else {
        text += {'\\', "tnr\\"[place]};
      }
    }
    table.add(text);
  }
  return table;
}

/// The ids without blanks, or an error.
StringTable without_blanks(const StringTable& ids, const char* side, bool replace) {
  StringTable table;
  for (std::int64_t row = 0; row < ids.size(); ++row) {
    std::string text(ids[row]);
    const bool has_blank = text.empty() || text.find_first_of(kBlanks) != std::string::npos;
    if (has_blank && !replace) {
      throw Error(ExitCode::kDataError,
                  std::string("the id '") + shown_text(text) + "' of " + side + " " +
                      std::to_string(row) + (text.empty() ? " is empty" : " contains a blank") +
                      ", which a TREC run cannot hold: use --replace-blanks or another format");
    }
    std::ranges::replace_if(
        text, [](char letter) { return kBlanks.find(letter) != std::string_view::npos; }, '_');
    table.add(text.empty() ? "_" : text);
  }
  return table;
}

std::string name_of(const StringTable& ids, std::int64_t row) {
  return ids.empty() ? std::to_string(row) : std::string(ids[row]);
}

}  // namespace

PairTextWriter::PairTextWriter(PairText text, ResultIds ids, TakeLine take)
    : text_(std::move(text)), ids_(std::move(ids)), take_(std::move(take)) {
  if (text_.format == PairText::Format::kTrec) {
    ids_.queries = without_blanks(ids_.queries, "query", text_.replace_blanks);
    ids_.items = without_blanks(ids_.items, "item", text_.replace_blanks);
    return;
  }
  const bool queries_escaped = needs_escapes(ids_.queries);
  const bool items_escaped = needs_escapes(ids_.items);
  if (queries_escaped) ids_.queries = escaped(ids_.queries);
  if (items_escaped) ids_.items = escaped(ids_.items);
  take_(tsv_header(queries_escaped, items_escaped) + "\n");
}

void PairTextWriter::append_row(std::int64_t query, std::span<const std::int64_t> items,
                                std::span<const float> scores) {
  const bool trec = text_.format == PairText::Format::kTrec;
  const std::string start = name_of(ids_.queries, query) + (trec ? " Q0 " : "\t");
  std::int64_t rank = 0;
  for (std::size_t at = 0; at < items.size(); ++at) {
    if (text_.nonzero_only && scores[at] == 0.0f) continue;
    const std::string score = formatted("%.9g", static_cast<double>(scores[at]));
    const std::string item = name_of(ids_.items, items[at]);
    if (trec) {
      take_(start + item + " " + std::to_string(++rank) + " " + score + " " + text_.tag + "\n");
    } else {
      take_(start + item + "\t" + score + "\n");
    }
  }
}

}  // namespace bulksim
