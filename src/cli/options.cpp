#include "cli/options.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <boost/program_options.hpp>

#include "bulksim/core/error.hpp"
#include "cli/config_file.hpp"
#include "cli/suggestion.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

namespace po = boost::program_options;

/// Guessing is off: an abbreviation of a long option is an unknown option.
constexpr int kStyle = po::command_line_style::unix_style ^ po::command_line_style::allow_guessing;

po::options_description describe(const CommandSyntax& syntax) {
  po::options_description description;
  for (const Option& option : syntax.options) {
    const std::string names =
        option.name + (option.short_name != 0 ? std::string(",") + option.short_name : "");
    if (option.kind == OptionKind::kFlag) {
      description.add_options()(names.c_str(), option.meaning.c_str());
    } else {
      description.add_options()(names.c_str(), po::value<std::string>(), option.meaning.c_str());
    }
  }
  return description;
}

std::map<std::string, std::string> parse_words(const CommandSyntax& syntax,
                                               const std::vector<std::string>& words) {
  po::options_description description = describe(syntax);
  po::positional_options_description positions;
  for (const std::string& name : syntax.positionals)
    positions.add(name.c_str(), 1);
  std::map<std::string, std::string> values;
  try {
    const auto parsed = po::command_line_parser(words)
                            .options(description)
                            .positional(positions)
                            .style(kStyle)
                            .run();
    for (const auto& option : parsed.options) {
      const auto [place, fresh] = values.emplace(
          option.string_key, option.value.empty() ? std::string("on") : option.value.front());
      if (!fresh) {
        throw Error(ExitCode::kUsage, "--" + option.string_key + " is given twice ('" +
                                          place->second + "' and '" + option.value.front() + "')");
      }
    }
  } catch (const po::unknown_option& error) {
    throw Error(ExitCode::kUsage, unknown_option(syntax, error.get_option_name()));
  } catch (const po::too_many_positional_options_error&) {
    throw Error(ExitCode::kUsage, "too many arguments: " + syntax.name + " takes " + syntax.usage);
  } catch (const po::error& error) {
    throw Error(ExitCode::kUsage, error.what());
  }
  return values;
}

template <class T>
T parse_number(std::string_view name, const std::string& text, const std::string& must_be) {
  T value{};
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size()) {
    throw Error(ExitCode::kUsage,
                "--" + std::string(name) + " is '" + text + "' (must be " + must_be + ")");
  }
  return value;
}

std::string range_text(std::int64_t least, std::int64_t most) {
  return most == std::numeric_limits<std::int64_t>::max()
             ? "a whole number of at least " + std::to_string(least)
             : "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

bool OptionValues::has(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found != values_.end() && !found->second.empty();
}

std::string OptionValues::text(std::string_view name) const {
  const auto found = values_.find(std::string(name));
  return found == values_.end() ? std::string() : found->second;
}

std::string OptionValues::required(std::string_view name, std::string_view what) const {
  if (has(name)) return text(name);
  throw Error(ExitCode::kUsage,
              std::string(what) + " is missing; see bulksim " + command_ + " --help");
}

std::int64_t OptionValues::integer(std::string_view name, std::int64_t least,
                                   std::int64_t most) const {
  const std::string must_be = range_text(least, most);
  const auto value = parse_number<std::int64_t>(name, text(name), must_be);
  if (value < least || value > most) {
    throw Error(ExitCode::kUsage,
                "--" + std::string(name) + " is " + text(name) + " (must be " + must_be + ")");
  }
  return value;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  int shift = 0;
  const char last = text.empty() ? '\0' : text.back();
  const auto suffix = std::string_view("KMGT").find(
      static_cast<char>(std::toupper(static_cast<unsigned char>(last))));
  if (suffix != std::string_view::npos) {
    shift = 10 * (static_cast<int>(suffix) + 1);
    text.remove_suffix(1);
  }
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || end != text.data() + text.size() || value < 0 ||
      value > (std::numeric_limits<std::int64_t>::max() >> shift)) {
    return std::nullopt;
  }
  return value << shift;
}

std::int64_t OptionValues::size(std::string_view name, std::int64_t least) const {
  const auto value = parse_size(text(name));
  if (value && *value >= least) return *value;
  throw Error(ExitCode::kUsage, "--" + std::string(name) + " is " + text(name) +
                                    " (must be a whole number of at least " +
                                    std::to_string(least) + "; K, M, G or T may follow)");
}

double OptionValues::real(std::string_view name, double least, double most) const {
  const std::string bounds = formatted("a number from %g to %g", least, most);
  const auto value = parse_number<double>(name, text(name), bounds);
  if (!(value >= least && value <= most)) {
    throw Error(ExitCode::kUsage,
                "--" + std::string(name) + " is " + text(name) + " (must be " + bounds + ")");
  }
  return value;
}

void OptionValues::refuse(std::string_view name, const std::string& must_be) const {
  throw Error(ExitCode::kUsage,
              "--" + std::string(name) + " is '" + text(name) + "' (must be " + must_be + ")");
}

OptionValues parse_options(const CommandSyntax& syntax, const std::vector<std::string>& words) {
  auto values = parse_words(syntax, words);
  if (const auto config = values.find("config"); config != values.end()) {
    values.merge(read_config_file(syntax, config->second));
  }
  for (const Option& option : syntax.options) {
    if (!option.default_value.empty()) values.emplace(option.name, option.default_value);
  }
  return OptionValues(syntax.name, std::move(values));
}

}  // namespace bulksim
