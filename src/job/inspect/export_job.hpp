#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "bulksim/core/file.hpp"
#include "core/run/log.hpp"
#include "storage/result/result_path.hpp"
#include "storage/run/single_file.hpp"

namespace bulksim {

/// Order of the pairs of a query in text.
enum class ExportOrder {
  kAuto,  ///< by score for the lists of a top-k and TREC runs, else by item
  kItem,
  kScore,
};

struct ExportOptions {
  std::string result;                ///< folder of versions, one version, or a file
  std::string output;                ///< "-": text goes to a stream
  FileForm format = FileForm::kTsv;  ///< any but HDF5
  ExportOrder order = ExportOrder::kAuto;
  std::int64_t limit = 0;  ///< best pairs of each query; 0: all
  std::string run_tag = "bulksim";
  bool replace_blanks = false;
  Overwrite overwrite = Overwrite::kResults;
};

/// Writes a finished result as one file of another format; the file appears when it is complete.
/// Memory: a few million cells, or those of the longest row if it has more, and the ids.
///
/// Throws Error (64) for the dense matrix of a result with pairs and for a binary format on the
/// stream, Error (66) when there is no result, Error (65) when it is incomplete or an id cannot be
/// written, Error (73) when the output is a file that must not be replaced, and Error (74) when the
/// stream fails.
void export_result(FileCalls& calls, const ExportOptions& options, std::ostream& stream, Log& log);

}  // namespace bulksim
