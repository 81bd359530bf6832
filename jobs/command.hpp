#pragma once

#include <string>
#include <vector>

#include "cli/options.hpp"

namespace bulksim {

/// One word after `bulksim`.
struct Command {
  CommandSyntax (*syntax)();
  /// Runs with the words after the command; returns what main returns.
  int (*run)(const std::vector<std::string>& words);
};

int run_bench(const std::vector<std::string>& words);
int run_compute_command(const std::vector<std::string>& words);
int run_estimate_command(const std::vector<std::string>& words);
int run_export(const std::vector<std::string>& words);
int run_generate(const std::vector<std::string>& words);
int run_import(const std::vector<std::string>& words);
int run_plan_command(const std::vector<std::string>& words);
int run_prune(const std::vector<std::string>& words);
int run_repair_command(const std::vector<std::string>& words);
int run_report(const std::vector<std::string>& words);
int run_show(const std::vector<std::string>& words);
int run_status(const std::vector<std::string>& words);
int run_use(const std::vector<std::string>& words);
int run_verify(const std::vector<std::string>& words);
int run_versions(const std::vector<std::string>& words);

CommandSyntax bench_syntax();
CommandSyntax estimate_syntax();
CommandSyntax export_syntax();
CommandSyntax generate_syntax();
CommandSyntax plan_syntax();
CommandSyntax prune_syntax();
CommandSyntax repair_syntax();
CommandSyntax report_syntax();
CommandSyntax show_syntax();
CommandSyntax status_syntax();
CommandSyntax use_syntax();
CommandSyntax verify_syntax();
CommandSyntax versions_syntax();

/// True when --help was asked for, and has been printed.
bool printed_help(const CommandSyntax& syntax, const OptionValues& options);

}  // namespace bulksim
