#include "job/input/guarded_source.hpp"

#include <utility>

#include "core/files/failpoint.hpp"
#include "formats/shared/row_stream.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kEntryBytes = sizeof(Column) + sizeof(double);

class GuardedSource final : public MatrixSource {
 public:
  GuardedSource(std::unique_ptr<MatrixSource> source, const StopRequest& stop, std::int64_t memory)
      : source_(std::move(source)), stop_(stop), most_entries_(memory / kEntryBytes) {}

  const MatrixInfo& info() const override { return source_->info(); }
  std::int64_t entries_of(RowRange range) const override { return source_->entries_of(range); }
  void read(RowRange range, CsrMatrix& out) const override {
    stop_.check();
    pass_failpoint("input.read");
    expect_to_fit(info().path, range, entries_of(range), most_entries_);
    source_->read(range, out);
  }
  const RowSurvey* survey() const override { return source_->survey(); }
  StringTable ids() const override { return source_->ids(); }
  StringTable terms() const override { return source_->terms(); }

 private:
  std::unique_ptr<MatrixSource> source_;
  const StopRequest& stop_;
  std::int64_t most_entries_;
};

}  // namespace

std::unique_ptr<MatrixSource> guarded(std::unique_ptr<MatrixSource> source, const StopRequest& stop,
                                      std::int64_t memory) {
  return std::make_unique<GuardedSource>(std::move(source), stop, memory);
}

}  // namespace bulksim
