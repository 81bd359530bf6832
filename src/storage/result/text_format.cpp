#include "storage/result/text_format.hpp"

namespace bulksim {

namespace {

constexpr std::string_view kBlanks(" \t\n\v\f\r\0", 7);
constexpr std::string_view kEscaped = "\t\n\r\\";
constexpr std::string_view kLetters = "tnr\\";  // behind the backslash

std::string column_name(const char* side, bool is_escaped) {
  return std::string(side) + (is_escaped ? "_escaped" : "");
}

}  // namespace

std::string tsv_header(bool queries_escaped, bool items_escaped) {
  return column_name("query", queries_escaped) + "\t" + column_name("item", items_escaped) +
         "\tscore";
}

bool is_tsv_header(std::string_view line) {
  for (const bool queries : {false, true}) {
    for (const bool items : {false, true}) {
      if (line == tsv_header(queries, items)) return true;
    }
  }
  return false;
}

bool needs_escapes(std::string_view id) {
  return id.find_first_of(kEscaped) != std::string_view::npos;
}

std::string escaped(std::string_view id) {
  std::string text;
  for (const char letter : id) {
    const auto place = kEscaped.find(letter);
    if (place == std::string_view::npos) {
      text += letter;
    } else {
      text += {'\\', kLetters[place]};
    }
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string id;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool may_escape = text[at] == '\\' && at + 1 < text.size();
    const auto place = may_escape ? kLetters.find(text[at + 1]) : std::string_view::npos;
    if (place == std::string_view::npos) {
      id += text[at];
    } else {
      id += kEscaped[place];
      ++at;
    }
  }
  return id;
}

bool has_blanks(std::string_view text) {
  return text.empty() || text.find_first_of(kBlanks) != std::string_view::npos;
}

std::string without_blanks(std::string_view id) {
  std::string field(id.empty() ? "_" : id);
  for (char& letter : field) {
    if (kBlanks.find(letter) != std::string_view::npos) letter = '_';
  }
  return field;
}

}  // namespace bulksim
