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

/// The groups of options in --help, in this order.
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

/// The command line of a command: its options and arguments, and its help text.
struct CommandSyntax {
  std::string name;                      ///< "compute"
  std::string usage;                     ///< "ITEMS [QUERIES] -o OUT"
  std::string summary;                   ///< `bulksim --help` shows its first sentence
  std::vector<std::string> positionals;  ///< names of the options that arguments without a dash set
  std::vector<Option> options;
  std::vector<std::string> examples = {};  ///< whole command lines
};

/// A whole number of at least 0, optionally followed by K, M, G or T (powers of 1,024); none for
/// any other text.
std::optional<std::int64_t> parse_size(std::string_view text);

/// The value of each option: the command line takes precedence over the configuration file, and
/// that over the default.
///
/// The getters throw Error (64) with the option's name and what it must be.
class OptionValues {
 public:
  OptionValues(std::string command, std::map<std::string, std::string> values)
      : command_(std::move(command)), values_(std::move(values)) {}

  bool has(std::string_view name) const;  ///< given or defaulted, and not empty
  bool flag(std::string_view name) const { return has(name); }
  std::string text(std::string_view name) const;
  /// A required value; throws Error (64) with "`what` is missing" when there is none.
  std::string required(std::string_view name, std::string_view what) const;
  std::int64_t integer(std::string_view name, std::int64_t least,
                       std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  /// A number of bytes or rows with an optional suffix K, M, G or T (powers of 1,024).
  std::int64_t size(std::string_view name, std::int64_t least) const;
  double real(std::string_view name, double least, double most) const;
  /// The value for the word given: choice<Metric>("metric", {{"cosine", Metric::kCosine}, ..}).
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
  /// kJson with --json, else kText, of the enumeration Format.
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
/// Throws Error (64) for an excess argument, an unknown option (suggesting a similar one) or a
/// missing value, and Error (78) with file and line for such a fault in a configuration file.
OptionValues parse_options(const CommandSyntax& syntax, const std::vector<std::string>& words);

}  // namespace bulksim
