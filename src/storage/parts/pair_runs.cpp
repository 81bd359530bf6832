#include "storage/parts/pair_runs.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "bulksim/core/error.hpp"
#include "core/crc.hpp"

namespace bulksim {

namespace {

constexpr char kMagic[8] = {'B', 'S', 'P', 'R', 'U', 'N', '0', '1'};
constexpr std::int64_t kRowsAtOnce = 4096;

struct RunHeader {
  char magic[8] = {};
  std::uint64_t plan = 0;
  std::int64_t tile_ranges = 0;
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
  std::uint64_t digest_high = 0;
  std::uint64_t digest_low = 0;
  std::uint32_t stream = 0;
  std::uint32_t crc = 0;

  std::uint32_t stream_number() const { return stream / 2; }
  bool ends_open() const { return stream % 2 != 0; }
};
static_assert(sizeof(RunHeader) == 64);

constexpr std::int64_t kRangeBytes = sizeof(RowRange);
constexpr std::int64_t kRowBytes = sizeof(std::int64_t) + sizeof(std::uint32_t);

bool has_wide_items(MatrixShape shape) {
  return shape.items > std::int64_t{1} << 32;
}

std::int64_t item_bytes(bool wide) {
  return wide ? sizeof(std::int64_t) : sizeof(std::uint32_t);
}

std::int64_t pair_bytes(bool wide) {
  return item_bytes(wide) + std::int64_t{sizeof(float)};
}

std::int64_t body_bytes(const RunHeader& header, bool wide) {
  return kRangeBytes * header.tile_ranges + kRowBytes * header.rows +
         pair_bytes(wide) * header.pairs;
}

/// Whether it is a header, and what it announces can be in a file of `size` bytes.
bool is_header(const RunHeader& header, const Digest& plan, std::int64_t size) {
  const auto is_possible = [&](std::int64_t count) { return count >= 0 && count <= size; };
  return std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
         header.crc == crc_of_record(header) && header.plan == plan.low &&
         is_possible(header.tile_ranges) && is_possible(header.rows) && is_possible(header.pairs);
}

/// Calls `visit` with the header of each run and the offset of its body. A torn header hides the
/// runs after it; their tiles are recomputed.
template <class Visit>
void for_each_run(const File& file, const Digest& plan, bool wide, Visit&& visit) {
  const std::int64_t size = file.size();
  constexpr std::int64_t kHeaderBytes = sizeof(RunHeader);
  for (std::int64_t at = 0; at + kHeaderBytes <= size;) {
    RunHeader header;
    file.read(std::as_writable_bytes(std::span(&header, 1)), at);
    at += kHeaderBytes;
    if (!is_header(header, plan, size)) return;
    const std::int64_t bytes = body_bytes(header, wide);
    if (bytes > size - at) return;
    visit(header, at);
    at += bytes;
  }
}

struct FoundRun {
  RunHeader header;
  std::int64_t at = 0;  ///< offset of the body
};

/// Calls `take` with the runs of each stream up to one that does not end open: the last names the
/// tiles of all.
template <class Take>
void for_each_finished(const File& file, const Digest& plan, bool wide, Take&& take) {
  std::map<std::uint32_t, std::vector<FoundRun>> unfinished;  // by stream
  for_each_run(file, plan, wide, [&](const RunHeader& header, std::int64_t at) {
    auto& runs = unfinished[header.stream_number()];
    runs.push_back({header, at});
    if (header.ends_open()) return;
    take(runs);
    runs.clear();
  });
}

std::vector<RowRange> read_tiles(const File& file, const FoundRun& run) {
  std::vector<RowRange> ranges(run.header.tile_ranges);
  if (!ranges.empty()) file.read(std::as_writable_bytes(std::span(ranges)), run.at);
  return ranges;
}

bool are_within(const std::vector<RowRange>& ranges, std::int64_t tiles) {
  return std::ranges::all_of(ranges, [&](const RowRange& range) {
    return 0 <= range.begin && range.begin <= range.end && range.end <= tiles;
  });
}

}  // namespace

void PairRun::clear() {
  tiles.clear();
  rows.clear();
  counts.clear();
  items.clear();
  scores.clear();
}

std::vector<std::string> pair_run_files(FileCalls& calls, const std::string& folder) {
  std::vector<std::string> paths;
  for (const std::string& name : list_directory(calls, folder)) {
    if (name.ends_with(".pairs")) paths.push_back(inside(folder, name));
  }
  return paths;
}

std::int64_t count_tiles_of_runs(FileCalls& calls, const std::vector<std::string>& paths,
                                 const Digest& plan, const TileGrid& grid) {
  std::vector<char> done(grid.count());
  for (const std::string& path : paths) {
    const File file = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
    for_each_finished(file, plan, has_wide_items(grid.shape()),
                      [&](const std::vector<FoundRun>& runs) {
                        const auto tiles = read_tiles(file, runs.back());
                        if (!are_within(tiles, grid.count())) return;
                        for (const RowRange& range : tiles)
                          std::fill(done.begin() + range.begin, done.begin() + range.end, 1);
                      });
  }
  return std::count(done.begin(), done.end(), 1);
}

PairRunFile::PairRunFile(FileCalls& calls, const std::string& path, const Digest& plan,
                         MatrixShape shape)
    : plan_(plan),
      has_wide_items_(has_wide_items(shape)),
      file_(File::open(calls, path, O_WRONLY | O_CREAT | O_EXCL, 0600)) {
  sync_directory(calls, parent_of(path));
}

void PairRunFile::append(const PairRun& run, std::uint32_t stream, bool ends_open) {
  std::vector<std::uint32_t> narrow;
  if (!has_wide_items_) narrow.assign(run.items.begin(), run.items.end());
  const auto items = has_wide_items_ ? bytes_of(run.items) : bytes_of(narrow);
  const std::initializer_list<std::span<const std::byte>> body = {
      bytes_of(run.tiles), bytes_of(run.rows), bytes_of(run.counts), items, bytes_of(run.scores)};
  Hasher hasher;
  for (const auto bytes : body)
    hasher.update(bytes);
  const Digest digest = hasher.digest();
  RunHeader header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.plan = plan_.low;
  header.tile_ranges = std::ssize(run.tiles);
  header.rows = std::ssize(run.rows);
  header.pairs = std::ssize(run.items);
  header.digest_high = digest.high;
  header.digest_low = digest.low;
  header.stream = 2 * stream + (ends_open ? 1 : 0);
  header.crc = crc_of_record(header);
  std::int64_t at =
      end_.fetch_add(std::int64_t{sizeof header} + body_bytes(header, has_wide_items_));
  file_.write(std::as_bytes(std::span(&header, 1)), at);
  at += sizeof header;
  for (const auto bytes : body) {
    if (!bytes.empty()) file_.write(bytes, at);
    at += bytes.size();
  }
}

PairRuns::PairRuns(FileCalls& calls, const std::vector<std::string>& paths, const Digest& plan,
                   const TileGrid& grid)
    : has_wide_items_(has_wide_items(grid.shape())),
      files_(std::make_unique<FilePool>(calls, paths, TileAccess::kRead)),
      done_(grid.count()) {
  for (std::size_t file = 0; file < paths.size(); ++file)
    scan(file, plan, grid);
}

void PairRuns::scan(std::size_t file, const Digest& plan, const TileGrid& grid) {
  const FilePool::Use use = files_->use(file);
  for_each_finished(use.file(), plan, has_wide_items_, [&](const std::vector<FoundRun>& runs) {
    std::vector<Place> places;
    for (const auto& [header, at] : runs) {
      const std::int64_t end = at + body_bytes(header, has_wide_items_);
      const Digest digest{header.digest_high, header.digest_low};
      if (digest_of(use.file(), at, end) != digest) return;
      places.push_back({file, at + kRangeBytes * header.tile_ranges, header.rows, header.pairs});
      if (!adds_up(places.back(), grid.shape().queries)) return;
    }
    const auto tiles = read_tiles(use.file(), runs.back());
    if (!are_within(tiles, grid.count())) return;
    for (const RowRange& range : tiles)
      std::fill(done_.begin() + range.begin, done_.begin() + range.end, 1);
    std::ranges::copy_if(places, std::back_inserter(places_),
                         [](const Place& place) { return place.pairs > 0; });
  });
}

/// Whether the rows of a run ascend and have as many pairs as the run.
bool PairRuns::adds_up(const Place& place, std::int64_t queries) const {
  std::vector<std::int64_t> rows(std::min(kRowsAtOnce, place.rows));
  std::vector<std::uint32_t> counts(rows.size());
  std::int64_t last = -1;
  std::int64_t pairs = 0;
  for (std::int64_t first = 0; first < place.rows; first += std::ssize(rows)) {
    rows.resize(std::min(kRowsAtOnce, place.rows - first));
    counts.resize(rows.size());
    read_rows(place, first, rows, counts);
    for (std::size_t at = 0; at < rows.size(); ++at) {
      if (rows[at] <= last) return false;
      last = rows[at];
      pairs += counts[at];
    }
  }
  return last < queries && pairs == place.pairs;
}

std::int64_t PairRuns::pairs() const {
  std::int64_t sum = 0;
  for (const Place& place : places_)
    sum += place.pairs;
  return sum;
}

void PairRuns::read_rows(std::int64_t run, std::int64_t first, std::span<std::int64_t> rows,
                         std::span<std::uint32_t> counts) const {
  read_rows(places_[run], first, rows, counts);
}

void PairRuns::read_rows(const Place& place, std::int64_t first, std::span<std::int64_t> rows,
                         std::span<std::uint32_t> counts) const {
  if (rows.empty()) return;
  const FilePool::Use use = files_->use(place.file);
  const std::int64_t counts_at = place.rows_at + 8 * place.rows;
  use.file().read(std::as_writable_bytes(rows), place.rows_at + 8 * first);
  use.file().read(std::as_writable_bytes(counts), counts_at + 4 * first);
}

void PairRuns::read_pairs(std::int64_t run, std::int64_t first, std::span<std::int64_t> items,
                          std::span<float> scores) const {
  if (items.empty()) return;
  const Place& place = places_[run];
  const FilePool::Use use = files_->use(place.file);
  const std::int64_t items_at = place.rows_at + kRowBytes * place.rows;
  const std::int64_t width = item_bytes(has_wide_items_);
  const auto bytes = std::as_writable_bytes(items);
  // narrow items are read into the second half of their place and widened from the front
  const auto as_stored = bytes.subspan(bytes.size() - width * items.size());
  use.file().read(as_stored, items_at + width * first);
  if (!has_wide_items_) {
    for (std::size_t at = 0; at < items.size(); ++at) {
      std::uint32_t item = 0;
      std::memcpy(&item, as_stored.data() + sizeof item * at, sizeof item);
      items[at] = item;
    }
  }
  use.file().read(std::as_writable_bytes(scores), items_at + width * place.pairs + 4 * first);
}

}  // namespace bulksim
