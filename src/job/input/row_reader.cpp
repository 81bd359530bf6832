#include "job/input/row_reader.hpp"

#include <algorithm>
#include <string>

#include "bulksim/core/error.hpp"

namespace bulksim {

QuantizedRows RowReader::read(RowRange range) {
  QuantizedRows out;
  const auto nnz = static_cast<std::size_t>(survey_.nnz_of(range));
  out.row_offsets.reserve(static_cast<std::size_t>(range.size()) + 1);
  out.col_indices.reserve(nnz);
  out.values.reserve(nnz);
  for (RowRange piece{range.begin, 0}; piece.begin < range.end; piece.begin = piece.end) {
    piece.end = std::min((piece.begin / kRowsAtOnce + 1) * kRowsAtOnce, range.end);
    append(piece, out);
  }
  out.columns = columns_;
  return out;
}

void RowReader::append(RowRange range, QuantizedRows& out) {
  // whole frames, so that each can be compared with its digest
  const RowRange frames{range.begin / kFrameRows * kFrameRows,
                        std::min(divide_up(range.end, kFrameRows) * kFrameRows, survey_.rows)};
  source_.read(frames, rows_);
  if (!survey_.counts.all_canonical()) {
    canonicalize(rows_, Irregular::kAccept, source_.info().path, frames.begin);
  }
  for (std::int64_t begin = frames.begin; begin < frames.end; begin += kFrameRows) {
    const std::int64_t end = std::min(begin + kFrameRows, frames.end);
    const CsrView frame = rows_.view().slice({begin - frames.begin, end - frames.begin});
    if (frame_digest(frame) !=
        survey_.frames[static_cast<std::size_t>(begin / kFrameRows)].digest) {
      throw Error(ExitCode::kTemporary, "'" + source_.info().path +
                                            "' has changed since the run began (rows " +
                                            std::to_string(begin) + " to " + std::to_string(end) +
                                            "); nothing was published, run the same command again");
    }
  }
  append_quantized_rows(rows_.view().slice({range.begin - frames.begin, range.end - frames.begin}),
                        arithmetic_, out);
}

}  // namespace bulksim
