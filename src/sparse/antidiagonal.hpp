#pragma once

#include <cstdint>

#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

/// Order of the rows of a group.
enum class GroupOrder { kForward, kReversed };

/// Concatenates groups of `stride` adjacent canonical rows, each scaled to unit norm, into one row
/// per group:
///
///   items, forward      | i0 | i1 | .. | i7 |   columns of position k: k * columns + c
///   queries, reversed   | q7 | q6 | .. | q0 |
///
/// The product of two groups is the sum over the antidiagonal of their stride x stride block, and
/// their cosine is its mean when no row is empty: an estimate from 1/stride of the products and
/// 1/stride^2 of the cells. The first row begins a group; the last group is padded with empty rows.
CsrMatrix group_rows(CsrView canonical, std::int64_t stride, GroupOrder order);

}  // namespace bulksim
