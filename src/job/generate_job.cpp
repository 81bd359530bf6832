#include "job/generate_job.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "formats/spmat/spmat.hpp"
#include "sparse/synthetic_corpus.hpp"

namespace bulksim {

namespace {

/// Rows that are generated and written together: about 20 MB of the longest preset.
constexpr std::int64_t kRowsAtOnce = 16384;

struct Side {
  CorpusSide side;
  std::int64_t rows;
  std::string path;
};

void write_side(const SyntheticCorpus& corpus, const Side& side, FileCalls& calls, Log& log) {
  std::vector<std::int64_t> offsets = corpus.row_offsets(side.side, side.rows);
  const std::int64_t nnz = offsets.back();
  SpmatWriter writer(calls, side.path, corpus.preset().columns, std::move(offsets));
  CsrMatrix rows;
  for (std::int64_t row = 0; row < side.rows; row += kRowsAtOnce) {
    const RowRange range{row, std::min(row + kRowsAtOnce, side.rows)};
    corpus.generate(side.side, range, rows);
    writer.append(rows.view());
    if (log.is_terminal()) {
      log.progress("'" + side.path + "': " + std::to_string(100 * range.end / side.rows) + " %");
    }
  }
  writer.finish();
  log.info("generated",
           "wrote '" + side.path + "': " + std::to_string(side.rows) + " rows, " +
               std::to_string(corpus.preset().columns) + " columns, " + std::to_string(nnz) +
               " nonzeros",
           {{"path", side.path}, {"rows", side.rows}, {"nnz", nnz}});
}

}  // namespace

void generate(const GenerateOptions& options, FileCalls& calls, Log& log) {
  if (options.items < 0 || options.queries < 0) {
    throw Error(ExitCode::kUsage, "a corpus cannot have a negative number of rows");
  }
  const SyntheticCorpus corpus(find_corpus_preset(options.preset), options.seed);
  write_side(corpus, {CorpusSide::kItems, options.items, options.prefix + "_items.csr"}, calls,
             log);
  write_side(corpus, {CorpusSide::kQueries, options.queries, options.prefix + "_queries.csr"},
             calls, log);
}

}  // namespace bulksim
