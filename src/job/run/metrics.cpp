#include "job/run/metrics.hpp"

#include <cstdlib>
#include <sstream>

#include "core/text/format_text.hpp"
#include "storage/run/run_directory.hpp"

namespace bulksim {

namespace {

constexpr const char* kLastSuccess = "bulksim_last_success_timestamp_seconds";

void line(std::string& text, const std::string& name, double value) {
  text += name + formatted(" %.17g\n", value);
}

void line(std::string& text, const std::string& name, std::int64_t value) {
  text += name + " " + std::to_string(value) + "\n";
}

void side(std::string& text, const std::string& name, const InputSurvey& survey) {
  const std::string label = "{side=\"" + name + "\"}";
  line(text, "bulksim_input_rows" + label, survey.rows);
  line(text, "bulksim_input_nnz" + label, survey.nnz());
  line(text, "bulksim_input_zero_rows" + label, survey.counts.zero_rows);
}

}  // namespace

std::string RunMetrics::to_text() const {
  std::string text;
  line(text, kLastSuccess, last_success);
  line(text, "bulksim_last_run_timestamp_seconds", now);
  line(text, "bulksim_run_exit_code", static_cast<std::int64_t>(code));
  line(text, "bulksim_run_duration_seconds", seconds);
  for (const auto& [phase, spent] : timer.phases())
    line(text, "bulksim_stage_seconds{stage=\"" + phase + "\"}", spent);
  line(text, "bulksim_tiles{state=\"computed\"}", report.computed_tiles);
  line(text, "bulksim_tiles{state=\"resumed\"}", report.resumed_tiles);
  line(text, "bulksim_tiles{state=\"recomputed\"}", report.recomputed_tiles);
  line(text, "bulksim_tiles{state=\"failed\"}", report.damaged_tiles);
  side(text, "queries", report.surveys.queries);
  side(text, "items", report.surveys.items);
  line(text, "bulksim_output_bytes", report.output_bytes);
  line(text, "bulksim_checksum_failures_total", report.damaged_tiles);
  line(text, "bulksim_abft_mismatch_total", report.recomputed_tiles);
  line(text, "bulksim_restarts", std::int64_t{report.attempt > 0 ? report.attempt - 1 : 0});
  return text;
}

std::int64_t last_success_of(const std::string& metrics_text) {
  std::istringstream in(metrics_text);
  std::string name;
  std::string value;
  while (in >> name >> value) {
    if (name == kLastSuccess) return std::strtoll(value.c_str(), nullptr, 10);
  }
  return 0;
}

void write_metrics(const JobConfig& config, RunMetrics metrics, MetricsPlace place,
                   JobContext context) {
  const auto write = [&](const std::string& path) {
    try {
      metrics.last_success = metrics.now;
      if (metrics.code != ExitCode::kOk) {
        metrics.last_success =
            exists(context.calls, path) ? last_success_of(read_text(context.calls, path)) : 0;
      }
      replace_file(context.calls, path, metrics.to_text());
    } catch (const Error& error) {
      context.log.warning("no_metrics", error.what());
    }
  };
  if (!config.metrics_file.empty()) write(config.metrics_file);
  if (place == MetricsPlace::kOutputToo && output_form(config.output) == OutputForm::kVersions &&
      exists(context.calls, config.output + "/.bulksim")) {
    write(config.output + "/metrics.prom");
  }
}

}  // namespace bulksim
