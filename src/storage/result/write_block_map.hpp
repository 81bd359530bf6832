#pragma once

#include "hdf5/handle.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

/// Adds the group /block_sums to a file under construction. Its scalars are attributes of the root.
void write_block_map(const h5::File& file, const BlockMap& map);

}  // namespace bulksim
