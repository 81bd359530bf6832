#include <iostream>

#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "job/inspect/show_job.hpp"

namespace bulksim {

CommandSyntax show_syntax() {
  using enum OptionKind;
  return {
      .name = "show",
      .usage = "FILE|OUT",
      .summary =
          "Prints what a matrix file or a finished result holds. A result that is not whole\n"
          "is refused.",
      .positionals = {"path"},
      .options = {
          {"path", 0, "",
           "matrix (.csr, .npz, .jsonl, store .h5), result (.h5) or folder of versions"},
          {"pairs", 'k', "10", "strongest pairs (or blocks, where there are only these) to print"},
          {"json", 0, "", "JSON instead of text", kFlag},
          {"help", 'h', "", "this text", kFlag},
      }};
}

int run_show(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(show_syntax(), words);
  if (printed_help(show_syntax(), options)) return 0;
  show(system_file_calls(), options.required("path", "the file or folder"),
       options.integer("pairs", 0, 1'000'000),
       options.flag("json") ? ShowFormat::kJson : ShowFormat::kText, std::cout);
  return 0;
}

}  // namespace bulksim
