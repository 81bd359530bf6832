#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// Owner of a journal. Each journal has one writer, so that appends of two hosts never overlap.
struct JournalOwner {
  Digest plan;
  int attempt = 1;
  int rank = 0;
};

/// The tiles that one rank has finished in one attempt, as a sequence of 64-byte records.
///
///    0 magic "BSJ1"   4 version   6 kind   8 plan (low half)   16 attempt   20 rank
///   24 tile or count  32 digest of the tile (high, low)        48 zeros     60 CRC32C
///
/// A record is at a multiple of 64 bytes and has its own checksum, so that a torn write affects
/// only this record. Thread-safe.
class Journal {
 public:
  /// Creates the file, which must not exist, and syncs its folder.
  Journal(FileCalls& calls, const std::string& path, JournalOwner owner);

  /// Records that the tile is checked, hashed and written. A later `synced` records that it is
  /// durable.
  void tile_done(std::int64_t tile, const Digest& digest);
  /// Records that the entries of earlier attempts for this tile are wrong.
  void tile_dropped(std::int64_t tile);
  /// Number of records so far.
  std::int64_t records() const;
  /// Records that the tiles of the first `records` records are durable; syncs the journal.
  void synced(std::int64_t records);
  /// Records that tiles not covered by `synced` may be lost, even if they can still be read; syncs
  /// the journal.
  void sync_failed();

 private:
  void append(int kind, std::int64_t number, const Digest& digest);

  JournalOwner owner_;
  File file_;
  mutable std::mutex mutex_;
  std::int64_t records_ = 0;
};

/// How far the record of a tile can be trusted.
enum class Trust {
  kDurable,  ///< synced before the record that says so
  kWritten,  ///< must be hashed again: a machine crash may have lost it
  kLost,     ///< its sync failed
};

struct JournalTile {
  std::int64_t tile = 0;
  Digest digest;
  Trust trust = Trust::kWritten;
};

struct JournalContent {
  int attempt = 0;
  int rank = 0;
  std::vector<std::int64_t> dropped;
  std::vector<JournalTile> tiles;  ///< in the order of the file
  std::int64_t torn = 0;           ///< number of invalid records
  bool sync_failed = false;
};

/// Reads the records of `plan`; torn records and those of other plans are counted and ignored.
JournalContent read_journal(FileCalls& calls, const std::string& path, const Digest& plan);

}  // namespace bulksim
