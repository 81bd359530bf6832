#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"
#include "bulksim/core/tile_grid.hpp"
#include "storage/parts/file_pool.hpp"

namespace bulksim {

/// Pairs of a full run, and of the queries that are merged at once.
inline constexpr std::int64_t kPairsOfARun = std::int64_t{1} << 19;
inline constexpr std::int64_t kPairsMergedAtOnce = std::int64_t{1} << 20;

/// Pairs on their way to the result: those of some rows, in the order of the result, and the tiles
/// whose pairs are complete with them.
struct PairRun {
  std::vector<RowRange> tiles;        ///< ranges of tile numbers
  std::vector<std::int64_t> rows;     ///< queries, ascending, those with pairs
  std::vector<std::uint32_t> counts;  ///< pairs of each of them
  std::vector<std::int64_t> items;    ///< ascending in each row
  std::vector<float> scores;

  void clear();
};

/// An append-only file of runs. Any thread may append.
///
///   run:
///    0 magic "BSPRUN01"   8 plan (low half)   16 tile ranges   24 rows   32 pairs
///   40 XXH3-128 of what follows (high, low)   56 stream (uint32)  60 CRC32C of bytes 0 to 59
///   64 tile ranges (int64 begin, end)   rows (int64)   counts (uint32)
///      items (uint32, or int64 in a matrix of more than 2^32 items)   scores (float32)
///
/// A run has its own checksums, so that a torn write affects only this run. A thread writes the
/// pairs of its tiles to a stream of runs: `stream` is twice its number, and one more where tiles
/// are unfinished at the end of the run. Such a run counts together with the next of its stream.
class PairRunFile {
 public:
  /// Creates the file, which must not exist.
  PairRunFile(FileCalls& calls, const std::string& path, const Digest& plan, MatrixShape shape);

  /// The number of a new stream.
  std::uint32_t begin_stream() { return streams_++; }
  /// `ends_open`: pairs of tiles that a later run of the stream names.
  void append(const PairRun& run, std::uint32_t stream, bool ends_open);
  /// Makes everything durable that was appended before this call.
  void sync() { file_.sync_data(); }
  std::int64_t bytes() const { return end_; }

 private:
  Digest plan_;
  bool has_wide_items_;
  File file_;
  std::atomic<std::int64_t> end_ = 0;
  std::atomic<std::uint32_t> streams_ = 0;
};

/// Paths of the files of runs in a folder.
std::vector<std::string> pair_run_files(FileCalls& calls, const std::string& folder);

/// Number of tiles whose pairs are in one of the files. Reads only headers and tile ranges.
std::int64_t count_tiles_of_runs(FileCalls& calls, const std::vector<std::string>& paths,
                                 const Digest& plan, const TileGrid& grid);

/// The valid runs of all files of a plan.
class PairRuns {
 public:
  /// Reads all files. Ignored are runs with a wrong checksum, runs whose counts do not add up, and
  /// the pairs of tiles that were not finished.
  PairRuns(FileCalls& calls, const std::vector<std::string>& paths, const Digest& plan,
           const TileGrid& grid);

  /// Whether the pairs of a tile are complete.
  bool has(std::int64_t tile) const { return done_[tile] != 0; }
  std::int64_t size() const { return std::ssize(places_); }
  std::int64_t pairs() const;
  std::int64_t pairs_of(std::int64_t run) const { return places_[run].pairs; }
  std::int64_t rows_of(std::int64_t run) const { return places_[run].rows; }
  /// Reads rows of a run and their counts from row number `first` of the run.
  void read_rows(std::int64_t run, std::int64_t first, std::span<std::int64_t> rows,
                 std::span<std::uint32_t> counts) const;
  /// Reads pairs of a run from pair number `first`.
  void read_pairs(std::int64_t run, std::int64_t first, std::span<std::int64_t> items,
                  std::span<float> scores) const;

 private:
  /// Position of a run on disk.
  struct Place {
    std::size_t file = 0;
    std::int64_t rows_at = 0;  ///< offset of its rows
    std::int64_t rows = 0;
    std::int64_t pairs = 0;
  };

  void scan(std::size_t file, const Digest& plan, const TileGrid& grid);
  bool adds_up(const Place& place, std::int64_t queries) const;
  void read_rows(const Place& place, std::int64_t first, std::span<std::int64_t> rows,
                 std::span<std::uint32_t> counts) const;

  bool has_wide_items_;
  std::unique_ptr<FilePool> files_;
  std::vector<Place> places_;
  std::vector<char> done_;  // by tile
};

}  // namespace bulksim
