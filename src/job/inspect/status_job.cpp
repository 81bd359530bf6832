#include "job/inspect/status_job.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>

#include "core/text/format_text.hpp"
#include "core/text/json.hpp"
#include "job/plan/plan.hpp"
#include "storage/parts/pair_runs.hpp"
#include "storage/run/journal.hpp"
#include "storage/run/run_directory.hpp"
#include "storage/run/versions.hpp"

namespace bulksim {

namespace {

std::int64_t changed(FileCalls& calls, const std::string& path) {
  struct stat status {};
  return calls.lstat(path.c_str(), &status) == 0 ? status.st_mtime : 0;
}

/// The most recently written staging folder; empty when there is none.
std::string newest_staging(FileCalls& calls, const std::string& work_folder) {
  std::string newest;
  std::int64_t last = -1;
  if (!is_directory(calls, work_folder)) return newest;
  for (const std::string& name : list_directory(calls, work_folder)) {
    const std::string staging = inside(work_folder, name);
    if (!exists(calls, staging + "/PLAN.json")) continue;
    std::int64_t time = changed(calls, staging);
    for (const char* part : {"/journal", "/attempts", "/errors"})
      time = std::max(time, changed(calls, staging + part));
    if (time > last) newest = staging;
    last = std::max(last, time);
  }
  return newest;
}

/// The number that a text begins with; 0 where there is none.
int leading_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Number of the last attempt, 0 when none has begun.
int last_attempt(FileCalls& calls, const std::string& staging) {
  int last = 0;
  if (!is_directory(calls, staging + "/attempts")) return last;
  for (const std::string& name : list_directory(calls, staging + "/attempts"))
    last = std::max(last, leading_number(name));
  return last;
}

/// Counts the tiles in the journals. Returns those of the last attempt.
std::int64_t read_journals(FileCalls& calls, const std::string& folder, const Plan& plan,
                           OutputStatus& status) {
  std::set<std::int64_t> done;
  std::int64_t of_attempt = 0;
  for (const std::string& name : list_directory(calls, folder)) {
    const JournalContent journal = read_journal(calls, inside(folder, name), plan.id());
    for (const std::int64_t tile : journal.dropped)
      done.erase(tile);
    for (const JournalTile& tile : journal.tiles)
      done.insert(tile.tile);
    if (journal.attempt == status.attempt) of_attempt += std::ssize(journal.tiles);
  }
  status.tiles_done = std::ssize(done);
  return of_attempt;
}

/// Number of tiles of a search for pairs.
std::int64_t count_searched(const Plan& plan) {
  std::int64_t tiles = 0;
  for (std::int64_t tile = 0; tile < plan.grid.count(); ++tile) {
    const TileId id = plan.grid.id(tile);
    if (plan.filter->touches(plan.grid.queries(id.row), plan.grid.items(id.column))) ++tiles;
  }
  return tiles;
}

void read_progress(FileCalls& calls, const std::string& staging, std::int64_t now,
                   OutputStatus& status) {
  const Plan plan = Plan::from_json(read_text(calls, staging + "/PLAN.json"));
  status.plan = plan.id().hex().substr(0, 8);
  status.tiles = plan.filter ? count_searched(plan) : plan.grid.count();
  status.attempt = last_attempt(calls, staging);
  if (plan.filter && is_directory(calls, staging + "/parts")) {
    const auto files = pair_run_files(calls, staging + "/parts");
    status.tiles_done = count_tiles_of_runs(calls, files, plan.id(), plan.grid);
  }
  if (plan.filter || !is_directory(calls, staging + "/journal")) return;
  const std::int64_t of_attempt = read_journals(calls, staging + "/journal", plan, status);
  const std::int64_t begin = changed(calls, staging + formatted("/attempts/%04d", status.attempt));
  if (begin == 0 || now <= begin || of_attempt == 0) return;
  status.tiles_per_s = static_cast<double>(of_attempt) / static_cast<double>(now - begin);
  status.seconds_left = static_cast<double>(status.tiles - status.tiles_done) / status.tiles_per_s;
}

/// The last error of the last attempt; the error file that is the root cause takes precedence.
void read_last_error(FileCalls& calls, const std::string& staging, OutputStatus& status) {
  const std::string folder = staging + "/errors";
  if (!is_directory(calls, folder)) return;
  bool found_root = false;
  for (const std::string& name : list_directory(calls, folder)) {
    if (leading_number(std::string_view(name).substr(1)) != status.attempt ||
        !name.ends_with(".json"))
      continue;
    if (found_root) continue;
    const JsonReader json = JsonReader::parse_or_empty(read_text(calls, inside(folder, name)));
    if (json.empty()) continue;
    found_root = json.find_boolean("root_cause").value_or(false);
    status.last_error = json.find_text("cause").value_or("");
    if (const auto code = json.find_integer("exit_code")) {
      status.last_error_code = static_cast<int>(*code);
    }
  }
}

const char* name_of(Liveness liveness) {
  if (liveness == Liveness::kAlive) return "alive";
  return liveness == Liveness::kDead ? "dead" : "unknown";
}

}  // namespace

ExitCode OutputStatus::code() const {
  if (holder && holder_state != "dead") return ExitCode::kCannotCreate;
  if (tiles > 0 || !plan.empty()) {
    return last_error_code ? static_cast<ExitCode>(*last_error_code) : ExitCode::kTemporary;
  }
  return current.empty() ? ExitCode::kNoInput : ExitCode::kOk;
}

std::string OutputStatus::to_text() const {
  std::string text = "phase: " + phase + "\n";
  text += "published: " + (current.empty() ? "nothing" : current) + "\n";
  if (!plan.empty()) {
    text += "unfinished: plan " + plan + ", attempt " + std::to_string(attempt) + ", " +
            std::to_string(tiles_done) + " of " + std::to_string(tiles) + " tiles done\n";
  }
  if (tiles_per_s > 0) {
    text += formatted("rate: %.1f tiles/s, %s left\n", tiles_per_s,
                      duration_text(seconds_left.value_or(0.0)).c_str());
  }
  if (holder) {
    text += "in use by: process " + std::to_string(holder->pid) + " on host " + holder->host +
            (holder->slurm_job.empty() ? "" : ", Slurm job " + holder->slurm_job) + " (" +
            holder_state + ")\n";
  }
  if (!last_error.empty()) text += "last error: " + last_error + "\n";
  return text + "(read from the files of the output; may be up to 30 s old)\n";
}

std::string OutputStatus::to_json() const {
  JsonObject json;
  json.add("schema", 1)
      .add("phase", phase)
      .add("published", current)
      .add("plan", plan)
      .add("attempt", attempt)
      .add("tiles", tiles)
      .add("tiles_done", tiles_done)
      .add("tiles_per_s", tiles_per_s)
      .add("lag_seconds", 30);
  if (seconds_left) json.add("seconds_left", *seconds_left);
  if (holder) {
    json.add("holder", JsonObject()
                           .add("host", holder->host)
                           .add("pid", holder->pid)
                           .add("slurm_job", holder->slurm_job)
                           .add("state", holder_state));
  }
  if (!last_error.empty()) json.add("last_error", last_error);
  if (last_error_code) json.add("last_error_code", *last_error_code);
  json.add("code", static_cast<int>(code()));
  return json.text(1) + "\n";
}

OutputStatus read_status(FileCalls& calls, const std::string& output, std::int64_t now) {
  const bool versions = output_form(output) == OutputForm::kVersions;
  const std::string work = versions ? output + "/staging" : work_folder_of_file(output);
  OutputStatus status;
  if (!exists(calls, versions ? output : work) && !exists(calls, output)) {
    throw Error(ExitCode::kNoInput, "there is no output '" + output + "'");
  }
  status.current = versions ? current_version(calls, output) : exists(calls, output) ? output : "";
  status.holder = read_lease(calls, (versions ? output : work) + "/LOCK");
  if (status.holder) status.holder_state = name_of(liveness_of(*status.holder));
  const std::string staging = newest_staging(calls, work);
  if (!staging.empty()) {
    read_progress(calls, staging, now, status);
    read_last_error(calls, staging, status);
  }
  status.phase = staging.empty() ? "idle" : "unfinished";
  if (status.holder && status.holder_state != "dead") {
    status.phase = status.holder->phase.empty() ? "starting" : status.holder->phase;
  }
  return status;
}

}  // namespace bulksim
