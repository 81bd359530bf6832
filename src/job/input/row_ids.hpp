#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bulksim/core/file.hpp"
#include "bulksim/formats/matrix_source.hpp"
#include "job/input/survey.hpp"
#include "storage/parts/result_ids.hpp"

namespace bulksim {

/// Throws Error (65) when a file of ids, at `path`, has another number of lines than `count` of
/// `of_what`.
void expect_count(const StringTable& ids, const std::string& path, std::int64_t count,
                  const std::string& of_what);

/// The ids of the rows of a matrix in a file, one a line. Throws as `expect_count`.
StringTable read_ids(FileCalls& calls, const std::string& path, const MatrixInfo& info);

/// Ids of the rows: those of a file, one a line, or those of the matrix where `path` is empty.
/// Throws Error (65) when the file has another number of lines than there are rows.
StringTable ids_of(FileCalls& calls, const MatrixSource& source, const std::string& path);

/// What the ids of the rows are, from the file at `path` or from the input; nothing where there
/// are none. Throws Error (65) for a id that no text in a result can be.
std::optional<IdInfo> survey_ids(FileCalls& calls, const MatrixSource& source,
                                 const std::string& path);

/// The ids that the survey knows. Throws Error (75) when they are others by now.
StringTable reread_ids(FileCalls& calls, const MatrixSource& source, const std::string& path,
                       const std::optional<IdInfo>& known);

}  // namespace bulksim
