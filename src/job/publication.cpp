#include "job/publication.hpp"

#include <algorithm>

#include "bulksim/job/options.hpp"
#include "bulksim/storage/manifest.hpp"
#include "bulksim/storage/similarity_file.hpp"

namespace bulksim {

namespace {

FileAttributes attributes_of(const Plan& plan) {
  return result_attributes(plan.grid, {{"plan", plan.id().hex()},
                                       {"queries_content", plan.queries.hex()},
                                       {"items_content", plan.items.hex()},
                                       {"metric", std::string("cosine")},
                                       {"arithmetic_version", std::int64_t{kArithmeticVersion}},
                                       {"grid_bits", std::int64_t{plan.arithmetic.bits}},
                                       {"error_bound", plan.error_bound}});
}

}  // namespace

Layout make_layout(const Plan& plan, const RunDirectory& run) {
  Layout layout;
  if (run.form() == OutputForm::kSingleFile) {
    layout.parts.push_back(plan_part(plan.grid, {0, plan.grid.columns()}, "similarity"));
  } else {
    for (const RowRange& columns : plan.parts) {
      layout.parts.push_back(plan_part(plan.grid, columns, "tiles"));
    }
  }
  for (std::size_t part = 0; part < layout.parts.size(); ++part) {
    layout.paths.push_back(run.part_path(part));
  }
  return layout;
}

std::string existing_folder(FileCalls& calls, std::string path) {
  while (!exists(calls, path) && path != parent_of(path))
    path = parent_of(path);
  return path;
}

std::int64_t output_bytes(const std::vector<PartLayout>& parts) {
  std::int64_t bytes = 0;
  for (const PartLayout& part : parts)
    bytes += part.file_bytes;
  return bytes;
}

void check_output_size(const JobConfig& config, const Plan& plan,
                       const std::vector<PartLayout>& parts, JobContext context) {
  const std::int64_t bytes = output_bytes(parts);
  const std::int64_t free =
      context.calls.free_bytes(existing_folder(context.calls, config.output).c_str());
  context.log.info("output",
                   "will write " + bytes_text(bytes) + " to '" + config.output + "' (" +
                       bytes_text(std::max<std::int64_t>(free, 0)) + " free there)",
                   {{"bytes", bytes}, {"free", free}});
  const std::int64_t limit = config.max_output.value_or(free < 0 ? bytes : free / 2);
  if (bytes <= limit) return;
  const std::int64_t row_bytes = 4 * plan.grid.shape().items;
  throw Error(ExitCode::kIoError,
              "the matrix takes " + bytes_text(bytes) + " and " +
                  (config.max_output ? "--max-output allows " : "half of the free space is ") +
                  bytes_text(limit) + "; raise --max-output, or compute fewer queries at a time (" +
                  std::to_string(limit / std::max<std::int64_t>(row_bytes, 1)) + " would fit)");
}

std::string publish(RunDirectory& run, const Plan& plan, const std::vector<PartLayout>& parts,
                    const std::vector<Digest>& digests, const std::string& report_json,
                    FileCalls& calls) {
  if (run.form() == OutputForm::kSingleFile) {
    write_attributes(calls, run.part_path(0), plan.grid, parts.front(), attributes_of(plan));
    return run.publish("");
  }
  Manifest manifest{.plan = plan.id().hex(), .files = {}};
  std::vector<std::string> names;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    names.push_back(run.part_name(part));
    manifest.files.push_back(
        describe_file(calls, run.staging(), names.back(), parts[part].data_offset));
  }
  write_similarity_file(calls, run.staging() + "/similarity.h5", plan.grid, parts, names,
                        attributes_of(plan));
  replace_file(calls, run.staging() + "/tiles.idx", encode_tile_index(digests));
  replace_file(calls, run.staging() + "/report.json", report_json);
  for (const char* name : {"PLAN.json", "similarity.h5", "tiles.idx"}) {
    manifest.files.push_back(describe_file(calls, run.staging(), name));
  }
  return run.publish(manifest.to_json());
}

}  // namespace bulksim
