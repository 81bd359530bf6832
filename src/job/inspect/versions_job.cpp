#include "job/inspect/versions_job.hpp"

#include <limits>
#include <ostream>

#include <nlohmann/json.hpp>

#include "core/text/format_text.hpp"
#include "storage/run/lease.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

void print_versions(FileCalls& calls, const std::string& output, VersionsFormat format,
                    std::ostream& out) {
  const auto versions = list_versions(calls, output);
  if (format == VersionsFormat::kText) {
    for (const Version& version : versions) {
      out << (version.current ? "* " : "  ") << version.number << "  " << version.name << "  "
          << utc_text(version.published) << "  " << bytes_text(version.bytes) << '\n';
    }
    return;
  }
  nlohmann::ordered_json json{{"schema", 1}, {"versions", nlohmann::ordered_json::array()}};
  for (const Version& version : versions) {
    json["versions"].push_back({{"number", version.number},
                                {"name", version.name},
                                {"plan", version.plan},
                                {"bytes", version.bytes},
                                {"published", utc_text(version.published)},
                                {"current", version.current}});
  }
  out << json.dump(1) << '\n';
}

void use_version(FileCalls& calls, const std::string& output, std::int64_t number, Log& log) {
  const Version version = find_version(calls, output, number);
  const auto lease = Lease::take(calls, output + "/LOCK");
  set_current(calls, output, version.name);
  log.info("current", "'" + output + "/CURRENT' shows version " + version.name);
}

void prune_versions(FileCalls& calls, const std::string& output, std::int64_t keep, Log& log) {
  list_versions(calls, output);  // says when it is no output folder
  const auto lease = Lease::take(calls, output + "/LOCK");
  const Removal removal =
      retire_versions(calls, output, keep, std::numeric_limits<double>::infinity());
  for (const std::string& name : removal.removed)
    log.info("removed", "removed version " + name);
  for (const std::string& failure : removal.failures)
    log.warning("not_removed", failure);
}

}  // namespace bulksim
