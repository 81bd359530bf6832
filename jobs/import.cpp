#include <iostream>

#include "bulksim/core/error.hpp"
#include "bulksim/core/file.hpp"
#include "command.hpp"
#include "core/run/log.hpp"
#include "job/config/import_options.hpp"
#include "job/input/import_matrix.hpp"

namespace bulksim {

int run_import(const std::vector<std::string>& words) {
  const OptionValues options = parse_options(import_syntax(), words);
  if (printed_help(import_syntax(), options)) return 0;
  LogOptions log_options;
  log_options.format =
      options.choice("log-format", {"human", "json"}) == 1 ? LogFormat::kJson : LogFormat::kHuman;
  if (options.flag("quiet")) log_options.level = LogLevel::kWarning;
  Log log(log_options);
  const std::string source = options.required("source", "the matrix to import");
  const std::string store = options.required("output", "the store to write");
  if (!store.ends_with(".h5")) {
    throw Error(ExitCode::kUsage, "--output is '" + store + "' (must end in .h5)");
  }
  const ImportReport report =
      import_matrix(system_file_calls(), source, store, make_import_options(options), log);
  log.info("import", "imported " + report.text(), {{"seconds", report.seconds}});
  std::cout << (options.flag("json") ? report.to_json(store) : store + "\n") << std::flush;
  return 0;
}

}  // namespace bulksim
