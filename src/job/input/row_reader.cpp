#include "job/input/row_reader.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bulksim/core/error.hpp"
#include "core/run/parallel.hpp"

namespace bulksim {

namespace {

/// The pieces that are read at once: they end at multiples of kRowsAtOnce.
RowRange piece_of(RowRange range, std::int64_t number) {
  const std::int64_t first = (range.begin / kRowsAtOnce + number) * kRowsAtOnce;
  return {std::max(range.begin, first), std::min(range.end, first + kRowsAtOnce)};
}

std::int64_t pieces_of(RowRange range) {
  if (range.empty()) return 0;
  return divide_up(range.end, kRowsAtOnce) - range.begin / kRowsAtOnce;
}

}  // namespace

QuantizedRows RowReader::read(RowRange range, int threads) {
  if (threads > 1 && pieces_of(range) > 1) return read_in_pieces(range, threads);
  QuantizedRows out;
  const std::size_t nnz = survey_.nnz_of(range);
  out.row_offsets.reserve(range.size() + 1);
  out.col_indices.reserve(nnz);
  out.values.reserve(nnz);
  out.scales.reserve(range.size());
  for (std::int64_t number = 0; number < pieces_of(range); ++number)
    append(piece_of(range, number), rows_, out);
  out.columns = columns_;
  return out;
}

/// Where a piece belongs is known when those before it are quantized: values that round to 0 are
/// dropped.
QuantizedRows RowReader::read_in_pieces(RowRange range, int threads) {
  const std::int64_t count = pieces_of(range);
  std::vector<QuantizedRows> pieces(count);
  run_in_parallel(count, threads, [&](std::int64_t number) {
    CsrMatrix rows;
    append(piece_of(range, number), rows, pieces[number]);
  });
  std::vector<std::int64_t> nnz(count + 1);
  for (std::int64_t number = 0; number < count; ++number)
    nnz[number + 1] = nnz[number] + pieces[number].nnz();
  QuantizedRows out;
  out.columns = columns_;
  out.row_offsets.resize(range.size() + 1);
  out.scales.resize(range.size());
  out.col_indices.resize(nnz[count]);
  out.values.resize(nnz[count]);
  run_in_parallel(count, threads, [&](std::int64_t number) {
    const QuantizedRows piece = std::move(pieces[number]);  // freed as soon as it is copied
    const std::int64_t row = piece_of(range, number).begin - range.begin;
    std::ranges::copy(piece.scales, out.scales.begin() + row);
    std::ranges::copy(piece.col_indices, out.col_indices.begin() + nnz[number]);
    std::ranges::copy(piece.values, out.values.begin() + nnz[number]);
    for (std::int64_t at = 1; at <= piece.rows(); ++at)
      out.row_offsets[row + at] = nnz[number] + piece.row_offsets[at];
  });
  return out;
}

void RowReader::append(RowRange range, CsrMatrix& rows, QuantizedRows& out) {
  // whole row blocks, so that each can be checked against its digest
  const RowRange row_blocks{
      range.begin / kRowBlockRows * kRowBlockRows,
      std::min(divide_up(range.end, kRowBlockRows) * kRowBlockRows, survey_.rows)};
  {
    const std::lock_guard lock(source_mutex_);
    source_.read(row_blocks, rows);
  }
  if (!survey_.counts.all_canonical()) {
    canonicalize(rows, Irregular::kAccept, source_.info().path, row_blocks.begin);
  }
  for (std::int64_t begin = row_blocks.begin; begin < row_blocks.end; begin += kRowBlockRows) {
    const std::int64_t end = std::min(begin + kRowBlockRows, row_blocks.end);
    const CsrView row_block = rows.view().slice({begin - row_blocks.begin, end - row_blocks.begin});
    if (row_block_digest(row_block) != survey_.row_blocks[begin / kRowBlockRows].digest) {
      throw Error(ExitCode::kTemporary, "'" + source_.info().path +
                                            "' has changed since the run began (rows " +
                                            std::to_string(begin) + " to " + std::to_string(end) +
                                            "); nothing was published, run the same command again");
    }
  }
  append_quantized_rows(
      rows.view().slice({range.begin - row_blocks.begin, range.end - row_blocks.begin}),
      arithmetic_, out);
}

}  // namespace bulksim
