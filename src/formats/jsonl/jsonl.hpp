#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "bulksim/core/file.hpp"
#include "formats/shared/row_stream.hpp"

namespace bulksim {

inline constexpr std::array<std::string_view, 2> kJsonlSuffixes{".jsonl", ".jsonl.gz"};

/// One JSON object per line, {"id": ..., "vector": {term: weight, ...}}, in a file, a gzip file or
/// the files of a folder in the natural order of their names (p2 before p10) that do not begin with
/// a dot.
///
/// The id is "id", "_id" or "docid": a string or an integer. Without a vocabulary the columns are
/// the terms that occur, sorted by their bytes; they are collected here, in a first pass over the
/// files.
std::unique_ptr<RowStream> open_jsonl(FileCalls& calls, const std::string& path,
                                      const RowStreamOptions& options);

}  // namespace bulksim
