#pragma once

#include <string>
#include <string_view>

namespace bulksim {

/// First line of a TSV with pairs, without its end; a column is named `query_escaped` or
/// `item_escaped` when its ids are.
std::string tsv_header(bool queries_escaped, bool items_escaped);
bool is_tsv_header(std::string_view line);

/// Whether an id has characters that a TSV escapes: tab, line feed, carriage return, backslash.
bool needs_escapes(std::string_view id);
/// The id with these as \t, \n, \r and \\, and the reverse.
std::string escaped(std::string_view id);
std::string unescaped(std::string_view text);

/// Whether a text is empty or has a blank (or a zero byte), so that it is no field of a TREC run.
bool has_blanks(std::string_view text);
/// The id with `_` in place of its blanks, or of nothing.
std::string without_blanks(std::string_view id);

}  // namespace bulksim
