#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hdf5/handle.hpp"
#include "hdf5/tiles.hpp"

namespace bulksim::h5 {

/// One source of a virtual matrix: all rows and the columns [begin, end).
struct Source {
  std::string file;  ///< relative to the folder of the view
  std::string dataset;
  hsize_t begin = 0;
  hsize_t end = 0;
};

/// Creates a virtual matrix over the sources; missing cells read as NaN.
Dataset create_view(const File& file, const std::string& name, ValueType type, Extent extent,
                    const std::vector<Source>& sources);

bool is_view(const Dataset& dataset, const std::string& path);

/// The sources of a virtual matrix, in the order of creation.
std::vector<Source> sources_of(const Dataset& dataset, const std::string& path);

}  // namespace bulksim::h5
