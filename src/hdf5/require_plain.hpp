#pragma once

#include <string>

#include "hdf5/handle.hpp"

namespace bulksim::h5 {

/// Throws Error (65) when the file holds something that leads elsewhere or runs code: a link other
/// than a hard one, external storage, a filter, or a virtual dataset other than `view`.
void require_plain(const File& file, const std::string& path, const std::string& view = "");

}  // namespace bulksim::h5
