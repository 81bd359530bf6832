#include "cli/config_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "bulksim/core/error.hpp"
#include "cli/help.hpp"
#include "cli/suggestion.hpp"
#include "core/text/format_text.hpp"

namespace bulksim {

namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// One line of a configuration file, which is a comment if there is no value.
std::string setting_line(const Option& option, const std::string& value) {
  const std::string short_name =
      option.short_name != 0 ? std::string("-") + option.short_name + ": " : "";
  const std::string name = (value.empty() ? "# " : "") + option.name;
  return formatted("%-18s = %-9s # ", name.c_str(), value.c_str()) + short_name + option.meaning +
         '\n';
}

}  // namespace

std::map<std::string, std::string> read_config_file(const CommandSyntax& syntax,
                                                    const std::string& path) {
  std::ifstream file;
  std::error_code ignored;
  // every rank reads it, and would wait for the writer of a pipe
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path);
  if (!file.is_open()) {
    throw Error(ExitCode::kConfig, "cannot read the configuration file '" + path + "'");
  }
  std::map<std::string, std::string> values;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const auto refuse = [&](const std::string& reason) {
      throw Error(ExitCode::kConfig,
                  "'" + path + "', line " + std::to_string(number) + ": " + reason);
    };
    const std::string text = trimmed(std::string_view(line).substr(0, line.find('#')));
    if (text.empty()) continue;
    const auto equals = text.find('=');
    if (equals == std::string::npos) refuse("'" + text + "' is not of the form name = value");
    const std::string name = trimmed(text.substr(0, equals));
    const auto known = std::find_if(syntax.options.begin(), syntax.options.end(),
                                    [&](const Option& option) { return option.name == name; });
    if (known == syntax.options.end()) refuse(unknown_option(syntax, name));
    std::string value = trimmed(text.substr(equals + 1));
    const bool is_flag = known->kind == OptionKind::kFlag;
    if (is_flag && value != "on" && value != "off") refuse(name + " must be on or off");
    if (is_flag && value == "off") value.clear();
    if (!values.emplace(name, value).second) refuse(name + " is set twice");
  }
  return values;
}

bool is_setting(std::string_view name) {
  return name != "config" && name != "print-config" && name != "help" && name != "help-all";
}

std::string config_file_text(const CommandSyntax& syntax, const std::string& heading,
                             const std::map<std::string, std::string>& values) {
  std::string text = heading;
  std::optional<OptionGroup> group;
  for (const Option& option : by_group(syntax.options)) {
    if (!is_setting(option.name)) continue;
    if (group != option.group) text += "\n# " + std::string(heading_of(option.group)) + ":\n";
    group = option.group;
    const std::string fallback = option.kind == OptionKind::kFlag ? "off" : option.default_value;
    const auto chosen = values.find(option.name);
    text += setting_line(option, chosen == values.end() ? fallback : chosen->second);
  }
  return text;
}

}  // namespace bulksim
