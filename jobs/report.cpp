#include <iostream>

#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "job/config/compute_options.hpp"
#include "job/config/job_config.hpp"
#include "job/inspect/report/report_job.hpp"

namespace bulksim {

CommandSyntax report_syntax() {
  using enum OptionKind;
  return {.name = "report",
          .usage = "OUT [-o FILE.html]",
          .summary =
              "Writes a page about a result: the info of its run and the block map, with the\n"
              "strongest blocks. It needs nothing from anywhere else. Prints its path.",
          .positionals = {"path"},
          .options = {
              {"path", 0, "", "folder of versions, one version, or a result in one file"},
              {"output", 'o', "", "the page; without it report.html in the version, or NAME.html"},
              {"select-mass", 0, "",
               "outline the fewest blocks that hold this part of the mass; 0.1 if nothing is said"},
              {"select-share", 0, "", "outline blocks with this part of the mass of their queries"},
              {"strongest", 'k', "20", "blocks to list"},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_report(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(report_syntax(), words);
  if (printed_help(report_syntax(), options)) return 0;
  ReportOptions report;
  report.path = options.required("path", "the result OUT");
  report.output = options.text("output");
  report.strongest = options.integer("strongest", 0, 10'000);
  if (const auto selection = parse_selection(options)) report.outlined = *selection;
  std::cout << write_report(system_file_calls(), report) << '\n';
  return 0;
}

}  // namespace bulksim
