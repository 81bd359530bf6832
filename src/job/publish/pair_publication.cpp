#include "job/publish/pair_publication.hpp"

#include "core/files/staged_file.hpp"
#include "formats/npz/npz_writer.hpp"
#include "job/plan/output_layout.hpp"
#include "job/publish/pair_text.hpp"
#include "job/publish/publication.hpp"
#include "storage/result/archive_comment.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/result_path.hpp"
#include "storage/run/manifest.hpp"

namespace bulksim {

namespace {

bool are_lists(const PairFilterSpec& filter) {
  return filter.keep == Keep::kBest;
}

RowRange all_queries(const Plan& plan) {
  return {0, plan.grid.shape().queries};
}

PairExtent extent_of(const Plan& plan, const std::vector<std::int64_t>& row_offsets) {
  return {plan.grid.shape(), row_offsets, plan.filter->count};
}

PairLayout layout_of(const PairFilterSpec& filter) {
  return are_lists(filter) ? PairLayout::kLists : PairLayout::kCsr;
}

void write_h5(const std::string& path, const PairPublication& publication, FileCalls& calls) {
  const Plan& plan = publication.plan;
  StagedFile staged(calls, path);
  PairFileWriter writer(staged.file(), pair_group(*plan.filter), layout_of(*plan.filter),
                        extent_of(plan, publication.row_offsets), attributes_of(plan),
                        publication.ids());
  publication.merge.run(all_queries(plan),
                        are_lists(*plan.filter) ? PairOrder::kByScore : PairOrder::kByItem,
                        [&](std::int64_t, std::span<const std::int64_t> items,
                            std::span<const float> scores) { writer.append_row(items, scores); });
  writer.finish();
  staged.publish();
}

void write_npz(const std::string& path, const PairPublication& publication, FileCalls& calls) {
  const Plan& plan = publication.plan;
  StagedFile staged(calls, path);
  NpzWriter writer(staged.file(), plan.grid.shape().items, publication.row_offsets,
                   archive_comment(attributes_of(plan)));
  publication.merge.run(all_queries(plan), PairOrder::kByItem,
                        [&](std::int64_t, std::span<const std::int64_t> items,
                            std::span<const float> scores) { writer.append_row(items, scores); });
  writer.finish();
  staged.publish();
}

Digest write_text(const std::string& path, const PairPublication& publication, FileCalls& calls) {
  const Plan& plan = publication.plan;
  return write_file(calls, path, [&](FileAppender& out) {
    PairTextWriter writer(publication.text, publication.ids(),
                          [&](std::string_view line) { out.append(line); });
    publication.merge.run(
        all_queries(plan), are_lists(*plan.filter) ? PairOrder::kByScore : PairOrder::kByItem,
        [&](std::int64_t query, std::span<const std::int64_t> items,
            std::span<const float> scores) { writer.append_row(query, items, scores); });
  });
}

}  // namespace

std::string pair_group(const PairFilterSpec& filter) {
  if (are_lists(filter)) return "topk";
  const bool all_nonzero =
      filter.nonzero_only && filter == PairFilterSpec{.nonzero_only = true,
                                                      .partners = filter.partners,
                                                      .mirrored = filter.mirrored,
                                                      .queries = filter.queries,
                                                      .items = filter.items};
  return all_nonzero ? "nonzero" : "pairs";
}

std::int64_t pair_result_bytes(const Plan& plan, const std::vector<std::int64_t>& row_offsets) {
  return pair_bytes(layout_of(*plan.filter), extent_of(plan, row_offsets));
}

std::string publish_pairs(RunDirectory& run, const PairPublication& publication, FileCalls& calls,
                          Log& log) {
  publication.still_ours();
  if (run.form() == OutputForm::kSingleFile) {
    const std::string path = run.part_path(0);
    const auto form = file_form(run.output());
    if (form == FileForm::kHdf5) {
      write_h5(path, publication, calls);
    } else if (form == FileForm::kNpz) {
      write_npz(path, publication, calls);
    } else {
      log_digest(run.output(), write_text(path, publication, calls), log);
    }
    return run.publish("", publication.still_ours);
  }
  write_h5(run.staging() + "/similarity.h5", publication, calls);
  replace_file(calls, run.staging() + "/report.json", publication.report_json());
  Manifest manifest{.plan = publication.plan.id().hex(), .files = {}};
  for (const char* name : {"PLAN.json", "similarity.h5"})
    manifest.files.push_back(describe_file(calls, run.staging(), name));
  return run.publish(manifest.to_json(), publication.still_ours);
}

void log_digest(const std::string& path, const Digest& digest, Log& log) {
  log.info("digest",
           "XXH3-128 of '" + path + "': " + digest.hex() +
               " (this format has no place for it; xxh128sum computes it)",
           {{"xxh3_128", digest.hex()}});
}

}  // namespace bulksim
