#include "job/input/import_matrix.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/files/stoppable_calls.hpp"
#include "core/run/memory.hpp"
#include "core/run/phase_timer.hpp"
#include "core/run/stop_request.hpp"
#include "core/text/format_text.hpp"
#include "formats/format_table.hpp"
#include "formats/shared/input_files.hpp"
#include "formats/shared/text_lines.hpp"
#include "job/input/row_ids.hpp"

namespace bulksim {

namespace {

constexpr double kSecondsBetweenLines = 10.0;

/// Logs the progress now and then while rows are read.
class ImportProgress {
 public:
  ImportProgress(Log& log, const std::string& path) : log_(log), path_(path) {}

  void show(std::int64_t rows, double fraction) {
    const double now = watch_.seconds();
    if (now - shown_ < (log_.is_terminal() ? 0.5 : kSecondsBetweenLines)) return;
    shown_ = now;
    const std::string done = formatted("%5.1f %%, %ld rows", 100 * fraction, rows);
    log_.progress("importing '" + path_ + "': " + done, {{"fraction", fraction}, {"rows", rows}});
  }

 private:
  Log& log_;
  const std::string& path_;
  Stopwatch watch_;
  double shown_ = 0.0;
};

/// Names files of a folder that are not read: their rows may be missed.
void warn_of_other_files(FileCalls& calls, const std::string& folder, Log& log) {
  const InputFormat& format = format_of(calls, folder);
  std::vector<std::string> names = visible_names(calls, folder);
  std::erase_if(names, [&](const std::string& name) { return has_suffix(name, format.suffixes); });
  if (names.empty()) return;
  std::string text = "'" + names.front() + "'";
  if (names.size() > 1) text += " and " + std::to_string(names.size() - 1) + " more";
  log.warning("not_read", "the folder '" + folder + "' also contains " + text +
                              ": only files whose names end in " + format.suffix_text() +
                              " are read");
}

RowStreamOptions stream_options(FileCalls& calls, const ImportOptions& options) {
  RowStreamOptions stream;
  stream.keys = options.keys;
  stream.ids = options.ids.empty() ? RowIds::kRead : RowIds::kIgnore;
  stream.most_entries = options.memory.value_or(memory_share()) / kBytesOfAnEntry;
  if (!options.vocabulary.empty() && options.keys == VectorKeys::kTerms) {
    stream.vocabulary = read_lines(calls, options.vocabulary);
    stream.vocabulary_path = options.vocabulary;
  }
  return stream;
}

/// The ids of rows and the terms of columns, from the options or from the source.
StoreInfo info_of(FileCalls& calls, const ImportOptions& options, const RowStream& rows) {
  const MatrixInfo& info = rows.info();
  StoreInfo store_info;
  store_info.columns = info.columns;
  store_info.ends_with_last_column = info.ends_with_last_column;
  store_info.ids = options.ids.empty() ? rows.ids() : read_ids(calls, options.ids, info);
  if (options.vocabulary.empty() || info.vocabulary) {
    store_info.terms = rows.terms();
    return store_info;
  }
  store_info.terms = read_lines(calls, options.vocabulary);
  if (info.ends_with_last_column && store_info.terms.size() > store_info.columns) {
    store_info.columns = store_info.terms.size();
  }
  store_info.ends_with_last_column = false;
  expect_count(store_info.terms, options.vocabulary, store_info.columns,
               "columns in '" + info.path + "'");
  return store_info;
}

}  // namespace

std::string importable_suffixes() {
  return known_suffixes();
}

ImportReport import_matrix(FileCalls& calls, const std::string& source, const std::string& store,
                           const ImportOptions& options, Log& log) {
  const Stopwatch watch;
  ImportProgress progress(log, source);
  StoppableCalls inputs(calls, options.stop);
  const auto stream = open_rows(inputs, source, stream_options(inputs, options));
  if (leads_to_directory(calls, source)) warn_of_other_files(calls, source, log);
  make_directories(calls, parent_of(store));
  StoreWriter writer(calls, store);
  ImportReport report;
  for (CsrMatrix rows; stream->next(rows);) {
    options.stop.check();
    report.counts += canonicalize(rows, options.irregular, source, writer.rows());
    report.longest_row = std::max(report.longest_row, longest_row(rows.view()));
    writer.append(rows.view());
    progress.show(writer.rows(), stream->progress());
  }
  StoreInfo store_info = info_of(inputs, options, *stream);
  store_info.counts = report.counts;
  report.sizes = writer.finish(store_info);
  report.source = stream->info();
  report.source.columns = store_info.columns;
  report.nnz = writer.nnz();
  report.seconds = watch.seconds();
  return report;
}

}  // namespace bulksim
