#include "job/input/stoppable_source.hpp"

#include <utility>

#include "core/files/failpoint.hpp"

namespace bulksim {

namespace {

class StoppableSource final : public MatrixSource {
 public:
  StoppableSource(std::unique_ptr<MatrixSource> source, const StopRequest& stop)
      : source_(std::move(source)), stop_(stop) {}

  const MatrixInfo& info() const override { return source_->info(); }
  void read(RowRange range, CsrMatrix& out) const override {
    stop_.check();
    pass_failpoint("input.read");
    source_->read(range, out);
  }
  const RowSurvey* survey() const override { return source_->survey(); }
  StringTable ids() const override { return source_->ids(); }
  StringTable terms() const override { return source_->terms(); }

 private:
  std::unique_ptr<MatrixSource> source_;
  const StopRequest& stop_;
};

}  // namespace

std::unique_ptr<MatrixSource> stoppable(std::unique_ptr<MatrixSource> source,
                                        const StopRequest& stop) {
  return std::make_unique<StoppableSource>(std::move(source), stop);
}

}  // namespace bulksim
