#include "cli/standard_options.hpp"

namespace bulksim {

Option help_option() {
  return {"help", 'h', "", "print this text", OptionKind::kFlag};
}

Option json_option() {
  return {"json", 0, "", "JSON instead of text", OptionKind::kFlag};
}

Option quiet_option() {
  return {"quiet", 'q', "", "warnings and errors only", OptionKind::kFlag};
}

Option log_format_option() {
  return {"log-format", 0, "human", "human, or json (one object per line)"};
}

LogOptions log_options(const OptionValues& options) {
  LogOptions log;
  if (options.all().contains("log-format")) {
    log.format = options.choice<LogFormat>(
        "log-format", {{"human", LogFormat::kHuman}, {"json", LogFormat::kJson}});
  }
  if (options.flag("verbose")) log.level = LogLevel::kDetail;
  if (options.flag("quiet")) log.level = LogLevel::kWarning;
  return log;
}

}  // namespace bulksim
