#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "storage/parts/part_file.hpp"

namespace bulksim {

/// "parts/part-00007.h5", below a version.
std::string part_file_name(std::size_t part);

/// "parts/part-00007.partials", below a version.
std::string partial_file_name(std::size_t part);

/// The parts of a run, in the order of their columns.
struct PartSet {
  std::vector<std::string> paths;  ///< files of tiles; none in a run without a matrix
  std::vector<PartLayout> layouts;
  std::vector<std::string> partials = {};  ///< files of partials; none in a run without block sums

  bool has_matrix() const { return !paths.empty(); }
  bool has_partials() const { return !partials.empty(); }
};

}  // namespace bulksim
