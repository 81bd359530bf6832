#include "job/publish/retention.hpp"

#include "storage/run/versions.hpp"

namespace bulksim {

namespace {

constexpr double kSecondsToRetire = 60.0;

}  // namespace

void retire_old_versions(const JobConfig& config, const RunDirectory& run, JobContext context) {
  if (run.form() != OutputForm::kVersions) return;
  Removal removal;
  try {
    removal = retire_versions(context.calls, run.output(), config.keep, kSecondsToRetire);
  } catch (const Error& error) {
    removal.failures.emplace_back(error.what());
  }
  for (const std::string& name : removal.removed)
    context.log.info("retired", "removed the old version " + name);
  for (const std::string& failure : removal.failures) {
    context.log.warning("not_retired", "an old version could not be removed: " + failure);
  }
}

}  // namespace bulksim
