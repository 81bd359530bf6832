#pragma once

#include <cstdint>

#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

/// Order of the rows of a group.
enum class GroupOrder { kForward, kReversed };

/// Takes canonical rows in groups of `stride` neighbours, each row scaled to unit length and put
/// beside the others:
///
///   items, forward      | i0 | i1 | .. | i7 |   columns of position k: k * columns + c
///   queries, reversed   | q7 | q6 | .. | q0 |
///
/// The product of two groups is then the sum along the antidiagonal of their stride x stride block,
/// and its cosine, with all rows there, their mean: an estimate from 1/stride of the products and
/// 1/stride^2 of the cells. The first row begins a group; rows that are missing at the end are
/// empty.
CsrMatrix group_rows(CsrView canonical, std::int64_t stride, GroupOrder order);

}  // namespace bulksim
