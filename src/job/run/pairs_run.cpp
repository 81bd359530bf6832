#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "comm/collective_error.hpp"
#include "core/files/metered_calls.hpp"
#include "core/text/format_text.hpp"
#include "job/input/row_ids.hpp"
#include "job/plan/output_layout.hpp"
#include "job/plan/tile_partition.hpp"
#include "job/publish/change_guard.hpp"
#include "job/publish/pair_merge.hpp"
#include "job/publish/pair_publication.hpp"
#include "job/publish/pair_size.hpp"
#include "job/publish/publication.hpp"
#include "job/run/make_backend.hpp"
#include "job/run/prepare_run.hpp"
#include "job/run/resume.hpp"
#include "job/run/run_session.hpp"
#include "job/run/runs.hpp"
#include "job/run/stream_tiles.hpp"
#include "job/sinks/pair_output.hpp"
#include "job/sinks/progress.hpp"
#include "job/sinks/watched_sink.hpp"

namespace bulksim {

namespace {

/// One run, step by step; later steps use the results of earlier ones.
class PairsRun {
 public:
  PairsRun(const SeedStaging& seed, RunSession& session) : seed_(seed), session_(session) {}

  std::string run();

 private:
  const Plan& plan() const { return session_.plan(); }
  PairText text_of_result() const;
  void check_ids() const;
  void check_known_size();
  std::optional<FileForm> form() const { return file_form(session_.config.output); }
  void compute();
  void compute_tiles(PairSegmentFile& file, const std::vector<std::int64_t>& tiles);
  Error too_much(std::int64_t pairs, std::int64_t tiles_done, std::int64_t tiles) const;
  Error too_large(std::int64_t pairs, const std::string& need) const;
  std::string limit_text() const;
  void log_bounds();
  std::string publish_as_rank_0();
  PairSegments read_segments();
  std::int64_t checked_size(const std::vector<std::int64_t>& row_offsets) const;
  std::string merge(const PairSegments& segments, const std::vector<std::int64_t>& row_offsets);

  const SeedStaging& seed_;
  RunSession& session_;
  PairsLeft work_;
  std::int64_t limit_ = 0;
  bool stopped_ = false;
  std::int64_t done_ = 0;
  PairStats bounds_;
};

std::string PairsRun::run() {
  session_.set_up();
  std::string published = session_.find_published();
  if (!published.empty()) return published;
  run_collectively(session_.comm(), [&] {
    check_ids();
    check_known_size();
  });
  session_.take_output();
  work_ = resume_pairs(session_.config, plan(), *session_.directory, seed_, session_.context);
  session_.begin_attempt(work_);
  if (!work_.result.empty()) return work_.result;
  if (!work_.finalized) compute();
  return session_.publish(work_.finalized ? "publish" : "merge",
                          [this] { return publish_as_rank_0(); });
}

/// The largest size of the result in bytes.
std::int64_t output_limit(const JobConfig& config, JobContext context) {
  if (config.max_output) return *config.max_output;
  const std::int64_t free =
      context.calls.free_bytes(existing_folder(context.calls, config.output).c_str());
  return free < 0 ? kEveryRow : free / 2;
}

std::string PairsRun::limit_text() const {
  return (session_.config.max_output ? "--max-output allows " : "half of the free space is ") +
         bytes_text(limit_);
}

/// The size of top-k lists in HDF5 is known in advance; that of other pairs is not.
void PairsRun::check_known_size() {
  limit_ = output_limit(session_.config, session_.context);
  const PairFilterSpec& filter = *plan().filter;
  if (filter.keep != Keep::kBest || form().value_or(FileForm::kHdf5) != FileForm::kHdf5) return;
  const std::int64_t bytes = pair_result_size(plan(), {0}, form()).least;
  if (bytes <= limit_) return;
  throw Error(ExitCode::kIoError, "the best " + std::to_string(filter.count) +
                                      " items of each query take " + bytes_text(bytes) + " and " +
                                      limit_text() + "; raise --max-output or lower --top-k");
}

void PairsRun::compute() {
  const int rank = session_.comm().rank();
  const auto shares =
      share_tiles(work_.to_do, plan(), session_.setup.surveys.items, session_.comm().size());
  const auto& tiles = shares[rank];
  session_.begin("compute");
  if (!tiles.empty()) {
    PairSegmentFile file(session_.context.calls,
                         pair_segment_file(*session_.directory, work_.first_file + rank),
                         plan().id());
    compute_tiles(file, tiles);
    session_.timer.begin("sync");
    file.sync();
  }
  session_.comm().wait_for_all();
  session_.report.computed_tiles = done_;
  end_if_stopped(stopped_, done_, work_.resumed, work_.resumed + std::ssize(work_.to_do),
                 session_.context);
  log_bounds();
}

void PairsRun::compute_tiles(PairSegmentFile& file, const std::vector<std::int64_t>& tiles) {
  Progress progress(session_.context.log, std::ssize(tiles), 0);
  PairOutput::Options options{.commit = session_.config.commit,
                              .mirrored = plan().filter->mirrored,
                              .most_pairs = plan().filter->keep == Keep::kAll
                                                ? limit_ / bytes_of_a_pair(plan(), form())
                                                : kEveryRow,
                              .before_tile = session_.before_tile()};
  options.too_much = [&](std::int64_t pairs) {
    return too_much(pairs, progress.done() + 1, std::ssize(tiles));
  };
  PairOutput output(plan().grid, file, progress, std::move(options));
  WatchedSink sink(output, session_.context);
  const auto backend = make_pair_backend(session_.setup);
  try {
    stream_pairs(session_.setup, tiles, *backend, sink);
  } catch (const Stopped&) {
    stopped_ = true;
  }
  session_.report.backend = backend->description();
  session_.report.recomputed_tiles = backend->recomputed_tiles();
  bounds_ = backend->work();
  done_ = progress.done();
}

/// `pairs` were found in `tiles_done` of this rank's `tiles`.
Error PairsRun::too_much(std::int64_t pairs, std::int64_t tiles_done, std::int64_t tiles) const {
  const double share = static_cast<double>(tiles_done) / static_cast<double>(tiles);
  const double expected = static_cast<double>(pairs) / share *
                          static_cast<double>(work_.to_do.size()) / static_cast<double>(tiles);
  const auto all = static_cast<std::int64_t>(expected);
  return Error(ExitCode::kIoError,
               "the pairs will take at least " + bytes_text(bytes_of_a_pair(plan(), form()) * all) +
                   " (" + std::to_string(all) + " pairs) and " + limit_text() +
                   "; raise --max-output to resume, or use a higher --threshold or --top-k");
}

Error PairsRun::too_large(std::int64_t pairs, const std::string& need) const {
  return Error(ExitCode::kIoError,
               "the " + std::to_string(pairs) + " pairs need " + need + " " + limit_text() +
                   "; raise --max-output to resume, or use a higher --threshold or --top-k");
}

void PairsRun::log_bounds() {
  std::array<std::int64_t, 5> sums{bounds_.cells, bounds_.skipped, bounds_.candidates,
                                   bounds_.products, bounds_.useful_products};
  session_.comm().all_reduce_sum(sums);
  if (sums[0] == 0) return;
  const auto percent = [](std::int64_t part, std::int64_t whole) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  const std::string text = formatted(
      "upper bounds on the scores ruled out %.1f %% of the cells in whole blocks; %.2f %% were "
      "computed exactly, with %.1f %% of the multiply-adds of all cells",
      percent(sums[1], sums[0]), percent(sums[2], sums[0]),
      sums[4] > 0 ? percent(sums[3], sums[4]) : 100.0);
  session_.context.log.detail("bounds", text,
                              {{"cells", sums[0]}, {"skipped", sums[1]}, {"exact", sums[2]}});
}

PairText PairsRun::text_of_result() const {
  const bool trec = file_form(session_.config.output) == FileForm::kTrec;
  return {trec ? PairText::Format::kTrec : PairText::Format::kTsv, session_.config.run_tag,
          session_.config.replace_blanks, plan().filter->keep == Keep::kBest};
}

/// Ids that a TREC run cannot hold are refused before anything is computed.
void PairsRun::check_ids() const {
  const PairText text = text_of_result();
  if (text.format != PairText::Format::kTrec || session_.comm().rank() != 0) return;
  const PairTextWriter writer(text, reread_result_ids(session_), [](std::string_view) {});
}

std::string PairsRun::publish_as_rank_0() {
  RunDirectory& directory = *session_.directory;
  FileCalls& calls = session_.context.calls;
  if (work_.finalized) {
    const std::string path = directory.staging() + "/similarity.h5";
    session_.report.output_bytes = File::open(calls, path, O_RDONLY | O_NOFOLLOW).size();
    return directory.publish_finalized(session_.still_ours());
  }
  const PairSegments segments = read_segments();
  const auto row_offsets = PairMerge(segments, plan().grid, *plan().filter).row_offsets();
  session_.report.output_bytes = checked_size(row_offsets);
  check_guard_of_inputs(session_.config, plan(), session_.setup.counts().zero_rows, directory,
                        calls);
  std::string result = merge(segments, row_offsets);
  if (directory.form() == OutputForm::kSingleFile) {
    session_.report.output_bytes = File::open(calls, result, O_RDONLY).size();
  }
  session_.context.log.info("pairs", std::to_string(row_offsets.back()) + " pairs",
                            {{"pairs", row_offsets.back()}});
  return result;
}

PairSegments PairsRun::read_segments() {
  FileCalls& calls = session_.context.calls;
  PairSegments segments(calls, pair_segment_files(calls, pair_segments_folder(*session_.directory)),
                        plan().id(), plan().grid);
  for (const std::int64_t tile : work_.to_do) {
    if (segments.has(tile)) continue;
    throw Error(ExitCode::kDataError, "the pairs of tile " + std::to_string(tile) +
                                          " differ from what was written: this storage loses data; "
                                          "run the same command to compute them again");
  }
  return segments;
}

/// Bytes of the result, at least.
std::int64_t PairsRun::checked_size(const std::vector<std::int64_t>& row_offsets) const {
  const std::int64_t bytes = pair_result_size(plan(), row_offsets, form()).least;
  if (bytes > limit_) throw too_large(row_offsets.back(), bytes_text(bytes) + ", and");
  return bytes;
}

/// Publishes the merged pairs; ends before more is written than allowed, or after a stop request.
std::string PairsRun::merge(const PairSegments& segments,
                            const std::vector<std::int64_t>& row_offsets) {
  const std::int64_t bytes = pair_result_size(plan(), row_offsets, form()).most;
  Progress progress(session_.context.log, bytes, bytes, "merging  ");
  const auto calls = metered_calls(session_.context.calls, [&](PendingWrite write) {
    session_.context.stop.check();
    if (write.end() > limit_) {
      throw too_large(row_offsets.back(), "more space:");
    }
    progress.add(write.bytes);
  });
  return publish_pairs(*session_.directory,
                       {plan(), segments, row_offsets, [&] { return reread_result_ids(session_); },
                        [&] { return session_.report.to_json(session_.timer); },
                        session_.still_ours(), text_of_result()},
                       *calls, session_.context.log);
}

}  // namespace

std::string run_pairs(const JobConfig& config, const SeedStaging& seed, JobContext context) {
  RunSession session(config, context);
  PairsRun run(seed, session);
  return run_with_metrics(session, [&] { return run.run(); });
}

}  // namespace bulksim
