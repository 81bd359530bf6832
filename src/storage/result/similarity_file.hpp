#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "storage/parts/part_file.hpp"
#include "storage/parts/result_ids.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

/// What a finished result says of itself, for `write_similarity_file` and, in a single-file result,
/// for `write_attributes`: complete = 1, tile_queries, tile_items, then `more`. A reader demands
/// the three.
FileAttributes result_attributes(const TileGrid& grid, const FileAttributes& more);

/// Writes `similarity.h5`: /similarity as a virtual dataset over the part files, by ids relative
/// to the file, fill value NaN. A missing source reads as NaN without an error, so nobody may trust
/// a successful read alone. Without tiles /similarity is a plain empty dataset. Ids go into
/// /query_ids and /item_ids: UTF-8 texts of the length of the longest, padded with zeros. Without
/// layouts, for a matrix that has cells, there is no /similarity. `blocks` goes into /block_sums.
void write_similarity_file(FileCalls& calls, const std::string& path, const TileGrid& grid,
                           const std::vector<PartLayout>& layouts,
                           const std::vector<std::string>& relative_paths,
                           const FileAttributes& attributes, const ResultIds& ids = {},
                           const BlockMap* blocks = nullptr);

/// Bytes of that file with ids of these widths, over the parts of a run. `scratch` ids a file
/// that is made for it and removed.
std::int64_t similarity_file_bytes(FileCalls& calls, const std::string& scratch,
                                   const TileGrid& grid, const std::vector<PartLayout>& layouts,
                                   const FileAttributes& attributes, IdWidths widths,
                                   const BlockMap* blocks = nullptr);

/// A finished result, open for reading: a folder, its `similarity.h5`, or one ordinary file.
class SimilarityReader {
 public:
  /// Resolves OUT, OUT/CURRENT, OUT/versions/N or a file. Throws Error (66) when there is no
  /// result, and Error (65), naming the file, when a source of the view is missing, cut short or of
  /// another shape, or the run never finished.
  static SimilarityReader open(FileCalls& calls, const std::string& path);
  ~SimilarityReader();
  SimilarityReader(const SimilarityReader&) = delete;
  SimilarityReader& operator=(const SimilarityReader&) = delete;
  SimilarityReader(SimilarityReader&&) noexcept;
  SimilarityReader& operator=(SimilarityReader&&) noexcept;

  const std::string& file() const;  ///< of /similarity, without symbolic links
  const TileGrid& grid() const;
  ValueType value_type() const;
  const FileAttributes& attributes() const;  ///< by name
  /// Bytes of the longest id of each side.
  IdWidths id_widths() const;
  /// Ids of rows and of columns; empty where there are none.
  StringTable query_ids(RowRange queries) const;
  StringTable item_ids(RowRange items) const;
  /// A block of the matrix, row-major, queries.size() x items.size() values, straight from the
  /// tiles: what is missing is an Error and never a fill value.
  std::vector<float> read(RowRange queries, RowRange items) const;

 private:
  struct Impl;
  explicit SimilarityReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bulksim
