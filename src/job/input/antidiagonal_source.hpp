#pragma once

#include <cstdint>
#include <memory>

#include "bulksim/formats/matrix_source.hpp"
#include "sparse/antidiagonal.hpp"

namespace bulksim {

/// The groups of rows of a matrix, each as one row; `columns` is the dimension of its rows.
/// `source` must outlive it.
std::unique_ptr<MatrixSource> grouped(const MatrixSource& source, std::int64_t columns,
                                      std::int64_t stride, GroupOrder order);

}  // namespace bulksim
