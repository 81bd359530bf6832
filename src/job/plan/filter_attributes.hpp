#pragma once

#include <optional>

#include "bulksim/backend/pair_filter_spec.hpp"
#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// Which pairs a result holds, as attributes of its file, named after the options: threshold,
/// below, nonzero, top_k or sample_per_query with seed, queries_range and items_range (where they
/// are not those of the whole matrix), and partners (all, others, later, not_earlier).
FileAttributes attributes_of(const PairFilterSpec& filter, MatrixShape shape);

/// The filter of these attributes; nothing in results of older versions, which do not hold it.
std::optional<PairFilterSpec> filter_of(const FileAttributes& attributes);

/// The filter of a result that also contains the mirror images.
PairFilterSpec unfolded(PairFilterSpec filter);

}  // namespace bulksim
