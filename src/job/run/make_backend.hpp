#pragma once

#include <memory>

#include "bulksim/backend/pair_backend.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "job/run/prepare_run.hpp"

namespace bulksim {

/// The backend of this rank for the full matrix, and for pairs.
std::unique_ptr<SimilarityBackend> make_backend(const RunSetup& setup);
std::unique_ptr<PairBackend> make_pair_backend(const RunSetup& setup);

}  // namespace bulksim
