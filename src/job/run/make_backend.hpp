#pragma once

#include <memory>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "job/run/prepare_run.hpp"

namespace bulksim {

/// The backend of this rank for the full matrix.
std::unique_ptr<SimilarityBackend> make_backend(const RunSetup& setup);

/// What is searched for to find the pairs of the plan. Where the best items of rows among
/// themselves are wanted and all tiles are computed, each pair is computed once and offered to both
/// rows.
PairFilterSpec searched_filter(const RunSetup& setup, bool all_tiles);

/// The backend of this rank that searches for pairs.
std::unique_ptr<PairBackend> make_pair_backend(const RunSetup& setup, const PairFilterSpec& filter);

}  // namespace bulksim
