#include "formats/shared/row_stream.hpp"

#include <algorithm>
#include <utility>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

class RangeStream final : public RowStream {
 public:
  RangeStream(std::unique_ptr<MatrixSource> source, std::int64_t most_entries)
      : source_(std::move(source)),
        most_entries_(most_entries),
        ids_(source_->ids()),
        terms_(source_->terms()) {}

  const MatrixInfo& info() const override { return source_->info(); }
  const StringTable& ids() const override { return ids_; }
  const StringTable& terms() const override { return terms_; }
  double progress() const override {
    return info().rows == 0 ? 1.0
                            : static_cast<double>(next_row_) / static_cast<double>(info().rows);
  }

  bool next(CsrMatrix& out) override {
    const RowRange range{next_row_, std::min(next_row_ + kRowBlockRows, info().rows)};
    if (range.empty()) return false;
    expect_to_fit(info().path, range, source_->entries_of(range), most_entries_);
    source_->read(range, out);
    next_row_ = range.end;
    return true;
  }

 private:
  std::unique_ptr<MatrixSource> source_;
  std::int64_t most_entries_;
  StringTable ids_;
  StringTable terms_;
  std::int64_t next_row_ = 0;
};

}  // namespace

void expect_to_fit(const std::string& path, RowRange rows, std::int64_t entries,
                   std::int64_t most) {
  if (entries <= most) return;
  throw Error(ExitCode::kMemory,
              "'" + path + "', rows " + std::to_string(rows.begin) + " to " +
                  std::to_string(rows.end - 1) + ": they have " + std::to_string(entries) +
                  " entries, but memory suffices for " + std::to_string(most) + " at once");
}

std::unique_ptr<RowStream> stream_of(std::unique_ptr<MatrixSource> source,
                                     std::int64_t most_entries) {
  return std::make_unique<RangeStream>(std::move(source), most_entries);
}

}  // namespace bulksim
