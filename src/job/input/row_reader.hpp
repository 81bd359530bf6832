#pragma once

#include <cstdint>
#include <mutex>

#include "bulksim/core/types.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/sparse/csr_matrix.hpp"
#include "bulksim/sparse/quantized_rows.hpp"
#include "job/input/survey.hpp"

namespace bulksim {

/// Rows read at once: bounds the memory of a reader for any range, and keeps the rows in the L2
/// cache from one step of reading to the next.
inline constexpr std::int64_t kRowsAtOnce = 2 * kRowBlockRows;

/// Reads rows of an input in the form that the kernels need, and detects when the input has changed
/// since it was surveyed.
class RowReader {
 public:
  /// `source` and `survey` must outlive the reader.
  RowReader(const MatrixSource& source, const InputSurvey& survey, std::int64_t columns,
            FixedPoint arithmetic)
      : source_(source), survey_(survey), columns_(columns), arithmetic_(arithmetic) {}

  /// Rows of a range, canonical and quantized; `threads` of them check and quantize. Throws Error
  /// (75) when a row block has changed since it was surveyed.
  QuantizedRows read(RowRange range, int threads = 1);

 private:
  void append(RowRange range, CsrMatrix& rows, QuantizedRows& out);
  QuantizedRows read_in_pieces(RowRange range, int threads);

  const MatrixSource& source_;
  const InputSurvey& survey_;
  std::int64_t columns_;
  FixedPoint arithmetic_;
  CsrMatrix rows_;           // of the calling thread
  std::mutex source_mutex_;  // sources are read by one thread at a time
};

}  // namespace bulksim
