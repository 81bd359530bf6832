#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Bytes per pair in memory and in a segment: the item in its tile, and the score.
inline constexpr std::int64_t kPairBytes = 8;

/// The pairs of one tile, in memory: by row of the tile, optionally followed by its columns as rows
/// of the mirror image.
struct PairSegment {
  std::int64_t tile = 0;              ///< number of the tile
  std::vector<std::uint32_t> counts;  ///< pairs of each existing row (and column) of the tile
  std::vector<std::uint32_t> items;   ///< within the tile, ascending in each row
  std::vector<float> scores;

  void clear(std::int64_t number, std::int64_t rows);
  /// Adds the mirror image of all pairs of a tile with these rows and columns, except pairs of a
  /// row with itself.
  void add_mirror_image(RowRange queries, RowRange item_rows);
};

/// Position of a segment on disk.
struct PairSegmentPlace {
  std::size_t file = 0;
  std::int64_t at = 0;  ///< offset of its counts
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
};

/// An append-only file of segments. Any thread may append.
///
///   segment:
///    0 magic "BSPSEG01"   8 plan (low half)   16 tile   24 rows   32 pairs
///   40 XXH3-128 of what follows (high, low)   56 zeros  60 CRC32C of bytes 0 to 59
///   64 counts (uint32)   items (uint32)   scores (float32)
///
/// A segment has its own checksums, so that a torn write affects only this segment.
class PairSegmentFile {
 public:
  /// Creates the file, which must not exist.
  PairSegmentFile(FileCalls& calls, const std::string& path, const Digest& plan);

  void append(const PairSegment& segment);
  /// Makes everything durable that was appended before this call.
  void sync() { file_.sync_data(); }
  std::int64_t bytes() const { return end_; }

 private:
  Digest plan_;
  File file_;
  std::atomic<std::int64_t> end_ = 0;
};

/// Paths of the segment files in a folder.
std::vector<std::string> pair_segment_files(FileCalls& calls, const std::string& folder);

/// Numbers of the tiles that have a segment in one of the files. Reads only the headers.
std::set<std::int64_t> tiles_with_segments(FileCalls& calls, const std::vector<std::string>& paths,
                                           const Digest& plan, const TileGrid& grid);

/// The segments of all files of a plan, by tile number.
class PairSegments {
 public:
  /// Reads all files; segments with a wrong checksum, or whose counts do not add up, are ignored.
  PairSegments(FileCalls& calls, const std::vector<std::string>& paths, const Digest& plan,
               const TileGrid& grid);

  bool has(std::int64_t tile) const { return places_[tile].rows >= 0; }
  const PairSegmentPlace& place(std::int64_t tile) const { return places_[tile]; }
  std::int64_t pairs() const;
  std::vector<std::uint32_t> counts(std::int64_t tile) const;
  /// Reads the pairs of a tile from pair number `first`, as many as `items` has room for.
  void read(std::int64_t tile, std::int64_t first, std::span<std::uint32_t> items,
            std::span<float> scores) const;

 private:
  void scan(std::size_t file, const Digest& plan, const TileGrid& grid);
  std::vector<std::uint32_t> counts_at(const PairSegmentPlace& segment) const;

  std::vector<File> files_;
  std::vector<PairSegmentPlace> places_;  // by tile; rows = -1: no segment
};

}  // namespace bulksim
