#include "job/input/import_matrix.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/run/phase_timer.hpp"
#include "core/text/format_text.hpp"
#include "formats/text_lines.hpp"
#include "job/input/row_ids.hpp"

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

JsonlOptions jsonl_options(FileCalls& calls, const ImportOptions& options) {
  JsonlOptions jsonl;
  jsonl.keys = options.keys;
  jsonl.ids = options.ids.empty() ? JsonlIds::kRead : JsonlIds::kIgnore;
  if (!options.vocabulary.empty() && options.keys == VectorKeys::kTerms) {
    jsonl.vocabulary = read_lines(calls, options.vocabulary);
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
  facts.terms = read_lines(calls, options.vocabulary);
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

}  // namespace bulksim
