#include <iostream>

#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "job/inspect/versions_job.hpp"

namespace bulksim {

CommandSyntax versions_syntax() {
  using enum OptionKind;
  return {.name = "versions",
          .usage = "OUT",
          .summary = "Lists the published versions of an output folder; * marks the current one.",
          .positionals = {"output"},
          .options = {
              {"output", 'o', "", "folder of versions"},
              {"json", 0, "", "JSON instead of text", kFlag},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_versions(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(versions_syntax(), words);
  if (printed_help(versions_syntax(), options)) return 0;
  print_versions(system_file_calls(), options.required("output", "the output folder OUT"),
                 options.flag("json") ? VersionsFormat::kJson : VersionsFormat::kText, std::cout);
  return 0;
}

}  // namespace bulksim
