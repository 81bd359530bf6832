#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "bulksim/core/types.hpp"
#include "storage/parts/part_layout.hpp"
#include "storage/parts/result_ids.hpp"
#include "storage/result/block_map.hpp"

namespace bulksim {

/// Attributes of a finished result, for `write_similarity_file` and, in a single-file result, for
/// `write_attributes`: complete = 1, tile_queries, tile_items, then `more`. Readers require the
/// first three.
FileAttributes result_attributes(const TileGrid& grid, const FileAttributes& more);

/// Writes `similarity.h5`: /similarity is a virtual dataset over the part files, with paths
/// relative to the file and fill value NaN. HDF5 reads a missing source as NaN without an error, so
/// that a successful read does not prove that the result is complete. Without tiles /similarity is
/// an ordinary empty dataset. Ids are stored in /query_ids and /item_ids (see `create_ids`).
/// Without layouts, for a matrix that has cells, there is no /similarity. `blocks` is stored in
/// /block_sums.
void write_similarity_file(FileCalls& calls, const std::string& path, const TileGrid& grid,
                           const std::vector<PartLayout>& layouts,
                           const std::vector<std::string>& relative_paths,
                           const FileAttributes& attributes, const ResultIds& ids = {},
                           const BlockMap* blocks = nullptr);

/// Bytes of that file with ids of these sizes, over the parts of a run. Made in an unnamed file in
/// `folder`.
std::int64_t similarity_file_bytes(FileCalls& calls, const std::string& folder,
                                   const TileGrid& grid, const std::vector<PartLayout>& layouts,
                                   const FileAttributes& attributes, IdSizes ids,
                                   const BlockMap* blocks = nullptr);

/// A finished result, open for reading: a folder, its `similarity.h5`, or a single file.
class SimilarityReader {
 public:
  /// Resolves OUT, OUT/CURRENT, OUT/versions/N or a file. Throws Error (66) when there is no
  /// result, and Error (65) with the file when a source of the virtual dataset is missing,
  /// truncated or of another shape, or the run did not finish.
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
  IdSizes id_sizes() const;
  /// Ids of rows and columns; empty for a side without ids.
  StringTable query_ids(RowRange queries) const;
  StringTable item_ids(RowRange items) const;
  /// A block of the matrix, row-major, queries.size() x items.size() values, read directly from the
  /// tiles: missing data is an Error, never a fill value.
  std::vector<float> read(RowRange queries, RowRange items) const;

 private:
  struct Impl;
  explicit SimilarityReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace bulksim
