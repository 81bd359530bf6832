#pragma once

#include <cstdint>
#include <memory>

#include "bulksim/formats/matrix_source.hpp"
#include "core/run/stop_request.hpp"

namespace bulksim {

/// The same matrix; reading it throws Stopped after a stop request, and Error (71) when the rows
/// take more than `memory` bytes.
std::unique_ptr<MatrixSource> guarded(std::unique_ptr<MatrixSource> source, const StopRequest& stop,
                                      std::int64_t memory);

}  // namespace bulksim
