#pragma once

#include <cstdint>
#include <string>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"
#include "job/config/job_config.hpp"
#include "job/config/job_context.hpp"
#include "job/run/run_report.hpp"

namespace bulksim {

/// How a run has ended, for OUT/metrics.prom and --metrics-file: the text format of Prometheus.
struct RunMetrics {
  ExitCode code = ExitCode::kOk;
  double seconds = 0.0;
  std::int64_t now = 0;           ///< seconds since 1970
  std::int64_t last_success = 0;  ///< seconds since 1970; 0: never
  const PhaseTimer& timer;
  const RunReport& report;

  std::string to_text() const;
};

/// When the run that wrote these metrics last succeeded; 0 when that is not known.
std::int64_t last_success_of(const std::string& metrics_text);

enum class MetricsPlace { kOutputToo, kFileOnly };

/// Writes the metrics of a run, at rank 0. Never throws: a failure is a warning.
///
/// OUT/metrics.prom is written where OUT is an output folder. A run that found its output in use,
/// or its result published already, leaves OUT as it is and writes --metrics-file only.
void write_metrics(const JobConfig& config, RunMetrics metrics, MetricsPlace place,
                   JobContext context);

}  // namespace bulksim
