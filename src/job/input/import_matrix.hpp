#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"
#include "core/run/stop_request.hpp"
#include "formats/shared/row_stream.hpp"
#include "job/input/import_report.hpp"

namespace bulksim {

/// How a matrix is imported.
struct ImportOptions {
  VectorKeys keys = VectorKeys::kTerms;
  Irregular irregular = Irregular::kAccept;
  std::string vocabulary = {};  ///< file with the terms of the columns, one per line, or empty
  std::string ids = {};         ///< file with the ids of the rows, one per line, or empty
  /// Bytes that the entries of a row block may take; none: 70 % of what is available.
  std::optional<std::int64_t> memory = {};
  StopRequest stop = StopRequest();  ///< reading the source throws Stopped after it
};

/// ".csr, .h5, .npz, ...": the suffixes of what can be imported, for help texts.
std::string importable_suffixes();

/// Writes the rows of a matrix of any known format into a store, in canonical form, with their
/// survey, ids of rows and terms of columns. Memory is bounded by a few row blocks, the ids and the
/// terms; csc and coo take more (`open_npz`).
///
/// The store appears when it is complete: a killed import leaves none. Throws Error (65) for bad
/// data, and when a file of ids or terms does not have one line per row or column; Error (71) when
/// a row block does not fit into memory.
ImportReport import_matrix(FileCalls& calls, const std::string& source, const std::string& store,
                           const ImportOptions& options, Log& log);

}  // namespace bulksim
