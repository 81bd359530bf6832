#include "job/work_left.hpp"

#include <cstddef>
#include <cstring>
#include <ctime>

#include "bulksim/storage/versions.hpp"

namespace bulksim {

namespace {

constexpr double kSecondsOfADay = 86'400;

void remove_stale_work(const JobConfig& config, const RunDirectory& run, JobContext context) {
  const auto age = static_cast<std::int64_t>(config.keep_days * kSecondsOfADay);
  const Removal removal = remove_stale_staging(context.calls, run.work_folder(), run.plan_name(),
                                               std::time(nullptr) - age);
  for (const std::string& name : removal.removed) {
    context.log.info("stale_removed", "removed unfinished work of another plan, '" +
                                          inside(run.work_folder(), name) + "'");
  }
  for (const std::string& failure : removal.failures)
    context.log.warning("stale_kept", failure);
}

}  // namespace

std::optional<Staged> take_up_staging(const JobConfig& config, const Plan& plan, RunDirectory& run,
                                      JobContext context, WorkLeft& left) {
  if (config.repeat == Repeat::kReuse) {
    left.result = run.finish_publication(plan.to_json()).value_or("");
    if (!left.result.empty()) return std::nullopt;
  }
  const Staged staged = run.prepare(plan.to_json());
  remove_stale_work(config, run, context);
  left.sealed = staged == Staged::kSealed;
  if (left.sealed) return std::nullopt;
  return staged;
}

void share(WorkLeft& left, Communicator& comm) {
  left.result = broadcast_text(comm, left.result);
  std::vector<std::int64_t> numbers{left.sealed ? 1 : 0, left.attempt, left.resumed};
  const auto head = std::ssize(numbers);
  numbers.insert(numbers.end(), left.to_do.begin(), left.to_do.end());
  const auto view = bytes_of(numbers);
  std::vector<std::byte> bytes(view.begin(), view.end());
  comm.broadcast(bytes);
  numbers.resize(bytes.size() / sizeof(std::int64_t));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  left.sealed = numbers[0] == 1;
  left.attempt = static_cast<int>(numbers[1]);
  left.resumed = numbers[2];
  left.to_do.assign(numbers.begin() + head, numbers.end());
}

}  // namespace bulksim
