#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bulksim {

enum class OptionKind {
  kValue,  ///< --name VALUE
  kFlag,   ///< --name
};

/// Where an option stands in --help, in this order.
enum class OptionGroup {
  kPlain,  ///< no heading: commands with few options
  kInput,
  kResult,
  kSpeed,
  kDurability,
  kGeneral,
  kRare,       ///< shown by --help-all only
  kUnrelated,  ///< of compute, accepted but not needed here; shown by --help-all only
};

/// One option of a command.
struct Option {
  std::string name;           ///< long name without dashes
  char short_name = 0;        ///< or 0
  std::string default_value;  ///< shown in --help; empty: there is none
  std::string meaning;        ///< one line for --help
  OptionKind kind = OptionKind::kValue;
  OptionGroup group = OptionGroup::kPlain;
};

/// Words on the command line of one command: what it takes and how it is shown in --help.
struct CommandSyntax {
  std::string name;                      ///< "compute"
  std::string usage;                     ///< "ITEMS [QUERIES] -o OUT"
  std::string summary;                   ///< `bulksim --help` shows its first sentence
  std::vector<std::string> positionals;  ///< names of options that words without a dash stand for
  std::vector<Option> options;
  std::vector<std::string> examples = {};  ///< whole command lines
};

/// A whole number of at least 0, after which K, M, G or T (powers of 1024) may stand; nothing for
/// any other text.
std::optional<std::int64_t> parse_size(std::string_view text);

/// What was said for each option: command line over configuration file over default.
///
/// The getters throw Error (64) with the option's name and what it must be.
class OptionValues {
 public:
  OptionValues(std::string command, std::map<std::string, std::string> values)
      : command_(std::move(command)), values_(std::move(values)) {}

  bool has(std::string_view name) const;  ///< said or defaulted, and not empty
  bool flag(std::string_view name) const { return has(name); }
  std::string text(std::string_view name) const;
  /// A value that must be there; otherwise Error (64) with `what` is missing.
  std::string required(std::string_view name, std::string_view what) const;
  std::int64_t integer(std::string_view name, std::int64_t least,
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  /// A number of bytes or rows with an optional suffix K, M, G or T (powers of 1,024).
  std::int64_t size(std::string_view name, std::int64_t least) const;
  double real(std::string_view name, double least, double most) const;
  /// The value that belongs to the word: choice<Metric>("metric", {{"cosine", Metric::kCosine},
  /// ..}).
  template <class Value>
  Value choice(std::string_view name,
               std::initializer_list<std::pair<std::string_view, Value>> choices) const {
    std::string all;
    for (const auto& [word, value] : choices) {
      if (word == text(name)) return value;
      all += (all.empty() ? "" : ", ") + std::string(word);
    }
    refuse(name, "one of " + all);
  }
  /// What --json asks for; Format is an enumeration of kText and kJson.
  template <class Format>
  Format format() const {
    return flag("json") ? Format::kJson : Format::kText;
  }
  const std::map<std::string, std::string>& all() const { return values_; }

 private:
  [[noreturn]] void refuse(std::string_view name, const std::string& must_be) const;

  std::string command_;
  std::map<std::string, std::string> values_;
};

/// Reads a command line (the words after the command) and the file that --config names.
///
/// A word too many, an option that is unknown (a near name is suggested) or lacks its value is an
/// Error (64); the same in a configuration file is an Error (78) with file and line.
OptionValues parse_options(const CommandSyntax& syntax, const std::vector<std::string>& words);

}  // namespace bulksim
