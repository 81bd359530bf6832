#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "job/input/survey.hpp"
#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Throws Error (65) when the file of ids at `path` does not have one line for each of the `count`
/// entries of `of_what`.
void expect_count(const StringTable& ids, const std::string& path, std::int64_t count,
                  const std::string& of_what);

/// The ids of the rows of a matrix in a file, one per line. Throws as `expect_count`.
StringTable read_ids(FileCalls& calls, const std::string& path, const MatrixInfo& info);

/// Ids of the rows: those of a file, one per line, or those of the matrix where `path` is empty.
/// Throws Error (65) when the file does not have one line per row.
StringTable ids_of(FileCalls& calls, const MatrixSource& source, const std::string& path);

/// Digest and size of the ids of the rows, from the file at `path` or from the input; none where
/// there are none. Throws Error (65) for an id that a result cannot store.
std::optional<IdInfo> survey_ids(FileCalls& calls, const MatrixSource& source,
                                 const std::string& path);

/// The ids that were surveyed. Throws Error (75) when they have changed since then.
StringTable reread_ids(FileCalls& calls, const MatrixSource& source, const std::string& path,
                       const std::optional<IdInfo>& known);

}  // namespace bulksim
