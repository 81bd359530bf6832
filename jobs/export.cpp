#include <iostream>

#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/inspect/export_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {.name = "export",
          .usage = "OUT -o FILE --format npz|tsv|trec|npy",
          .summary =
              "Writes a finished result as one file of another format. Of a full matrix, npz, tsv "
              "and trec get the nonzero cells.",
          .positionals = {"path"},
          .options = {{"path", 0, "", "folder of versions, one version, or a result file (.h5)"},
                      {"output", 'o', "", "file to write; - for text: standard output"},
                      {"format", 0, "tsv",
                       "npz (scipy.sparse), tsv, trec (a run file) or npy (the dense matrix)"},
                      {"sort", 0, "item", "order in a tsv: item, or score (best first)"},
                      {"limit", 0, "0", "only the X best pairs of each query; 0: all"},
                      help_option()},
          .examples = {"bulksim export out/ -o - --format tsv --sort score --limit 10"}};
}

int run(const OptionValues& options) {
  ExportOptions exported;
  exported.result = options.required("path", "the result OUT");
  exported.output = options.required("output", "the output -o FILE");
  exported.format = options.choice<ExportFormat>("format", {{"npz", ExportFormat::kNpz},
                                                            {"tsv", ExportFormat::kTsv},
                                                            {"trec", ExportFormat::kTrec},
                                                            {"npy", ExportFormat::kNpy}});
  exported.order = options.choice<ExportOrder>(
      "sort", {{"item", ExportOrder::kItem}, {"score", ExportOrder::kScore}});
  exported.limit = options.size("limit", 0);
  export_result(system_file_calls(), exported, std::cout);
  if (exported.output != "-") std::cout << exported.output << '\n';
  return 0;
}

const Command kCommand(CommandGroup::kRead, syntax, run);

}  // namespace

}  // namespace bulksim
