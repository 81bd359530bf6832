#include <iostream>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/config/make_job_config.hpp"
#include "job/inspect/export_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  using enum OptionKind;
  return {
      .name = "export",
      .usage = "OUT -o FILE",
      .summary =
          "Writes a finished result as one file of another format: the ending of FILE decides. "
          "Of a full matrix, npz, tsv and trec get the nonzero cells; of a top-k, tsv and trec "
          "leave out items that share no column with the query.",
      .positionals = {"path"},
      .options = {{"path", 0, "", "folder of versions, one version, or a result file (.h5)"},
                  {"output", 'o', "",
                   "FILE.npz (scipy.sparse), .tsv, .trec (a TREC run) or .npy (the dense "
                   "matrix); -: text to the standard output"},
                  {"format", 0, "", "with -o -: tsv (the default) or trec"},
                  {"sort", 0, "", "in a tsv: item, or score (the default for a top-k)"},
                  {"limit", 0, "0", "only the X best pairs of each query; 0: all"},
                  {"run-tag", 0, "bulksim", "last field of each line of a trec"},
                  {"replace-blanks", 0, "", "in a trec, write _ for the blanks of ids", kFlag},
                  {"overwrite", 0, "", "replace FILE even if it is no result of bulksim", kFlag},
                  help_option()},
      .examples = {"bulksim export out/ -o pairs.npz",
                   "bulksim export out/ -o - --sort score --limit 10"}};
}

FileForm format_of(const OptionValues& options, const std::string& output) {
  require_known_ending(output);
  const auto form = file_form(output);
  if (!form || form == FileForm::kHdf5) {
    throw Error(ExitCode::kUsage, "'" + output +
                                      "' cannot be written by export: use a name that ends in "
                                      ".npz, .tsv, .trec or .npy, or - for the standard output");
  }
  if (!options.has("format")) return *form;
  const auto format = options.choice<FileForm>("format", {{"npz", FileForm::kNpz},
                                                          {"tsv", FileForm::kTsv},
                                                          {"trec", FileForm::kTrec},
                                                          {"npy", FileForm::kNpy}});
  if (output == "-" || format == *form) return format;
  throw Error(ExitCode::kUsage, "--format " + options.text("format") + " does not agree with '" +
                                    output + "', whose ending decides: omit --format");
}

int run(const OptionValues& options) {
  ExportOptions exported;
  exported.result = options.required("path", "the result OUT");
  exported.output = options.required("output", "the output -o FILE");
  exported.format = format_of(options, exported.output);
  if (options.has("sort")) {
    exported.order = options.choice<ExportOrder>(
        "sort", {{"item", ExportOrder::kItem}, {"score", ExportOrder::kScore}});
  }
  exported.limit = options.size("limit", 0);
  exported.run_tag = parse_run_tag(options);
  exported.replace_blanks = options.flag("replace-blanks");
  if (options.flag("overwrite")) exported.overwrite = Overwrite::kAnyFile;
  Log log({});
  export_result(system_file_calls(), exported, std::cout, log);
  if (exported.output != "-") std::cout << exported.output << '\n';
  return 0;
}

const Command kCommand(CommandGroup::kRead, syntax, run);

}  // namespace

}  // namespace bulksim
