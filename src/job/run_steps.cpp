#include "job/run_steps.hpp"

#include <array>
#include <string>

#include "bulksim/job/agreement.hpp"
#include "bulksim/job/options.hpp"
#include "job/run_report.hpp"

namespace bulksim {

namespace {

/// What was put in order before it was computed with.
void announce_irregular(const Surveys& surveys, Log& log) {
  HygieneCounts counts = surveys.queries.counts;
  counts += surveys.items.counts;
  counts.zero_rows = 0;
  if (counts == HygieneCounts{}) return;
  log.info("irregular",
           "put in order: " + std::to_string(counts.unsorted_rows) + " rows sorted, " +
               std::to_string(counts.duplicates) + " duplicates summed, " +
               std::to_string(counts.explicit_zeros) + " zeros dropped",
           {{"unsorted_rows", counts.unsorted_rows},
            {"duplicates", counts.duplicates},
            {"explicit_zeros", counts.explicit_zeros}});
}

void announce_devices(const std::vector<std::string>& devices, Log& log) {
  if (devices.empty()) return;
  const std::string others =
      devices.size() == 1 ? ""
                          : "; " + std::to_string(devices.size()) + " ranks with a device each";
  log.info("backend", "computing on " + devices.front() + others,
           {{"backend", "cuda"}, {"device", devices.front()}});
}

}  // namespace

void announce(const RunSetup& setup, Log& log) {
  const Plan& plan = setup.plan;
  const std::int64_t zero_queries = setup.surveys.queries.counts.zero_rows;
  const std::int64_t zero_items = setup.surveys.items.counts.zero_rows;
  log.info("plan",
           std::to_string(plan.grid.shape().queries) + " queries x " +
               std::to_string(plan.grid.shape().items) + " items, " + std::to_string(plan.columns) +
               " columns; " + std::to_string(plan.grid.count()) + " tiles of " +
               std::to_string(plan.grid.tile().queries) + " x " +
               std::to_string(plan.grid.tile().items) + " in " + std::to_string(plan.parts.size()) +
               " parts; every " +
               (plan.arithmetic.metric == Metric::kDot ? "dot product" : "cosine") + " within " +
               error_text(plan.error_bound) + " of the true one",
           {{"plan", plan.id().hex()}, {"tiles", plan.grid.count()}});
  if (zero_queries + zero_items > 0) {
    log.info(
        "zero_rows",
        std::to_string(zero_queries) + " queries and " + std::to_string(zero_items) +
            " items have no values: their scores are " +
            (plan.zero_rows == ZeroRows::kNan ? "NaN (" + std::to_string(plan.nan_cells) + " cells)"
                                              : "0, also with themselves"),
        {{"queries", zero_queries}, {"items", zero_items}, {"nan_cells", plan.nan_cells}});
  }
  announce_irregular(setup.surveys, log);
  announce_devices(setup.devices.all, log);
  log.detail("memory",
             "a rank is expected to hold at most " + bytes_text(setup.schedule.memory_peak()),
             {{"bytes", setup.schedule.memory_peak()}});
}

void announce_published(const std::string& result, Log& log) {
  log.info("already_there",
           "the same result is published already: nothing to do (--recompute makes a new version); "
           "read '" +
               result + "'",
           {{"result", result}});
}

void end_if_stopped(bool stopped, std::int64_t done, std::int64_t resumed, std::int64_t tiles,
                    JobContext context) {
  std::array<std::int64_t, 2> sums{stopped ? 1 : 0, done};
  context.mpi.world().all_reduce_sum(sums);
  if (sums[0] == 0) return;
  const std::string reason = context.stop.reason();
  throw AgreedError(ExitCode::kTemporary, "stopped at " +
                                              std::to_string(100 * (resumed + sums[1]) / tiles) +
                                              " %" + (reason.empty() ? "" : " after " + reason) +
                                              "; run the same command to go on");
}

}  // namespace bulksim
