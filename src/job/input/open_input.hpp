#pragma once

#include <memory>
#include <string>

#include "bulksim/formats/matrix_source.hpp"
#include "job/input/import_matrix.hpp"

namespace bulksim {

// Inputs of a run, in two steps. Rank 0 calls the first, and all ranks call the second with the
// path that it returned.

/// Makes an input readable by ranges: a file that is not is imported once into `folder`/<XXH3-128
/// of its bytes, and of the options where they are not the default>.h5, which is reused if it
/// exists. Returns the path to open: `path` itself or that of the store.
std::string prepare_input(FileCalls& calls, const std::string& path, const std::string& folder,
                          const ImportOptions& options, Log& log);

/// Opens the path that `prepare_input` returned; errors call it `name`, the path that the user
/// gave. With Irregular::kRefuse a store of rows that were irregular is an Error (65).
std::unique_ptr<MatrixSource> open_input(FileCalls& calls, const std::string& prepared,
                                         const std::string& name, Irregular irregular);

}  // namespace bulksim
