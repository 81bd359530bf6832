#include "storage/run/recovery.hpp"

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "bulksim/core/error.hpp"
#include "core/files/staged_file.hpp"
#include "core/run/stop_request.hpp"
#include "storage/parts/partial_files.hpp"
#include "storage/parts/tile_files.hpp"
#include "storage/parts/tile_inspection.hpp"
#include "storage/run/journal.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kSmallMatrix = std::int64_t{1} << 28;  // cells; hashed within a second
constexpr std::size_t kCopyBytes = std::size_t{1} << 20;

/// The latest record of each tile in all journals.
using Records = std::map<std::int64_t, JournalTile>;

/// Applies the journals of one attempt: first the tiles it dropped, since an attempt drops tiles
/// before it computes any.
void apply_attempt(const std::vector<JournalContent>& journals, std::int64_t tiles,
                   Records& records) {
  const bool lost = std::any_of(journals.begin(), journals.end(),
                                [](const auto& journal) { return journal.sync_failed; });
  for (const JournalContent& journal : journals) {
    for (const std::int64_t tile : journal.dropped)
      records[tile] = {tile, {}, Trust::kLost};
  }
  for (const JournalContent& journal : journals) {
    for (JournalTile record : journal.tiles) {
      if (record.tile < 0 || record.tile >= tiles) continue;
      // the system reports a lost page only once, and not to every rank
      if (lost && record.trust == Trust::kWritten) record.trust = Trust::kLost;
      records[record.tile] = record;
    }
  }
}

Records read_records(FileCalls& calls, const Digest& plan, std::int64_t tiles,
                     const std::vector<std::string>& journals) {
  std::map<int, std::vector<JournalContent>> attempts;
  for (const std::string& path : journals) {
    JournalContent content = read_journal(calls, path, plan);
    if (content.attempt > 0) attempts[content.attempt].push_back(std::move(content));
  }
  Records records;
  for (const auto& [attempt, contents] : attempts)
    apply_attempt(contents, tiles, records);
  return records;
}

/// Hashes tiles and partials again; marks damaged ones as not done and returns them.
std::vector<std::int64_t> rehash(FileCalls& calls, const TileGrid& grid, const PartSet& parts,
                                 int threads, const std::vector<std::int64_t>& tiles,
                                 Recovery& recovery) {
  auto damaged = damaged_tiles(calls, grid, parts, tiles, recovery.digests, threads);
  for (const std::int64_t tile : damaged)
    recovery.done[tile] = 0;
  recovery.rehashed += std::ssize(tiles);
  recovery.damaged += std::ssize(damaged);
  return damaged;
}

/// Whether the files of a part can be resumed.
bool resume(FileCalls& calls, const TileGrid& grid, const PartSet& parts, std::size_t part) {
  const PartLayout& layout = parts.layouts[part];
  return (!parts.has_matrix() || reopen_part(calls, parts.paths[part], grid, layout)) &&
         (!parts.has_partials() || reopen_partials(calls, parts.partials[part], grid, layout));
}

}  // namespace

std::int64_t Recovery::done_count() const {
  return std::count(done.begin(), done.end(), 1);
}

std::vector<std::int64_t> Recovery::to_do() const {
  std::vector<std::int64_t> tiles;
  for (std::size_t tile = 0; tile < done.size(); ++tile) {
    if (done[tile] == 0) tiles.push_back(tile);
  }
  return tiles;
}

Recovery recover(FileCalls& calls, const Digest& plan, const TileGrid& grid, const PartSet& parts,
                 const std::vector<std::string>& journals, int threads) {
  Recovery recovery;
  recovery.digests.resize(grid.count());
  recovery.done.resize(grid.count());
  std::vector<char> there(parts.layouts.size());
  for (std::size_t part = 0; part < there.size(); ++part) {
    there[part] = resume(calls, grid, parts, part) ? 1 : 0;
    if (there[part] == 0) recovery.missing_parts.push_back(part);
  }
  const Records records = read_records(calls, plan, grid.count(), journals);
  const bool is_small = grid.count() * grid.tile().cells() <= kSmallMatrix;
  std::vector<std::int64_t> suspects;
  std::vector<std::int64_t> sample;
  std::vector<std::vector<std::int64_t>> durable(there.size());
  const auto part_of_tile = [&](std::int64_t tile) {
    return part_of(parts.layouts, grid.id(tile).column);
  };
  for (const auto& [tile, record] : records) {
    const std::size_t part = part_of_tile(tile);
    if (record.trust == Trust::kLost || there[part] == 0) continue;
    recovery.digests[tile] = record.digest;
    recovery.done[tile] = 1;
    if (record.trust == Trust::kWritten || is_small) {
      suspects.push_back(tile);
    } else if (mix(journals.size(), tile) % kTilesPerSample == 0) {
      sample.push_back(tile);
    } else {
      durable[part].push_back(tile);
    }
  }
  const auto check = [&](const std::vector<std::int64_t>& tiles) {
    return rehash(calls, grid, parts, threads, tiles, recovery);
  };
  check(suspects);
  for (const std::int64_t tile : check(sample))
    check(std::exchange(durable[part_of_tile(tile)], {}));
  for (const auto& [tile, record] : records) {
    if (recovery.done[tile] == 0) recovery.dropped.push_back(tile);
  }
  return recovery;
}

std::vector<std::int64_t> damaged_tiles(FileCalls& calls, const TileGrid& grid,
                                        const PartSet& parts,
                                        const std::vector<std::int64_t>& tiles,
                                        const std::vector<Digest>& digests, int threads) {
  std::vector<TileFinding> findings(tiles.size());
  if (parts.has_matrix()) {
    TileFiles files(calls, grid, parts.paths, parts.layouts, TileAccess::kRead);
    findings = inspect_tiles(files, grid, tiles, threads);
  }
  PartialFiles files(calls, grid, parts.partials, parts.layouts, TileAccess::kRead);
  std::vector<std::int64_t> damaged;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    auto partials = std::optional(Digest{});
    if (parts.has_partials()) partials = files.digest_of_whole(grid.id(tiles[i]));
    if (partials && !parts.has_matrix()) findings[i].digest = *partials;
    const bool whole = partials && findings[i].digest == digests[tiles[i]];
    if (!whole) damaged.push_back(tiles[i]);
  }
  return damaged;
}

void make_writable(FileCalls& calls, const std::string& path) {
  struct stat status {};
  if (calls.lstat(path.c_str(), &status) == -1) throw system_error("inspect", path, errno);
  if (status.st_nlink == 1) {
    if (calls.chmod(path.c_str(), 0600) == -1) throw system_error("set the mode of", path, errno);
    return;
  }
  StagedFile staged(calls, path);
  const File from = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
  std::vector<std::byte> block(kCopyBytes);
  for (std::int64_t at = 0; at < status.st_size; at += std::ssize(block)) {
    kOnlySignals.check();
    block.resize(std::min(kCopyBytes, static_cast<std::size_t>(status.st_size - at)));
    from.read(block, at);
    staged.file().write(block, at);
  }
  staged.publish();
}

}  // namespace bulksim
