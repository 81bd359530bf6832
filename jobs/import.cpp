#include <iostream>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/config/import_options.hpp"
#include "job/input/import_matrix.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  using enum OptionKind;
  return {
      .name = "import",
      .usage = "SOURCE -o STORE.h5",
      .summary =
          "Converts a matrix into a store, which compute reads by row ranges. The store has the "
          "rows in canonical form, checked and packed, with their survey, the ids of the rows and "
          "the terms of the columns.",
      .positionals = {"source"},
      .options = {{"source", 0, "",
                   "matrix (" + importable_suffixes() + ") or a folder of .jsonl files"},
                  {"output", 'o', "", "store to write (.h5)"},
                  {"vocab", 0, "", "file with the terms of the columns, one per line"},
                  {"ids", 0, "", "file with the ids of the rows, one per line"},
                  {"keys", 0, "terms", "keys of JSONL vectors: terms or index (column numbers)"},
                  {"strict", 0, "", "refuse unsorted rows, duplicates and explicit zeros", kFlag},
                  {"json", 0, "", "JSON instead of the path of the store", kFlag},
                  quiet_option(),
                  log_format_option(),
                  help_option()},
      .examples = {"bulksim import vectors.jsonl.gz -o items.h5"}};
}

int run(const OptionValues& options) {
  Log log(log_options(options));
  const std::string source = options.required("source", "the matrix to import");
  const std::string store = options.required("output", "the store to write");
  if (!store.ends_with(".h5")) {
    throw Error(ExitCode::kUsage, "--output is '" + store + "' (must end in .h5)");
  }
  const ImportReport report =
      import_matrix(system_file_calls(), source, store, make_import_options(options), log);
  log.info("import", "imported " + report.to_text(), {{"seconds", report.seconds}});
  std::cout << (options.flag("json") ? report.to_json(store) : store + "\n") << std::flush;
  return 0;
}

const Command kCommand(CommandGroup::kCompute, syntax, run);

}  // namespace

}  // namespace bulksim
