#pragma once

namespace bulksim::cuda {

/// Bytes per second of consecutive copies of 16 MiB to pinned host memory.
double download_rate();

}  // namespace bulksim::cuda
