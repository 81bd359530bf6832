#include <iostream>

#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/inspect/show_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {
      .name = "show",
      .usage = "FILE|OUT",
      .summary =
          "Prints what a matrix file or a finished result contains. An incomplete result is "
          "refused.",
      .positionals = {"path"},
      .options = {
          {"path", 0, "",
           "matrix (.csr, .npz, .jsonl, store .h5), result (.h5) or folder of versions"},
          {"pairs", 'k', "10", "strongest pairs to print; blocks, if there are only block sums"},
          json_option(),
          help_option(),
      }};
}

int run(const OptionValues& options) {
  show(system_file_calls(), options.required("path", "the file or folder"),
       options.integer("pairs", 0, 1'000'000), options.format<ShowFormat>(), std::cout);
  return 0;
}

const Command kCommand(CommandGroup::kRead, syntax, run);

}  // namespace

}  // namespace bulksim
