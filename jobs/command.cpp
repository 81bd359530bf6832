#include "command.hpp"

#include <algorithm>
#include <iostream>

#include "cli/help.hpp"

namespace bulksim {

constinit const Command* Command::first_ = nullptr;  // set before any command registers itself

Command::Command(CommandGroup group, Syntax make_syntax, int (*body)(const OptionValues&)) noexcept
    : group_(group), syntax_(make_syntax), run_options_(body), next_(first_) {
  first_ = this;
}

Command::Command(CommandGroup group, Syntax make_syntax, int (*body)(const Words&)) noexcept
    : group_(group), syntax_(make_syntax), run_words_(body), next_(first_) {
  first_ = this;
}

int Command::run(const Words& words) const {
  if (run_words_ != nullptr) return run_words_(words);
  const OptionValues options = parse_options(syntax_(), words);
  const std::string help = requested_help(syntax_(), options);
  std::cout << help;
  return help.empty() ? run_options_(options) : 0;
}

std::vector<const Command*> Command::all() {
  std::vector<const Command*> commands;
  for (const Command* command = first_; command != nullptr; command = command->next_)
    commands.push_back(command);
  std::sort(commands.begin(), commands.end(), [](const Command* a, const Command* b) {
    return a->group() != b->group() ? a->group() < b->group() : a->syntax().name < b->syntax().name;
  });
  return commands;
}

}  // namespace bulksim
