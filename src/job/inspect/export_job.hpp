#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "bulksim/core/file.hpp"

namespace bulksim {

enum class ExportFormat {
  kNpz,   ///< CSR, for scipy.sparse.load_npz: the nonzero cells of a matrix
  kTsv,   ///< query, item, score
  kTrec,  ///< a TREC run, the best first
  kNpy,   ///< the dense matrix, for numpy.load
};

/// Order of the pairs of a query in text; .npz is by item.
enum class ExportOrder { kItem, kScore };

struct ExportOptions {
  std::string result;  ///< folder of versions, one version, or a file
  std::string output;  ///< "-": text goes to a stream
  ExportFormat format = ExportFormat::kTsv;
  ExportOrder order = ExportOrder::kItem;
  std::int64_t limit = 0;  ///< best pairs of each query; 0: all
};

/// Writes a finished result as one file of another format; the file appears when it is complete.
/// Memory: a few million cells, or those of the longest row if it has more.
///
/// Throws Error (64) for the dense matrix of a result with pairs and for a binary format on the
/// stream, Error (66) when there is no result, Error (65) when it is incomplete and Error (74) when
/// the stream fails.
void export_result(FileCalls& calls, const ExportOptions& options, std::ostream& stream);

}  // namespace bulksim
