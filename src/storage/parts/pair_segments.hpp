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

/// Bytes of a pair in memory and in a segment: the item in its tile, and the score.
inline constexpr std::int64_t kPairBytes = 8;

/// The pairs of one tile, in memory: the rows of the tile one after the other, and perhaps its
/// columns behind them, which are rows of their mirror image.
struct PairSegment {
  std::int64_t tile = 0;              ///< number of the tile
  std::vector<std::uint32_t> counts;  ///< pairs of each row (and column) of the tile that exists
  std::vector<std::uint32_t> items;   ///< within the tile, ascending in each row
  std::vector<float> scores;

  void clear(std::int64_t number, std::int64_t rows);
  /// Adds the mirror image of all pairs of a tile with these rows and columns but those of a row
  /// with itself.
  void add_mirror_image(RowRange queries, RowRange item_rows);
};

/// Where a run lies on the disk.
struct PairSegmentPlace {
  std::size_t file = 0;
  std::int64_t at = 0;  ///< of its counts
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
};

/// A file of segments, which only grows. Any thread may append.
///
///   run:  0 magic "BSPRUN01"   8 plan (low half)   16 tile   24 rows   32 pairs
///        40 XXH3-128 of what follows (high, low)   56 zeros  60 CRC32C of bytes 0 to 59
///        64 counts (uint32)   items (uint32)   scores (float32)
///
/// A run carries its own checksums, so what a stop has torn costs this run only.
class PairSegmentFile {
 public:
  /// Makes the file, which may not exist.
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

/// Paths of the files of runs in a folder.
std::vector<std::string> pair_segment_files(FileCalls& calls, const std::string& folder);

/// Numbers of the tiles that have a run in one of the files, as its header says: no run is read.
std::set<std::int64_t> tiles_with_runs(FileCalls& calls, const std::vector<std::string>& paths,
                                       const Digest& plan, const TileGrid& grid);

/// The segments of all files of a plan, by number of the tile.
class PairSegments {
 public:
  /// Reads every byte: a run that does not have its checksums is none.
  PairSegments(FileCalls& calls, const std::vector<std::string>& paths, const Digest& plan,
               const TileGrid& grid);

  bool has(std::int64_t tile) const { return places_[static_cast<std::size_t>(tile)].rows >= 0; }
  const PairSegmentPlace& place(std::int64_t tile) const {
    return places_[static_cast<std::size_t>(tile)];
  }
  std::int64_t pairs() const;
  std::vector<std::uint32_t> counts(std::int64_t tile) const;
  /// Pairs of a run from the pair number `first` on, as many as there is room for.
  void read(std::int64_t tile, std::int64_t first, std::span<std::uint32_t> items,
            std::span<float> scores) const;

 private:
  void scan(std::size_t file, const Digest& plan, const TileGrid& grid);

  std::vector<File> files_;
  std::vector<PairSegmentPlace> places_;  // by tile; rows = -1: there is none
};

}  // namespace bulksim
