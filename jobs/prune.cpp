#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "core/run/log.hpp"
#include "job/inspect/versions_job.hpp"

namespace bulksim {

CommandSyntax prune_syntax() {
  using enum OptionKind;
  return {.name = "prune",
          .usage = "OUT --keep N",
          .summary = "Removes all but the newest N versions; the current one stays in any case.",
          .positionals = {"output"},
          .options = {
              {"output", 'o', "", "folder of versions"},
              {"keep", 0, "", "versions to keep"},
              {"quiet", 'q', "", "warnings and errors only", kFlag},
              {"help", 'h', "", "this text", kFlag},
          }};
}

int run_prune(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(prune_syntax(), words);
  if (printed_help(prune_syntax(), options)) return 0;
  Log log({.level = options.flag("quiet") ? LogLevel::kWarning : LogLevel::kInfo});
  const std::string output = options.required("output", "the output folder OUT");
  options.required("keep", "--keep, the number of versions to keep,");
  prune_versions(system_file_calls(), output, options.integer("keep", 1), log);
  return 0;
}

}  // namespace bulksim
