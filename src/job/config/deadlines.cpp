#include "job/config/deadlines.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

constexpr double kEndMargin = 30.0;  // seconds to finish and write the last tiles

}  // namespace

double stop_after(double hours) {
  const double seconds = 3600 * hours;
  return std::min(0.99 * seconds, seconds - std::min(kEndMargin, 0.1 * seconds));
}

Deadlines parse_deadlines(const std::string& text) {
  Deadlines deadlines;
  const std::map<std::string, double*> fields = {{"init", &deadlines.init},
                                                 {"read", &deadlines.read},
                                                 {"tile", &deadlines.tile},
                                                 {"write", &deadlines.write},
                                                 {"collective", &deadlines.collective}};
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto equals = word.find('=');
    const std::string number = equals == std::string::npos ? word : word.substr(equals + 1);
    const auto field = fields.find(word.substr(0, equals));
    double seconds = 0.0;
    const auto [end, status] =
        std::from_chars(number.data(), number.data() + number.size(), seconds);
    const bool known = field != fields.end() || equals == std::string::npos;
    if (status != std::errc{} || end != number.data() + number.size() || !(seconds >= 0.1) ||
        !known) {
      throw Error(ExitCode::kUsage,
                  "--deadlines has '" + word +
                      "' (must be STEP=SECONDS with the step init, read, tile, write or "
                      "collective, or SECONDS for all steps; at least 0.1)");
    }
    for (const auto& [name, value] : fields) {
      if (equals == std::string::npos || name == field->first) *value = seconds;
    }
  }
  return deadlines;
}

}  // namespace bulksim
