#include "job/input/antidiagonal_source.hpp"

#include <algorithm>

#include "bulksim/core/types.hpp"

namespace bulksim {

namespace {

class GroupedSource final : public MatrixSource {
 public:
  GroupedSource(const MatrixSource& source, std::int64_t columns, std::int64_t stride,
                GroupOrder order)
      : source_(source), columns_(columns), stride_(stride), order_(order) {
    info_.path = source.info().path;
    info_.format = source.info().format;
    info_.rows = divide_up(source.info().rows, stride);
    info_.columns = stride * columns;
    info_.nnz = source.info().nnz;
  }

  const MatrixInfo& info() const override { return info_; }
  std::int64_t entries_of(RowRange range) const override {
    return source_.entries_of(rows_of(range));
  }
  void read(RowRange range, CsrMatrix& out) const override {
    const RowRange rows = rows_of(range);
    CsrMatrix matrix;
    source_.read(rows, matrix);
    canonicalize(matrix, Irregular::kAccept, source_.info().path, rows.begin);
    matrix.columns = columns_;
    out = group_rows(matrix.view(), stride_, order_);
  }
  const RowSurvey* survey() const override { return nullptr; }
  StringTable ids() const override { return {}; }
  StringTable terms() const override { return {}; }

 private:
  RowRange rows_of(RowRange groups) const {
    return {groups.begin * stride_, std::min(groups.end * stride_, source_.info().rows)};
  }

  const MatrixSource& source_;
  std::int64_t columns_;
  std::int64_t stride_;
  GroupOrder order_;
  MatrixInfo info_;
};

}  // namespace

std::unique_ptr<MatrixSource> grouped(const MatrixSource& source, std::int64_t columns,
                                      std::int64_t stride, GroupOrder order) {
  return std::make_unique<GroupedSource>(source, columns, stride, order);
}

}  // namespace bulksim
