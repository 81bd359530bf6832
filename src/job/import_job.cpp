#include "bulksim/job/import_job.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "bulksim/core/error.hpp"
#include "bulksim/core/phase_timer.hpp"
#include "bulksim/formats/names.hpp"
#include "job/formatted.hpp"

namespace bulksim {

namespace {

constexpr double kSecondsBetweenLines = 10.0;

/// A line now and then while rows go by.
class ImportProgress {
 public:
  ImportProgress(Log& log, const std::string& path) : log_(log), path_(path) {}

  void show(std::int64_t rows, double fraction) {
    const double now = watch_.seconds();
    if (now - shown_ < (log_.is_terminal() ? 0.5 : kSecondsBetweenLines)) return;
    shown_ = now;
    const std::string done =
        formatted("%5.1f %%, %lld rows", 100 * fraction, static_cast<long long>(rows));
    log_.progress("importing '" + path_ + "': " + done, {{"fraction", fraction}, {"rows", rows}});
  }

 private:
  Log& log_;
  const std::string& path_;
  Stopwatch watch_;
  double shown_ = 0.0;
};

void expect_count(const TextList& names, const std::string& path, std::int64_t count,
                  const std::string& of_what) {
  if (names.size() == count) return;
  throw Error(ExitCode::kDataError, "'" + path + "' has " + std::to_string(names.size()) +
                                        " lines, but there are " + std::to_string(count) + " " +
                                        of_what);
}

TextList read_ids(FileCalls& calls, const std::string& path, const MatrixInfo& info) {
  TextList ids = read_names(calls, path);
  expect_count(ids, path, info.rows, "rows in '" + info.path + "'");
  return ids;
}

JsonlOptions jsonl_options(FileCalls& calls, const ImportOptions& options) {
  JsonlOptions jsonl;
  jsonl.keys = options.keys;
  jsonl.ids = options.ids.empty() ? JsonlIds::kRead : JsonlIds::kIgnore;
  if (!options.vocabulary.empty() && options.keys == VectorKeys::kTerms) {
    jsonl.vocabulary = read_names(calls, options.vocabulary);
    jsonl.vocabulary_path = options.vocabulary;
  }
  return jsonl;
}

/// The names of rows and columns, from the options or from the source.
StoreFacts facts_of(FileCalls& calls, const ImportOptions& options, const RowStream& rows) {
  const MatrixInfo& info = rows.info();
  StoreFacts facts;
  facts.columns = info.columns;
  facts.ends_with_last_column = info.ends_with_last_column;
  facts.ids = options.ids.empty() ? rows.ids() : read_ids(calls, options.ids, info);
  if (options.vocabulary.empty() || info.vocabulary) {
    facts.terms = rows.terms();
    return facts;
  }
  facts.terms = read_names(calls, options.vocabulary);
  if (info.ends_with_last_column && facts.terms.size() > facts.columns) {
    facts.columns = facts.terms.size();
  }
  facts.ends_with_last_column = false;
  expect_count(facts.terms, options.vocabulary, facts.columns, "columns in '" + info.path + "'");
  return facts;
}

}  // namespace

ImportReport import_matrix(FileCalls& calls, const std::string& source, const std::string& store,
                           const ImportOptions& options, Log& log) {
  const Stopwatch watch;
  ImportProgress progress(log, source);
  const auto stream = open_rows(calls, source, jsonl_options(calls, options));
  make_directories(calls, parent_of(store));
  StoreWriter writer(calls, store);
  ImportReport report;
  for (CsrMatrix rows; stream->next(rows);) {
    report.counts += canonicalize(rows, options.irregular, source, writer.rows());
    report.longest_row = std::max(report.longest_row, longest_row(rows.view()));
    writer.append(rows.view());
    progress.show(writer.rows(), stream->progress());
  }
  StoreFacts facts = facts_of(calls, options, *stream);
  facts.counts = report.counts;
  report.sizes = writer.finish(facts);
  report.source = stream->info();
  report.source.columns = facts.columns;
  report.nnz = writer.nnz();
  report.seconds = watch.seconds();
  return report;
}

std::unique_ptr<MatrixSource> open_input(FileCalls& calls, const std::string& prepared,
                                         const std::string& name, Irregular irregular) {
  auto source = format_of(calls, prepared) == MatrixFormat::kStore
                    ? open_block_sparse_store(calls, prepared, name)
                    : open_matrix(calls, prepared);
  if (irregular == Irregular::kAccept || source->survey() == nullptr) return source;
  HygieneCounts counts = source->survey()->counts;
  counts.zero_rows = 0;
  if (counts == HygieneCounts{}) return source;
  throw Error(ExitCode::kDataError,
              "'" + name + "' was imported from rows of which " +
                  std::to_string(counts.unsorted_rows) + " were not sorted, with " +
                  std::to_string(counts.duplicates) + " duplicates and " +
                  std::to_string(counts.explicit_zeros) + " zeros, and --strict refuses that");
}

TextList ids_of(FileCalls& calls, const MatrixSource& source, const std::string& path) {
  if (path.empty()) return source.ids();
  return read_ids(calls, path, source.info());
}

}  // namespace bulksim
