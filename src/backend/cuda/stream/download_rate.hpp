#pragma once

namespace bulksim::cuda {

/// Bytes a second of copies to pinned host memory, one after the other, in pieces of 16 MiB.
double download_rate();

}  // namespace bulksim::cuda
