#include <iostream>

#include "bulksim/core/file.hpp"
#include "cli/standard_options.hpp"
#include "command.hpp"
#include "job/config/make_job_config.hpp"
#include "job/inspect/report/report_job.hpp"

namespace bulksim {

namespace {

CommandSyntax syntax() {
  return {.name = "report",
          .usage = "OUT [-o FILE.html]",
          .summary =
              "Writes an HTML page about a result. It shows how the result was computed and the "
              "block map with its strongest blocks, and is one self-contained file, whose path is "
              "printed.",
          .positionals = {"path"},
          .options = {{"path", 0, "", "folder of versions, one version, or a result file"},
                      {"output", 'o', "",
                       "page to write; default: report.html in the version, or NAME.html"},
                      {"select-mass", 0, "",
                       "outline the fewest blocks that hold this share of all mass; default: 0.1"},
                      {"select-share", 0, "",
                       "outline the blocks that hold this share of the mass of their queries"},
                      {"strongest", 'k', "20", "blocks to list"},
                      help_option()},
          .examples = {"bulksim report out/ -o map.html --select-mass 0.5"}};
}

int run(const OptionValues& options) {
  ReportOptions report;
  report.path = options.required("path", "the result OUT");
  report.output = options.text("output");
  report.strongest = options.integer("strongest", 0, 10'000);
  if (const auto selection = parse_selection(options)) report.outlined = *selection;
  std::cout << write_report(system_file_calls(), report) << '\n';
  return 0;
}

const Command kCommand(CommandGroup::kRead, syntax, run);

}  // namespace

}  // namespace bulksim
