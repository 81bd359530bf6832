#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "job/plan/plan.hpp"
#include "storage/result/result_path.hpp"

namespace bulksim {

/// Bytes of a result with pairs, with its ids. Those of a text depend on its scores.
struct PairResultSize {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// The size of a result in the format `form`, or in a folder. `row_offsets` has queries + 1
/// entries.
PairResultSize pair_result_size(const Plan& plan, const std::vector<std::int64_t>& row_offsets,
                                std::optional<FileForm> form);

/// At least, in that format.
std::int64_t bytes_of_a_pair(const Plan& plan, std::optional<FileForm> form);

}  // namespace bulksim
