#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace bulksim {

/// The group of a command in `bulksim --help`; commands of a group are in alphabetical order.
enum class CommandGroup {
  kCompute,
  kRead,      ///< what has been computed
  kMaintain,  ///< outputs and their versions
  kTry,       ///< the program itself
};

/// A command of bulksim. A static object in the file of the command registers it.
class Command {
 public:
  using Words = std::vector<std::string>;
  using Syntax = CommandSyntax (*)();

  /// `body` receives the options, without --help, and returns the exit status.
  Command(CommandGroup group, Syntax make_syntax, int (*body)(const OptionValues&)) noexcept;
  /// `body` reads the words after the command itself, as run_distributed does.
  Command(CommandGroup group, Syntax make_syntax, int (*body)(const Words&)) noexcept;
  ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  CommandGroup group() const { return group_; }
  CommandSyntax syntax() const { return syntax_(); }
  int run(const Words& words) const;

  /// Every command, in the order of --help.
  static std::vector<const Command*> all();

 private:
  static const Command* first_;

  CommandGroup group_;
  Syntax syntax_;
  int (*run_options_)(const OptionValues&) = nullptr;
  int (*run_words_)(const Words&) = nullptr;
  const Command* next_;
};

}  // namespace bulksim
