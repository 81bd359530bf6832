#include "formats/shared/text_lines.hpp"

#include <simdjson.h>

#include "bulksim/core/error.hpp"
#include "formats/shared/line_reader.hpp"
#include "formats/shared/term_table.hpp"

namespace bulksim {

StringTable read_lines(FileCalls& calls, const std::string& path) {
  LineReader lines(calls, path);
  TermTable texts;
  while (const auto line = lines.next()) {
    const auto fail = [&](const std::string& what) {
      throw Error(ExitCode::kDataError, lines.place() + " " + what);
    };
    if (line->empty()) fail("is empty, but every line must be an id or a term");
    if (!simdjson::validate_utf8(*line)) fail("is not valid UTF-8");
    if (line->find('\0') != std::string_view::npos) fail("contains a zero byte");
    const std::int64_t place = texts.insert(*line);
    if (place != lines.number() - 1) {
      fail("repeats '" + std::string(*line) + "' of line " + std::to_string(place + 1));
    }
  }
  return texts.texts();
}

}  // namespace bulksim
