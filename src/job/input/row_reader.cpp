#include "job/input/row_reader.hpp"

#include <algorithm>
#include <string>

#include "bulksim/core/error.hpp"

namespace bulksim {

QuantizedRows RowReader::read(RowRange range) {
  QuantizedRows out;
  const std::size_t nnz = survey_.nnz_of(range);
  out.row_offsets.reserve(range.size() + 1);
  out.col_indices.reserve(nnz);
  out.values.reserve(nnz);
  out.scales.reserve(range.size());
  for (RowRange piece{range.begin, 0}; piece.begin < range.end; piece.begin = piece.end) {
    piece.end = std::min((piece.begin / kRowsAtOnce + 1) * kRowsAtOnce, range.end);
    append(piece, out);
  }
  out.columns = columns_;
  return out;
}

void RowReader::append(RowRange range, QuantizedRows& out) {
  // whole row blocks, so that each can be checked against its digest
  const RowRange row_blocks{
      range.begin / kRowBlockRows * kRowBlockRows,
      std::min(divide_up(range.end, kRowBlockRows) * kRowBlockRows, survey_.rows)};
  source_.read(row_blocks, rows_);
  if (!survey_.counts.all_canonical()) {
    canonicalize(rows_, Irregular::kAccept, source_.info().path, row_blocks.begin);
  }
  for (std::int64_t begin = row_blocks.begin; begin < row_blocks.end; begin += kRowBlockRows) {
    const std::int64_t end = std::min(begin + kRowBlockRows, row_blocks.end);
    const CsrView row_block =
        rows_.view().slice({begin - row_blocks.begin, end - row_blocks.begin});
    if (row_block_digest(row_block) != survey_.row_blocks[begin / kRowBlockRows].digest) {
      throw Error(ExitCode::kTemporary, "'" + source_.info().path +
                                            "' has changed since the run began (rows " +
                                            std::to_string(begin) + " to " + std::to_string(end) +
                                            "); nothing was published, run the same command again");
    }
  }
  append_quantized_rows(
      rows_.view().slice({range.begin - row_blocks.begin, range.end - row_blocks.begin}),
      arithmetic_, out);
}

}  // namespace bulksim
