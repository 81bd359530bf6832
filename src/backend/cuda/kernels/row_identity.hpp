#pragma once

#include <cstdint>

#include "backend/cuda/kernels/layout.hpp"
#include "backend/cuda/kernels/scores.hpp"
#include "cuda/buffer.hpp"

namespace bulksim::cuda {

/// The reference side of the row identity sum_i A(q,i) = Q . sum_i I, computed from the item rows
/// instead of their inverted blocks.
///
/// Adds the entries [first_entry, end_entry) of `rows` to sums[(block - first_block) * labels +
/// label] modulo 2^64; `sums` is cleared first.
void launch_column_sums(const ItemRows& rows, const BlockGrid& grid, std::int64_t first_entry,
                        std::int64_t end_entry, std::int64_t first_block, std::int64_t blocks,
                        std::uint32_t labels, unsigned long long* sums, const Stream& stream);

/// Compares the row sums of a group with `column_sums` of its blocks; mismatches[tile] counts the
/// rows that differ. It is cleared first.
void launch_row_check(const QueryRows& queries, const TileGroup& group,
                      const unsigned long long* column_sums, unsigned* mismatches,
                      const Stream& stream);

}  // namespace bulksim::cuda
