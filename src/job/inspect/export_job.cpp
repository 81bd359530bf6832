#include "job/inspect/export_job.hpp"

#include <algorithm>
#include <memory>
#include <ostream>
#include <span>
#include <string_view>
#include <vector>

#include "bulksim/core/error.hpp"
#include "core/files/staged_file.hpp"
#include "formats/npz/npz_writer.hpp"
#include "job/publish/pair_publication.hpp"
#include "job/publish/pair_text.hpp"
#include "storage/result/archive_comment.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/similarity_file.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kCellsAtOnce = std::int64_t{4} << 20;

/// A result as rows of pairs, for any kind of result.
class ResultRows {
 public:
  ResultRows(FileCalls& calls, const ExportOptions& options) : options_(options) {
    pairs_ = PairFileReader::open(calls, options.result);
    if (!pairs_) {
      matrix_ = std::make_unique<SimilarityReader>(SimilarityReader::open(calls, options.result));
    }
  }

  MatrixShape shape() const { return pairs_ ? pairs_->shape() : matrix_->grid().shape(); }
  const SimilarityReader* matrix() const { return matrix_.get(); }
  bool are_lists() const { return pairs_ && pairs_->layout() == PairLayout::kLists; }
  const FileAttributes& attributes() const {
    return pairs_ ? pairs_->attributes() : matrix_->attributes();
  }
  ResultIds ids() const {
    if (pairs_) return pairs_->ids();
    return {matrix_->query_ids({0, shape().queries}), matrix_->item_ids({0, shape().items})};
  }

  /// Every row in the requested order, with at most `limit` pairs.
  void for_each(ExportOrder order, const TakeRow& take) const {
    if (!pairs_) return for_each_of_matrix(order, take);
    pairs_->for_each_row([&](std::int64_t query, std::span<const std::int64_t> items,
                             std::span<const float> scores) {
      std::vector<Pair> row;
      for (std::size_t at = 0; at < items.size(); ++at) {
        if (items[at] >= 0) row.push_back({items[at], scores[at]});
      }
      give(query, row, order, take);
    });
  }

 private:
  void for_each_of_matrix(ExportOrder order, const TakeRow& take) const {
    const std::int64_t rows =
        std::max<std::int64_t>(kCellsAtOnce / std::max<std::int64_t>(shape().items, 1), 1);
    for (RowRange band{0, 0}; band.begin < shape().queries; band.begin = band.end) {
      band.end = std::min(band.begin + rows, shape().queries);
      take_cells(band, order, take);
    }
  }

  /// Zeros and NaN are not pairs.
  void take_cells(RowRange band, ExportOrder order, const TakeRow& take) const {
    const auto cells = matrix_->read(band, {0, shape().items});
    std::size_t at = 0;
    for (std::int64_t query = band.begin; query < band.end; ++query) {
      std::vector<Pair> row;
      for (std::int64_t item = 0; item < shape().items; ++item, ++at) {
        if (cells[at] < 0.0f || cells[at] > 0.0f) row.push_back({item, cells[at]});
      }
      give(query, row, order, take);
    }
  }

  struct Pair {
    std::int64_t item;
    float score;
  };

  void give(std::int64_t query, std::vector<Pair>& row, ExportOrder order,
            const TakeRow& take) const {
    const auto best_first = [](const Pair& a, const Pair& b) {
      return a.score > b.score || (a.score == b.score && a.item < b.item);
    };
    if (options_.limit > 0 && std::ssize(row) > options_.limit) {
      std::nth_element(row.begin(), row.begin() + options_.limit, row.end(), best_first);
      row.resize(options_.limit);
    }
    if (order == ExportOrder::kScore) {
      std::ranges::sort(row, best_first);
    } else {
      std::ranges::sort(row, {}, &Pair::item);
    }
    std::vector<std::int64_t> items;
    std::vector<float> scores;
    for (const Pair& pair : row) {
      items.push_back(pair.item);
      scores.push_back(pair.score);
    }
    take(query, items, scores);
  }

  const ExportOptions& options_;
  std::unique_ptr<PairFileReader> pairs_;
  std::unique_ptr<SimilarityReader> matrix_;
};

/// Attributes of an archive: those of the result, but not its plan, whose result this is not, nor a
/// filter that --limit has made narrower.
FileAttributes attributes_of_archive(const ResultRows& rows, const ExportOptions& options) {
  FileAttributes attributes;
  for (const auto& attribute : rows.attributes()) {
    const std::string& name = attribute.first;
    if (name != "plan" && (name != "partners" || options.limit == 0))
      attributes.push_back(attribute);
  }
  return attributes;
}

void write_npz(const File& file, const ExportOptions& options, const ResultRows& rows) {
  std::vector<std::int64_t> offsets{0};
  rows.for_each(ExportOrder::kItem,
                [&](std::int64_t, std::span<const std::int64_t> items, std::span<const float>) {
                  offsets.push_back(offsets.back() + std::ssize(items));
                });
  NpzWriter writer(file, rows.shape().items, offsets,
                   archive_comment(attributes_of_archive(rows, options)));
  rows.for_each(ExportOrder::kItem,
                [&](std::int64_t, std::span<const std::int64_t> items,
                    std::span<const float> scores) { writer.append_row(items, scores); });
  writer.finish();
}

void make_text(const ExportOptions& options, const ResultRows& rows,
               const PairTextWriter::TakeLine& take) {
  const bool by_score = options.order == ExportOrder::kScore || options.format == FileForm::kTrec ||
                        (options.order == ExportOrder::kAuto && rows.are_lists());
  PairTextWriter writer({options.format, options.run_tag, options.replace_blanks, rows.are_lists()},
                        rows.ids(), take);
  rows.for_each(by_score ? ExportOrder::kScore : ExportOrder::kItem,
                [&](std::int64_t query, std::span<const std::int64_t> items,
                    std::span<const float> scores) { writer.append_row(query, items, scores); });
}

void stream_text(std::ostream& stream, const ExportOptions& options, const ResultRows& rows) {
  if (!is_text(options.format)) {
    throw Error(ExitCode::kUsage,
                "npz and npy cannot be written to the standard output: give a file name, or use "
                "--format tsv or trec");
  }
  const auto check = [&] {
    if (!stream) throw Error(ExitCode::kIoError, "cannot write to the standard output");
  };
  make_text(options, rows, [&](std::string_view line) {
    stream << line;
    check();
  });
  stream.flush();
  check();
}

void write_npy(FileAppender& out, const ResultRows& rows) {
  const MatrixShape shape = rows.shape();
  out.append(npy_head("<f4", std::to_string(shape.queries) + ", " + std::to_string(shape.items)));
  const std::int64_t step =
      std::max<std::int64_t>(kCellsAtOnce / std::max<std::int64_t>(shape.items, 1), 1);
  for (std::int64_t row = 0; row < shape.queries; row += step) {
    const auto cells =
        rows.matrix()->read({row, std::min(row + step, shape.queries)}, {0, shape.items});
    out.append(bytes_of(cells));
  }
}

}  // namespace

void export_result(FileCalls& calls, const ExportOptions& options, std::ostream& stream, Log& log) {
  const ResultRows rows(calls, options);
  if (options.format == FileForm::kNpy && rows.matrix() == nullptr) {
    throw Error(
        ExitCode::kUsage,
        "npy applies only to a full matrix, and this result contains pairs: use npz, tsv or "
        "trec");
  }
  if (options.output == "-") return stream_text(stream, options, rows);
  require_replaceable(calls, options.output, options.overwrite);
  if (options.format == FileForm::kNpz) {
    StagedFile staged(calls, options.output);
    write_npz(staged.file(), options, rows);
    return staged.publish();
  }
  const Digest digest = write_file(calls, options.output, [&](FileAppender& out) {
    if (options.format == FileForm::kNpy) {
      write_npy(out, rows);
    } else {
      make_text(options, rows, [&](std::string_view line) { out.append(line); });
    }
  });
  log_digest(options.output, digest, log);
}

}  // namespace bulksim
