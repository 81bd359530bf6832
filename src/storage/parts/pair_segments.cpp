#include "storage/parts/pair_segments.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <numeric>

#include "bulksim/core/error.hpp"
#include "core/crc.hpp"
#include "core/run/stop_request.hpp"

namespace bulksim {

namespace {

constexpr char kMagic[8] = {'B', 'S', 'P', 'S', 'E', 'G', '0', '1'};
constexpr std::int64_t kBytesAtOnce = std::int64_t{4} << 20;

struct SegmentHeader {
  char magic[8] = {};
  std::uint64_t plan = 0;
  std::int64_t tile = 0;
  std::int64_t rows = 0;
  std::int64_t pairs = 0;
  std::uint64_t digest_high = 0;
  std::uint64_t digest_low = 0;
  std::uint32_t zeros = 0;
  std::uint32_t crc = 0;
};
static_assert(sizeof(SegmentHeader) == 64);

std::int64_t body_bytes(std::int64_t rows, std::int64_t pairs) {
  return 4 * rows + 8 * pairs;
}

Digest digest_of_file(const File& file, std::int64_t at, std::int64_t bytes) {
  Hasher hasher;
  std::vector<std::byte> buffer(std::min(bytes, kBytesAtOnce));
  while (bytes > 0) {
    const auto piece = std::span(buffer).first(std::min(bytes, kBytesAtOnce));
    file.read(piece, at);
    hasher.update(piece);
    at += piece.size();
    bytes -= piece.size();
  }
  return hasher.digest();
}

/// Whether a segment of this tile may have that many rows: those of the tile, or its columns too.
bool is_row_count(std::int64_t rows, TileId tile, const TileGrid& grid) {
  const std::int64_t queries = grid.queries(tile.row).size();
  return rows == queries || rows == queries + grid.items(tile.column).size();
}

bool is_header(const SegmentHeader& header, const Digest& plan, const TileGrid& grid) {
  return std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 &&
         header.crc == crc_of_record(header) && header.plan == plan.low && header.tile >= 0 &&
         header.tile < grid.count() && is_row_count(header.rows, grid.id(header.tile), grid) &&
         header.pairs >= 0 && header.pairs <= 2 * grid.tile().cells();
}

/// Calls `visit` with the header of each segment and the offset of its counts. A torn header hides
/// the segments after it; their tiles are recomputed.
template <class Visit>
void for_each_segment(const File& file, const Digest& plan, const TileGrid& grid, Visit&& visit) {
  const std::int64_t size = file.size();
  constexpr std::int64_t kHeaderBytes = sizeof(SegmentHeader);
  for (std::int64_t at = 0; at + kHeaderBytes <= size;) {
    SegmentHeader header;
    file.read(std::as_writable_bytes(std::span(&header, 1)), at);
    at += kHeaderBytes;
    if (!is_header(header, plan, grid)) return;
    const std::int64_t bytes = body_bytes(header.rows, header.pairs);
    if (at + bytes > size) return;
    visit(header, at);
    at += bytes;
  }
}

}  // namespace

std::vector<std::string> pair_segment_files(FileCalls& calls, const std::string& folder) {
  std::vector<std::string> paths;
  for (const std::string& name : list_directory(calls, folder)) {
    if (name.ends_with(".pairs")) paths.push_back(inside(folder, name));
  }
  return paths;
}

std::set<std::int64_t> tiles_with_segments(FileCalls& calls, const std::vector<std::string>& paths,
                                           const Digest& plan, const TileGrid& grid) {
  std::set<std::int64_t> tiles;
  for (const std::string& path : paths) {
    const File file = File::open(calls, path, O_RDONLY | O_NOFOLLOW);
    for_each_segment(file, plan, grid,
                     [&](const SegmentHeader& header, std::int64_t) { tiles.insert(header.tile); });
  }
  return tiles;
}

void PairSegment::clear(std::int64_t number, std::int64_t rows) {
  tile = number;
  counts.assign(rows, 0);
  items.clear();
  scores.clear();
}

void PairSegment::add_mirror_image(RowRange queries, RowRange item_rows) {
  const std::size_t rows = counts.size();
  const std::size_t pairs = items.size();
  counts.resize(rows + item_rows.size());
  const auto for_each = [&](auto&& take) {
    std::size_t at = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (const std::size_t end = at + counts[row]; at < end; ++at) {
        if (queries.begin + row != item_rows.begin + items[at]) take(row, at);
      }
    }
    BULKSIM_EXPECT(at == pairs);
  };
  for_each([&](std::uint32_t, std::size_t at) { ++counts[rows + items[at]]; });
  std::vector<std::size_t> places(1, pairs);  // index of the next pair of each column
  for (std::size_t column = rows; column < counts.size(); ++column)
    places.push_back(places.back() + counts[column]);
  const std::size_t size = places.back();
  items.resize(size);
  scores.resize(size);
  for_each([&](std::uint32_t row, std::size_t at) {
    const std::size_t place = places[items[at]]++;
    items[place] = row;
    scores[place] = scores[at];
  });
}

PairSegmentFile::PairSegmentFile(FileCalls& calls, const std::string& path, const Digest& plan)
    : plan_(plan), file_(File::open(calls, path, O_WRONLY | O_CREAT | O_EXCL, 0600)) {
  sync_directory(calls, parent_of(path));
}

void PairSegmentFile::append(const PairSegment& segment) {
  Hasher hasher;
  hasher.update(bytes_of(segment.counts));
  hasher.update(bytes_of(segment.items));
  hasher.update(bytes_of(segment.scores));
  const Digest digest = hasher.digest();
  SegmentHeader header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.plan = plan_.low;
  header.tile = segment.tile;
  header.rows = std::ssize(segment.counts);
  header.pairs = std::ssize(segment.items);
  header.digest_high = digest.high;
  header.digest_low = digest.low;
  header.crc = crc_of_record(header);
  std::int64_t at =
      end_.fetch_add(std::int64_t{sizeof header} + body_bytes(header.rows, header.pairs));
  for (const auto bytes : {std::as_bytes(std::span(&header, 1)), bytes_of(segment.counts),
                           bytes_of(segment.items), bytes_of(segment.scores)}) {
    file_.write(bytes, at);
    at += bytes.size();
  }
}

PairSegments::PairSegments(FileCalls& calls, const std::vector<std::string>& paths,
                           const Digest& plan, const TileGrid& grid)
    : places_(grid.count(), PairSegmentPlace{0, 0, -1, 0}) {
  for (const std::string& path : paths) {
    files_.push_back(File::open(calls, path, O_RDONLY | O_NOFOLLOW));
    scan(files_.size() - 1, plan, grid);
  }
}

void PairSegments::scan(std::size_t file, const Digest& plan, const TileGrid& grid) {
  for_each_segment(files_[file], plan, grid, [&](const SegmentHeader& header, std::int64_t at) {
    kOnlySignals.check();
    const std::int64_t bytes = body_bytes(header.rows, header.pairs);
    const Digest digest{header.digest_high, header.digest_low};
    if (digest_of_file(files_[file], at, bytes) != digest) return;
    const PairSegmentPlace place{file, at, header.rows, header.pairs};
    const auto counts = counts_at(place);
    const auto pairs = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    if (pairs == header.pairs) places_[header.tile] = place;
  });
}

std::int64_t PairSegments::pairs() const {
  std::int64_t sum = 0;
  for (const PairSegmentPlace& place : places_)
    sum += place.pairs;
  return sum;
}

std::vector<std::uint32_t> PairSegments::counts(std::int64_t tile) const {
  return counts_at(place(tile));
}

std::vector<std::uint32_t> PairSegments::counts_at(const PairSegmentPlace& segment) const {
  std::vector<std::uint32_t> counts(std::max<std::int64_t>(segment.rows, 0));
  if (!counts.empty()) {
    files_[segment.file].read(std::as_writable_bytes(std::span(counts)), segment.at);
  }
  return counts;
}

void PairSegments::read(std::int64_t tile, std::int64_t first, std::span<std::uint32_t> items,
                        std::span<float> scores) const {
  if (items.empty()) return;
  const PairSegmentPlace& segment = place(tile);
  const std::int64_t items_at = segment.at + 4 * segment.rows;
  files_[segment.file].read(std::as_writable_bytes(items), items_at + 4 * first);
  files_[segment.file].read(std::as_writable_bytes(scores),
                            items_at + 4 * segment.pairs + 4 * first);
}

}  // namespace bulksim
