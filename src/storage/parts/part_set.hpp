#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "storage/parts/part_layout.hpp"

namespace bulksim {

/// "parts/part-00007.h5", relative to a version.
std::string part_file_name(std::size_t part);

/// "parts/part-00007.partials", relative to a version: a file of softmax partials.
std::string partial_file_name(std::size_t part);

/// "parts/part-00007.terms": its name in results of arithmetic version 2.
std::string old_partial_file_name(std::size_t part);

/// The parts of a run, in the order of their columns.
struct PartSet {
  std::vector<std::string> paths;  ///< files of tiles; empty in a run without a matrix
  std::vector<PartLayout> layouts;
  std::vector<std::string> partials = {};  ///< of softmax partials; empty without block sums

  bool has_matrix() const { return !paths.empty(); }
  bool has_partials() const { return !partials.empty(); }
};

}  // namespace bulksim
