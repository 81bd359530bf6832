#include "storage/parts/partial_files.hpp"

#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "blocks/fine_grid.hpp"
#include "bulksim/core/error.hpp"
#include "core/files/staged_file.hpp"

namespace bulksim {

namespace {

constexpr std::int64_t kDigestBytes = 16;

using Head = std::array<std::int64_t, 4>;
static_assert(sizeof(Head) == kPartialHeadBytes);

Head head_of(const TileGrid& grid, const PartLayout& layout) {
  std::int64_t magic = 0;
  std::memcpy(&magic, "BSSOFTM1", sizeof magic);
  return {magic, grid.tile().queries, grid.tile().items, layout.tile_columns.size()};
}

std::array<std::uint64_t, 2> words_of(const Digest& digest) {
  return {digest.high, digest.low};
}

void preallocate(FileCalls& calls, const std::string& path, const TileGrid& grid,
                 const PartLayout& layout) {
  StagedFile staged(calls, path);
  const File& file = staged.file();
  const Head head = head_of(grid, layout);
  const std::int64_t bytes = partial_file_bytes(grid, layout);
  file.write(std::as_bytes(std::span(head)), 0);
  if (bytes > kPartialHeadBytes) {
    file.reserve(0, bytes);
    const std::byte end{};
    file.write({&end, 1}, bytes - 1);
  }
  staged.publish_new();
}

}  // namespace

std::int64_t partial_section_bytes(const TileGrid& grid) {
  return partials_per_tile(grid) * std::int64_t{sizeof(SoftmaxPartial)} + kDigestBytes;
}

std::int64_t partial_file_bytes(const TileGrid& grid, const PartLayout& layout) {
  return kPartialHeadBytes + grid.rows() * layout.tile_columns.size() * partial_section_bytes(grid);
}

void preallocate_partials(FileCalls& calls, const TileGrid& grid,
                          const std::vector<std::string>& paths,
                          const std::vector<PartLayout>& layouts) {
  std::set<std::string> folders;
  for (std::size_t part = 0; part < paths.size(); ++part) {
    preallocate(calls, paths[part], grid, layouts[part]);
    folders.insert(parent_of(paths[part]));
  }
  for (const std::string& folder : folders)
    sync_directory(calls, folder);
}

bool reopen_partials(FileCalls& calls, const std::string& path, const TileGrid& grid,
                     const PartLayout& layout) {
  const auto status = find_status(calls, path);
  if (!status || !S_ISREG(status->st_mode) || status->st_size != partial_file_bytes(grid, layout)) {
    return false;
  }
  Head found{};
  File::open(calls, path, O_RDONLY | O_NOFOLLOW).read(std::as_writable_bytes(std::span(found)), 0);
  return found == head_of(grid, layout);
}

PartialFiles::PartialFiles(FileCalls& calls, const TileGrid& grid, std::vector<std::string> paths,
                           std::vector<PartLayout> layouts, TileAccess access)
    : grid_(grid),
      paths_(paths),
      layouts_(std::move(layouts)),
      files_(calls, std::move(paths), access) {}

std::int64_t PartialFiles::offset(std::size_t part, TileId tile) const {
  return kPartialHeadBytes + layouts_[part].place(grid_, tile) * partial_section_bytes(grid_);
}

Digest PartialFiles::write(TileId tile, std::span<const SoftmaxPartial> partials) {
  BULKSIM_EXPECT(std::ssize(partials) == partials_per_tile(grid_));
  const auto bytes = std::as_bytes(partials);
  const Digest digest = digest_of(bytes);
  const auto words = words_of(digest);
  std::vector<std::byte> section(bytes.begin(), bytes.end());
  const auto tail = std::as_bytes(std::span(words));
  section.insert(section.end(), tail.begin(), tail.end());
  const std::size_t part = part_of(layouts_, tile.column);
  files_.use(part).file().write(section, offset(part, tile));
  return digest;
}

std::optional<Digest> PartialFiles::read_section(TileId tile, std::vector<std::byte>& section) {
  const std::size_t part = part_of(layouts_, tile.column);
  section.resize(partial_section_bytes(grid_));
  files_.use(part).file().read(section, offset(part, tile));
  const auto partials = std::span(section).first(section.size() - kDigestBytes);
  const Digest digest = digest_of(partials);
  const auto words = words_of(digest);
  const bool whole = std::memcmp(section.data() + partials.size(), words.data(), sizeof words) == 0;
  return whole ? std::optional(digest) : std::nullopt;
}

Digest PartialFiles::read(TileId tile, std::span<SoftmaxPartial> to) {
  std::vector<std::byte> section;
  const auto digest = read_section(tile, section);
  if (!digest) {
    throw Error(ExitCode::kDataError, "'" + paths_[part_of(layouts_, tile.column)] +
                                          "' contains damaged softmax partials of tile " +
                                          std::to_string(tile.row) + "," +
                                          std::to_string(tile.column) +
                                          ": run the same command again to recompute them");
  }
  const auto bytes = std::as_writable_bytes(to);
  BULKSIM_EXPECT(bytes.size() + kDigestBytes == section.size());
  std::memcpy(bytes.data(), section.data(), bytes.size());
  return *digest;
}

std::optional<Digest> PartialFiles::digest_of_whole(TileId tile) {
  std::vector<std::byte> section;
  return read_section(tile, section);
}

}  // namespace bulksim
