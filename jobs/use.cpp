#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "core/run/log.hpp"
#include "job/inspect/versions_job.hpp"

namespace bulksim {

CommandSyntax use_syntax() {
  using enum OptionKind;
  return {.name = "use",
          .usage = "OUT N",
          .summary = "Lets CURRENT show version N: the way back to an earlier result.",
          .positionals = {"output", "number"},
          .options = {
              {"output", 'o', "", "folder of versions"},
              {"number", 0, "", "number of the version, as `bulksim versions` lists it"},
              {"quiet", 'q', "", "warnings and errors only", kFlag},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_use(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(use_syntax(), words);
  if (printed_help(use_syntax(), options)) return 0;
  Log log({.level = options.flag("quiet") ? LogLevel::kWarning : LogLevel::kInfo});
  const std::string output = options.required("output", "the output folder OUT");
  options.required("number", "the number N of the version");
  use_version(system_file_calls(), output, options.integer("number", 1), log);
  return 0;
}

}  // namespace bulksim
