#pragma once

#include <memory>
#include <optional>
#include <string>

#include "bulksim/core/string_table.hpp"
#include "bulksim/formats/matrix_source.hpp"

namespace bulksim {

/// Terms in the order of the columns, and the file that they are from.
struct NamedVocabulary {
  StringTable terms;
  std::string path;
};

/// The two sides of a run.
struct SourcePair {
  std::unique_ptr<MatrixSource> queries;
  std::unique_ptr<MatrixSource> items;
};

/// Gives both sides the same columns, so that equal terms are equal columns:
///
///   a vocabulary is given     its order; a side without terms must have as many columns
///   both have the same terms  nothing to do
///   both have terms           those of both, sorted by their bytes
///   neither has terms         a side without a number of columns gets that of the other
///
/// Where columns are renumbered, rows are mapped as they are read. Throws Error (65) when only one
/// side has terms, and when the given vocabulary lacks a term.
SourcePair match_columns(SourcePair sources, const std::optional<NamedVocabulary>& vocabulary);

}  // namespace bulksim
