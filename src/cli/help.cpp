#include "cli/help.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace bulksim {

namespace {

constexpr std::size_t kWidth = 100;         // columns of a help text
constexpr std::size_t kMeaningColumn = 28;  // where the meaning of an option begins

/// Wraps a text; all lines but the first are indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream words(text);
  std::string lines;
  std::size_t column = indent;
  for (std::string word; words >> word;) {
    if (column > indent && column + 1 + word.size() > kWidth) {
      lines += '\n' + std::string(indent, ' ');
      column = indent;
    }
    if (column > indent) lines += ' ';
    column += word.size() + (column > indent ? 1 : 0);
    lines += word;
  }
  return lines + '\n';
}

std::string option_text(const Option& option) {
  std::string left = option.short_name != 0 ? std::string("  -") + option.short_name + ", --"
                                            : std::string("      --");
  left += option.name;
  if (option.kind == OptionKind::kValue) left += " X";
  left.resize(std::max(left.size() + 1, kMeaningColumn), ' ');
  const std::string fallback =
      option.default_value.empty() ? "" : " [" + option.default_value + ']';
  return left + wrapped(option.meaning + fallback, kMeaningColumn);
}

bool is_shown(const Option& option, HelpDetail detail) {
  return detail == HelpDetail::kAll ||
         (option.group != OptionGroup::kRare && option.group != OptionGroup::kUnrelated);
}

}  // namespace

std::string_view heading_of(OptionGroup group) {
  switch (group) {
    case OptionGroup::kPlain:
      return "";
    case OptionGroup::kInput:
      return "input";
    case OptionGroup::kResult:
      return "result";
    case OptionGroup::kSpeed:
      return "speed and memory";
    case OptionGroup::kDurability:
      return "durability";
    case OptionGroup::kGeneral:
      return "general";
    case OptionGroup::kRare:
      return "rarely needed";
    case OptionGroup::kUnrelated:
      return "options of compute, accepted but not needed here";
  }
  return "";
}

std::vector<Option> by_group(std::vector<Option> options) {
  std::stable_sort(options.begin(), options.end(),
                   [](const Option& a, const Option& b) { return a.group < b.group; });
  return options;
}

std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  return end == std::string::npos ? text : text.substr(0, end + 1);
}

std::string help_text(const CommandSyntax& syntax, HelpDetail detail) {
  std::string text =
      "usage: bulksim " + syntax.name + ' ' + syntax.usage + "\n\n" + wrapped(syntax.summary, 0);
  std::optional<OptionGroup> group;
  for (const Option& option : by_group(syntax.options)) {
    if (!is_shown(option, detail)) continue;
    if (group != option.group) {
      const std::string_view heading = heading_of(option.group);
      text += '\n' + (heading.empty() ? "" : std::string(heading) + ":\n");
    }
    group = option.group;
    text += option_text(option);
  }
  if (!syntax.examples.empty()) {
    text += syntax.examples.size() == 1 ? "\nexample:\n" : "\nexamples:\n";
  }
  for (const std::string& example : syntax.examples)
    text += "  " + example + '\n';
  return text;
}

std::string requested_help(const CommandSyntax& syntax, const OptionValues& options) {
  if (options.flag("help-all")) return help_text(syntax, HelpDetail::kAll);
  return options.flag("help") ? help_text(syntax) : "";
}

}  // namespace bulksim
