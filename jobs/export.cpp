#include <iostream>

#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "job/inspect/export_job.hpp"

namespace bulksim {

CommandSyntax export_syntax() {
  using enum OptionKind;
  return {.name = "export",
          .usage = "OUT -o FILE --format npz|tsv|trec|npy",
          .summary =
              "Writes a finished result as one file of another format. Of a matrix, npz, tsv and\n"
              "trec take the cells that are not 0.",
          .positionals = {"path"},
          .options = {
              {"path", 0, "", "folder of versions, one version, or a result file (.h5)"},
              {"output", 'o', "", "the file to write; - for text: the standard output"},
              {"format", 0, "tsv", "npz (scipy.sparse), tsv, trec (a run), npy (the dense matrix)"},
              {"sort", 0, "item", "order in a tsv: item, or score (the best first)"},
              {"limit", 0, "0", "the best pairs of each query, so many; 0: all"},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_export(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(export_syntax(), words);
  if (printed_help(export_syntax(), options)) return 0;
  constexpr ExportFormat kFormats[] = {ExportFormat::kNpz, ExportFormat::kTsv, ExportFormat::kTrec,
                                       ExportFormat::kNpy};
  ExportOptions exported;
  exported.result = options.required("path", "the result OUT");
  exported.output = options.required("output", "the output -o FILE");
  exported.format = kFormats[options.choice("format", {"npz", "tsv", "trec", "npy"})];
  exported.order =
      options.choice("sort", {"item", "score"}) == 1 ? ExportOrder::kScore : ExportOrder::kItem;
  exported.limit = options.size("limit", 0);
  export_result(system_file_calls(), exported, std::cout);
  if (exported.output != "-") std::cout << exported.output << '\n';
  return 0;
}

}  // namespace bulksim
