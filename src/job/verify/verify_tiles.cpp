#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>

#include <sys/wait.h>
#include <unistd.h>

#include "bulksim/core/error.hpp"
#include "job/verify/verification.hpp"
#include "storage/parts/tile_index.hpp"
#include "storage/parts/tile_inspection.hpp"
#include "storage/result/pair_file.hpp"
#include "storage/result/similarity_file.hpp"
#include "storage/run/manifest.hpp"

namespace bulksim {

namespace {

/// The order in which a run writes the attributes of a single-file result.
constexpr std::array<std::string_view, 16> kAttributeOrder{
    "complete",        "tile_queries",     "tile_items",      "plan",
    "queries_content", "items_content",    "metric",          "arithmetic_version",
    "grid_bits",       "error_bound",      "zero_rows",       "nan_cells",
    "vocabulary",      "query_ids_digest", "item_ids_digest", "tile_index"};

std::string text_of(const FileAttributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes) {
    const auto* text = std::get_if<std::string>(&value);
    if (key == name && text != nullptr) return *text;
  }
  return "";
}

std::int64_t number_of(const FileAttributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes) {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (key == name && number != nullptr) return *number;
  }
  return 0;
}

double real_of(const FileAttributes& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes) {
    const auto* number = std::get_if<double>(&value);
    if (key == name && number != nullptr) return *number;
  }
  return 0.0;
}

bool has_its_ids(const SimilarityReader& reader) {
  const MatrixShape shape = reader.grid().shape();
  const auto digest = [](const StringTable& names) {
    return names.empty() ? "" : names.digest().hex();
  };
  return digest(reader.query_ids({0, shape.queries})) ==
             text_of(reader.attributes(), "query_ids_digest") &&
         digest(reader.item_ids({0, shape.items})) ==
             text_of(reader.attributes(), "item_ids_digest");
}

FileAttributes in_order(FileAttributes attributes) {
  const auto place = [](const auto& attribute) {
    return std::find(kAttributeOrder.begin(), kAttributeOrder.end(), attribute.first) -
           kAttributeOrder.begin();
  };
  std::stable_sort(attributes.begin(), attributes.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return attributes;
}

std::size_t part_of(const ResultInfo& info, TileId tile) {
  std::size_t part = 0;
  while (info.parts.layouts[part].tile_columns.end <= tile.column)
    ++part;
  return part;
}

/// Takes the index of tiles out of a file into the info, and into the head that is expected.
void take_index(const std::vector<std::byte>& found, const std::string& digest,
                std::vector<std::byte>& head, ResultInfo& info) {
  const std::vector<Digest> none(static_cast<std::size_t>(info.grid.count()));
  const std::size_t bytes = encode_embedded_index(none).size();
  info.group = tiles_of_a_digest(info.grid.count());
  const auto index = std::span(found).subspan(static_cast<std::size_t>(kEmbeddedIndexAt), bytes);
  if (digest_of(index).hex() != digest) return;
  std::copy(index.begin(), index.end(), head.begin() + kEmbeddedIndexAt);
  info.digests = decode_tile_index({reinterpret_cast<const char*>(index.data()), bytes});
}

}  // namespace

bool survives_opening(FileCalls& calls, const std::string& path) {
  const pid_t child = ::fork();
  if (child == -1) throw system_error("start a process to open", path, errno);
  if (child == 0) {
    try {
      if (!PairFileReader::open(calls, path)) SimilarityReader::open(calls, path);
    } catch (...) {
      // the parent meets the same error, if it is one
    }
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return WIFEXITED(status);
}

ResultInfo verify_file(FileCalls& calls, const std::string& path, Verdict& verdict) {
  ResultInfo info;
  verdict.files = 1;
  const auto damage = [&](const std::string& what) {
    verdict.damage.push_back({path, what, {}, {}, {}, {}, 0});
  };
  if (!survives_opening(calls, path)) {
    damage("makes the HDF5 library crash");
    return info;
  }
  try {
    const auto reader = SimilarityReader::open(calls, path);
    info.grid = reader.grid();
    info.queries = Digest::from_hex(text_of(reader.attributes(), "queries_content"));
    info.items = Digest::from_hex(text_of(reader.attributes(), "items_content"));
    info.arithmetic.bits = static_cast<int>(number_of(reader.attributes(), "grid_bits"));
    if (text_of(reader.attributes(), "metric") == "dot") info.arithmetic.metric = Metric::kDot;
    info.value_type = reader.value_type();
    info.error_bound = real_of(reader.attributes(), "error_bound");
    info.has_nan_rows = text_of(reader.attributes(), "zero_rows") == "nan";
    info.nan_cells = number_of(reader.attributes(), "nan_cells");
    const PartLayout layout = plan_part(info.grid, {0, info.grid.columns()}, "similarity",
                                        reader.id_widths(), info.value_type);
    const std::string scratch = std::filesystem::temp_directory_path().string() +
                                "/bulksim-verify-" + std::to_string(::getpid());
    auto head = part_head(calls, scratch, info.grid, layout, in_order(reader.attributes()));
    std::vector<std::byte> found(head.size());
    File::open(calls, path, O_RDONLY).read(found, 0);
    if (layout.has_tiles()) {
      take_index(found, text_of(reader.attributes(), "tile_index"), head, info);
    }
    if (found != head) damage("has other bytes than were published before its tiles");
    if (!has_its_ids(reader)) damage("has other ids than were published");
    info.parts = {{path}, {layout}};
    info.names = {path};
    info.readable = {1};
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError) throw;
    damage(error.what());
  }
  return info;
}

Damage damaged_tile(const ResultInfo& info, TileId tile, const std::string& what) {
  const std::size_t part = part_of(info, tile);
  return {info.names[part],
          what,
          part,
          tile,
          info.grid.queries(tile.row),
          info.grid.items(tile.column),
          info.parts.layouts[part].offset(info.grid, tile)};
}

void verify_tiles(FileCalls& calls, const ResultInfo& info, int threads, Verdict& verdict) {
  constexpr std::int64_t kTilesAtOnce = 4096;
  TileFiles files(calls, info.grid, info.parts.paths, info.parts.layouts, TileAccess::kRead);
  const auto nan_rows = info.has_nan_rows ? WholeNanRows::kCount : WholeNanRows::kIgnore;
  std::int64_t explained = 0;
  const std::int64_t step = divide_up(kTilesAtOnce, info.group) * info.group;
  for (std::int64_t begin = 0; begin < info.grid.count(); begin += step) {
    std::vector<std::int64_t> tiles;
    for (std::int64_t tile = begin; tile < std::min(begin + step, info.grid.count()); ++tile) {
      if (info.readable[part_of(info, info.grid.id(tile))] == 1) tiles.push_back(tile);
    }
    const auto findings =
        inspect_tiles(files, info.grid, tiles, threads, nan_rows, largest_score(info.arithmetic));
    verdict.tiles += std::ssize(tiles);
    for (std::size_t i = 0; i < tiles.size(); i += static_cast<std::size_t>(info.group)) {
      std::vector<Digest> group;
      const auto end = std::min(tiles.size(), i + static_cast<std::size_t>(info.group));
      for (std::size_t t = i; t < end; ++t)
        group.push_back(findings[t].digest);
      const bool whole =
          info.digests.empty() ||
          digest_of_group(group) == info.digests[static_cast<std::size_t>(tiles[i] / info.group)];
      for (std::size_t t = i; t < end; ++t) {
        const TileId id = info.grid.id(tiles[t]);
        const std::int64_t others = findings[t].outside - findings[t].explained;
        explained += findings[t].explained;
        if (!whole) {
          verdict.damage.push_back(
              damaged_tile(info, id, "the tile has other bytes than were published"));
        } else if (others > 0) {
          verdict.damage.push_back(
              damaged_tile(info, id, std::to_string(others) + " values are no scores"));
        }
      }
    }
  }
  if (verdict.damage.empty() && explained != info.nan_cells) {
    verdict.damage.push_back({info.names.front(),
                              std::to_string(explained) +
                                  " cells of rows without values are NaN "
                                  "instead of " +
                                  std::to_string(info.nan_cells),
                              {},
                              {},
                              {},
                              {},
                              0});
  }
}

}  // namespace bulksim
