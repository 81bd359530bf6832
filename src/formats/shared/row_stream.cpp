#include "formats/shared/row_stream.hpp"

#include <algorithm>
#include <utility>

#include "bulksim/core/types.hpp"

namespace bulksim {

namespace {

class RangeStream final : public RowStream {
 public:
  explicit RangeStream(std::unique_ptr<MatrixSource> source)
      : source_(std::move(source)), ids_(source_->ids()), terms_(source_->terms()) {}

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
    source_->read(range, out);
    next_row_ = range.end;
    return true;
  }

 private:
  std::unique_ptr<MatrixSource> source_;
  StringTable ids_;
  StringTable terms_;
  std::int64_t next_row_ = 0;
};

}  // namespace

std::unique_ptr<RowStream> stream_of(std::unique_ptr<MatrixSource> source) {
  return std::make_unique<RangeStream>(std::move(source));
}

}  // namespace bulksim
