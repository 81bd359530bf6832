#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bulksim {

enum class OptionKind {
  kValue,  ///< --name VALUE
  kFlag,   ///< --name
};

/// One option of a command.
struct Option {
  std::string name;           ///< long name without dashes
  char short_name = 0;        ///< or 0
  std::string default_value;  ///< shown in --help; empty: there is none
  std::string meaning;        ///< one line for --help
  OptionKind kind = OptionKind::kValue;
};

/// Words on the command line of one command: what it takes and how it is shown in --help.
struct CommandSyntax {
  std::string name;                      ///< "compute"
  std::string usage;                     ///< "ITEMS [QUERIES] -o OUT"
  std::string summary;                   ///< one sentence
  std::vector<std::string> positionals;  ///< names of options that words without a dash stand for
  std::vector<Option> options;
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
  /// One of `choices`; returns its place.
  std::size_t choice(std::string_view name, const std::vector<std::string_view>& choices) const;
  const std::map<std::string, std::string>& all() const { return values_; }

 private:
  std::string command_;
  std::map<std::string, std::string> values_;
};

/// Reads a command line (the words after the command) and the file that --config names.
///
/// A word too many, an option that is unknown (a near name is suggested) or lacks its value is an
/// Error (64); the same in a configuration file is an Error (78) with file and line.
OptionValues parse_options(const CommandSyntax& syntax, const std::vector<std::string>& words);

/// Text of `bulksim COMMAND --help`.
std::string help_text(const CommandSyntax& syntax);

/// The candidate nearest to `word`, or nothing when none is near.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

}  // namespace bulksim
