#include "job/inspect/versions_job.hpp"

#include <limits>
#include <ostream>

#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "storage/run/lease.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

namespace {

std::string to_text(const std::vector<Version>& versions) {
  std::string text;
  for (const Version& version : versions) {
    text += (version.current ? "* " : "  ") + std::to_string(version.number) + "  " + version.name +
            "  " + utc_text(version.published) + "  " + bytes_text(version.bytes) + "\n";
  }
  return text;
}

std::string to_json(const std::vector<Version>& versions) {
  JsonArray list;
  for (const Version& version : versions) {
    list.add(JsonObject()
                 .add("number", version.number)
                 .add("name", version.name)
                 .add("plan", version.plan)
                 .add("bytes", version.bytes)
                 .add("published", utc_text(version.published))
                 .add("current", version.current));
  }
  return JsonObject().add("schema", 1).add("versions", list).text(1) + "\n";
}

}  // namespace

void print_versions(FileCalls& calls, const std::string& output, VersionsFormat format,
                    std::ostream& out) {
  const auto versions = list_versions(calls, output);
  out << (format == VersionsFormat::kJson ? to_json(versions) : to_text(versions));
}

void use_version(FileCalls& calls, const std::string& output, std::int64_t number, Log& log) {
  const Version version = find_version(calls, output, number);
  const auto lease = Lease::take(calls, output + "/LOCK", lease_options(log, kOnlySignals));
  set_current(calls, output, version.name);
  log.info("current", "'" + output + "/CURRENT' is now version " + version.name);
}

void prune_versions(FileCalls& calls, const std::string& output, std::int64_t keep, Log& log) {
  list_versions(calls, output);  // throws when it is not an output folder
  const auto lease = Lease::take(calls, output + "/LOCK", lease_options(log, kOnlySignals));
  const Removal removal =
      retire_versions(calls, output, keep, std::numeric_limits<double>::infinity());
  for (const std::string& name : removal.removed)
    log.info("removed", "removed version " + name);
  for (const std::string& failure : removal.failures)
    log.warning("not_removed", failure);
}

}  // namespace bulksim
