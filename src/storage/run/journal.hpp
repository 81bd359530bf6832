#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "bulksim/core/checksum.hpp"
#include "bulksim/core/file.hpp"

namespace bulksim {

/// Whose records a journal holds. One writer a journal: no appends of two hosts ever meet.
struct JournalOwner {
  Digest plan;
  int attempt = 1;
  int rank = 0;
};

/// What one rank has finished in one attempt, one record of 64 bytes after the other.
///
///    0 magic "BSJ1"   4 version   6 kind   8 plan (low half)   16 attempt   20 rank
///   24 tile or count  32 digest of the tile (high, low)        48 zeros     60 CRC32C
///
/// A record lies at a multiple of 64 bytes and carries its own checksum: one that a stop has torn
/// costs itself only. Any thread may call any function.
class Journal {
 public:
  /// Makes the file, which may not exist, and syncs its folder.
  Journal(FileCalls& calls, const std::string& path, JournalOwner owner);

  /// The tile is checked, hashed and written; whether it is durable a later `synced` says.
  void tile_done(std::int64_t tile, const Digest& digest);
  /// What earlier attempts say of this tile is wrong.
  void tile_dropped(std::int64_t tile);
  /// Records so far.
  std::int64_t records() const;
  /// The tiles of the first `records` records are durable; syncs the journal.
  void synced(std::int64_t records);
  /// Tiles that no `synced` covers may be lost, however well they read; syncs the journal.
  void sync_failed();

 private:
  void append(int kind, std::int64_t number, const Digest& digest);

  JournalOwner owner_;
  File file_;
  mutable std::mutex mutex_;
  std::int64_t records_ = 0;
};

/// How far a record of a tile may be believed.
enum class Trust {
  kDurable,  ///< synced before the journal said so
  kWritten,  ///< to be hashed again: a lost machine may have lost it
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
  std::int64_t torn = 0;           ///< records that are none
  bool sync_failed = false;
};

/// The records that belong to `plan`; what is torn or foreign is counted and left out.
JournalContent read_journal(FileCalls& calls, const std::string& path, const Digest& plan);

}  // namespace bulksim
