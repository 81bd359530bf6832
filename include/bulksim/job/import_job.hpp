#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/core/log.hpp"
#include "bulksim/formats/block_sparse_store.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "bulksim/formats/row_stream.hpp"
#include "bulksim/job/options.hpp"
#include "bulksim/sparse/csr_matrix.hpp"

namespace bulksim {

/// How a matrix is imported.
struct ImportOptions {
  VectorKeys keys = VectorKeys::kTerms;
  Irregular irregular = Irregular::kAccept;
  std::string vocabulary = {};  ///< file with the terms of the columns, one a line, or empty
  std::string ids = {};         ///< file with the names of the rows, one a line, or empty
};

/// What an import has made.
struct ImportReport {
  MatrixInfo source;     ///< nnz as in the source
  std::int64_t nnz = 0;  ///< of the canonical rows
  std::int64_t longest_row = 0;
  HygieneCounts counts;
  StoreSizes sizes;
  double seconds = 0.0;

  /// Bytes of the rows for each nonzero; plain CSR takes 8 and, for float64, 12.
  double bytes_per_nonzero() const;
  /// One sentence with shape, sizes and what was irregular.
  std::string text() const;
  std::string to_json(const std::string& store) const;
};

/// Writes the rows of a matrix of any known format into a store, in canonical form, with their
/// survey, names of rows and terms of columns. Memory is bounded by a few frames, the names and the
/// terms; csc and coo take more (`open_npz`).
///
/// The store appears when it is whole: a killed import leaves none. Throws Error (65) for bad data
/// and when a file of names has another number of lines than there are rows or columns.
ImportReport import_matrix(FileCalls& calls, const std::string& source, const std::string& store,
                           const ImportOptions& options, Log& log);

// Inputs of a run, in two steps. Rank 0 calls the first, and everybody the second with the path
// that came out of it.

/// Sees to it that an input can be read by ranges: a file that cannot is imported once into
/// `folder`/<XXH3-128 of its bytes, and of the options where they are not the usual>.h5, which is
/// used again where it is there. Returns the path to open: `path` itself or that of the store.
std::string prepare_input(FileCalls& calls, const std::string& path, const std::string& folder,
                          const ImportOptions& options, Log& log);

/// Opens what `prepare_input` has returned; `name` is what errors call it, the path that the user
/// gave. With Irregular::kRefuse a store of rows that were irregular is an Error (65).
std::unique_ptr<MatrixSource> open_input(FileCalls& calls, const std::string& prepared,
                                         const std::string& name, Irregular irregular);

/// Names of the rows: those of a file, one a line, or those of the matrix where `path` is empty.
/// Throws Error (65) when the file has another number of lines than there are rows.
TextList ids_of(FileCalls& calls, const MatrixSource& source, const std::string& path);

/// Options of `bulksim import`.
CommandSyntax import_syntax();
/// `--keys`, which is the same in every command. Throws Error (64).
VectorKeys parse_keys(const OptionValues& options);
/// Throws Error (64) with the option's name and what it must be.
ImportOptions make_import_options(const OptionValues& options);

}  // namespace bulksim
