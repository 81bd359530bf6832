#pragma once

#include <memory>

#include "bulksim/formats/matrix_source.hpp"
#include "core/run/stop_request.hpp"

namespace bulksim {

/// The same matrix; reading it throws Stopped after a stop request.
std::unique_ptr<MatrixSource> stoppable(std::unique_ptr<MatrixSource> source,
                                        const StopRequest& stop);

}  // namespace bulksim
