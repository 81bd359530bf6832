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
  const auto digest = [](const TextList& names) {
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

std::size_t part_of(const ResultFacts& facts, TileId tile) {
  std::size_t part = 0;
  while (facts.parts.layouts[part].tile_columns.end <= tile.column)
    ++part;
  return part;
}

/// Takes the index of tiles out of a file into the facts, and into the head that is expected.
void take_index(const std::vector<std::byte>& found, const std::string& digest,
                std::vector<std::byte>& head, ResultFacts& facts) {
  const std::vector<Digest> none(static_cast<std::size_t>(facts.grid.count()));
  const std::size_t bytes = encode_embedded_index(none).size();
  facts.group = tiles_of_a_digest(facts.grid.count());
  const auto index = std::span(found).subspan(static_cast<std::size_t>(kEmbeddedIndexAt), bytes);
  if (digest_of(index).hex() != digest) return;
  std::copy(index.begin(), index.end(), head.begin() + kEmbeddedIndexAt);
  facts.digests = decode_tile_index({reinterpret_cast<const char*>(index.data()), bytes});
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

ResultFacts verify_file(FileCalls& calls, const std::string& path, Verdict& verdict) {
  ResultFacts facts;
  verdict.files = 1;
  const auto damage = [&](const std::string& what) {
    verdict.damage.push_back({path, what, {}, {}, {}, {}, 0});
  };
  if (!survives_opening(calls, path)) {
    damage("makes the HDF5 library crash");
    return facts;
  }
  try {
    const auto reader = SimilarityReader::open(calls, path);
    facts.grid = reader.grid();
    facts.queries = Digest::from_hex(text_of(reader.attributes(), "queries_content"));
    facts.items = Digest::from_hex(text_of(reader.attributes(), "items_content"));
    facts.arithmetic.bits = static_cast<int>(number_of(reader.attributes(), "grid_bits"));
    if (text_of(reader.attributes(), "metric") == "dot") facts.arithmetic.metric = Metric::kDot;
    facts.value_type = reader.value_type();
    facts.error_bound = real_of(reader.attributes(), "error_bound");
    facts.has_nan_rows = text_of(reader.attributes(), "zero_rows") == "nan";
    facts.nan_cells = number_of(reader.attributes(), "nan_cells");
    const PartLayout layout = plan_part(facts.grid, {0, facts.grid.columns()}, "similarity",
                                        reader.id_widths(), facts.value_type);
    const std::string scratch = std::filesystem::temp_directory_path().string() +
                                "/bulksim-verify-" + std::to_string(::getpid());
    auto head = part_head(calls, scratch, facts.grid, layout, in_order(reader.attributes()));
    std::vector<std::byte> found(head.size());
    File::open(calls, path, O_RDONLY).read(found, 0);
    if (layout.has_tiles()) {
      take_index(found, text_of(reader.attributes(), "tile_index"), head, facts);
    }
    if (found != head) damage("has other bytes than were published before its tiles");
    if (!has_its_ids(reader)) damage("has other ids than were published");
    facts.parts = {{path}, {layout}};
    facts.names = {path};
    facts.readable = {1};
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError) throw;
    damage(error.what());
  }
  return facts;
}

Damage damaged_tile(const ResultFacts& facts, TileId tile, const std::string& what) {
  const std::size_t part = part_of(facts, tile);
  return {facts.names[part],
          what,
          part,
          tile,
          facts.grid.queries(tile.row),
          facts.grid.items(tile.column),
          facts.parts.layouts[part].offset(facts.grid, tile)};
}

void verify_tiles(FileCalls& calls, const ResultFacts& facts, int threads, Verdict& verdict) {
  constexpr std::int64_t kTilesAtOnce = 4096;
  TileFiles files(calls, facts.grid, facts.parts.paths, facts.parts.layouts, TileAccess::kRead);
  const auto nan_rows = facts.has_nan_rows ? WholeNanRows::kCount : WholeNanRows::kIgnore;
  std::int64_t explained = 0;
  const std::int64_t step = divide_up(kTilesAtOnce, facts.group) * facts.group;
  for (std::int64_t begin = 0; begin < facts.grid.count(); begin += step) {
    std::vector<std::int64_t> tiles;
    for (std::int64_t tile = begin; tile < std::min(begin + step, facts.grid.count()); ++tile) {
      if (facts.readable[part_of(facts, facts.grid.id(tile))] == 1) tiles.push_back(tile);
    }
    const auto findings =
        inspect_tiles(files, facts.grid, tiles, threads, nan_rows, largest_score(facts.arithmetic));
    verdict.tiles += std::ssize(tiles);
    for (std::size_t i = 0; i < tiles.size(); i += static_cast<std::size_t>(facts.group)) {
      std::vector<Digest> group;
      const auto end = std::min(tiles.size(), i + static_cast<std::size_t>(facts.group));
      for (std::size_t t = i; t < end; ++t)
        group.push_back(findings[t].digest);
      const bool whole =
          facts.digests.empty() ||
          digest_of_group(group) == facts.digests[static_cast<std::size_t>(tiles[i] / facts.group)];
      for (std::size_t t = i; t < end; ++t) {
        const TileId id = facts.grid.id(tiles[t]);
        const std::int64_t others = findings[t].outside - findings[t].explained;
        explained += findings[t].explained;
        if (!whole) {
          verdict.damage.push_back(
              damaged_tile(facts, id, "the tile has other bytes than were published"));
        } else if (others > 0) {
          verdict.damage.push_back(
              damaged_tile(facts, id, std::to_string(others) + " values are no scores"));
        }
      }
    }
  }
  if (verdict.damage.empty() && explained != facts.nan_cells) {
    verdict.damage.push_back({facts.names.front(),
                              std::to_string(explained) +
                                  " cells of rows without values are NaN "
                                  "instead of " +
                                  std::to_string(facts.nan_cells),
                              {},
                              {},
                              {},
                              {},
                              0});
  }
}

}  // namespace bulksim
