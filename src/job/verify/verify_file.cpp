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
#include "storage/result/pair_file.hpp"
#include "storage/result/similarity_file.hpp"

namespace bulksim {

namespace {

/// The order in which a run writes the attributes of a single-file result.
constexpr std::array<std::string_view, 16> kAttributeOrder{
    "complete",        "tile_queries",     "tile_items",      "plan",
    "queries_content", "items_content",    "metric",          "arithmetic_version",
    "fraction_bits",   "error_bound",      "zero_rows",       "nan_cells",
    "vocabulary",      "query_ids_digest", "item_ids_digest", "tile_index"};

template <class T>
T value_of(const FileAttributes& attributes, std::string_view name) {
  return find_attribute<T>(attributes, name).value_or(T{});
}

std::string text_of(const FileAttributes& attributes, std::string_view name) {
  return value_of<std::string>(attributes, name);
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
    // the name in results of the older arithmetic
    const std::string_view name =
        attribute.first == "grid_bits" ? "fraction_bits" : std::string_view(attribute.first);
    return std::find(kAttributeOrder.begin(), kAttributeOrder.end(), name) -
           kAttributeOrder.begin();
  };
  std::stable_sort(attributes.begin(), attributes.end(),
                   [&](const auto& a, const auto& b) { return place(a) < place(b); });
  return attributes;
}

/// Reads the index of tiles from a file into the info and into the expected head.
void take_index(const std::vector<std::byte>& found, const std::string& digest,
                std::vector<std::byte>& head, ResultInfo& info) {
  const std::vector<Digest> none(info.grid.count());
  const std::size_t bytes = encode_embedded_index(none).size();
  info.group = tiles_of_a_digest(info.grid.count());
  const auto index = std::span(found).subspan(kEmbeddedIndexAt, bytes);
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
      // the parent gets the same error
    }
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return WIFEXITED(status);
}

void require_intact(FileCalls& calls, const std::string& result) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;
  if (File::open(calls, result, O_RDONLY).size() > kMostBytes) return;
  Verdict verdict;
  verdict.path = result;
  if (plan_of_pair_file(calls, result).empty()) {
    verify_tiles(calls, verify_file(calls, result, verdict), 1, verdict);
  } else if (check_digest(calls, result) == FileDigest::kDiffers) {
    verdict.damage.push_back({result, "differs from what was published"});
  }
  if (verdict.damage.empty()) return;
  const Damage& damage = verdict.damage.front();
  throw Error(
      ExitCode::kDataError,
      "'" + damage.file + "' " + damage.what +
          ": this result is published already and damaged; compute it anew with --overwrite");
}

ResultInfo verify_file(FileCalls& calls, const std::string& path, Verdict& verdict) {
  ResultInfo info;
  verdict.files = 1;
  const auto damage = [&](const std::string& what) { verdict.damage.push_back({path, what}); };
  try {
    const auto reader = SimilarityReader::open(calls, path);
    info.grid = reader.grid();
    info.queries = Digest::from_hex(text_of(reader.attributes(), "queries_content"));
    info.items = Digest::from_hex(text_of(reader.attributes(), "items_content"));
    info.arithmetic_version =
        static_cast<int>(value_of<std::int64_t>(reader.attributes(), "arithmetic_version"));
    info.arithmetic.bits =
        static_cast<int>(value_of<std::int64_t>(reader.attributes(), "fraction_bits"));
    if (text_of(reader.attributes(), "metric") == "dot") info.arithmetic.metric = Metric::kDot;
    info.value_type = reader.value_type();
    info.error_bound = value_of<double>(reader.attributes(), "error_bound");
    info.has_nan_rows = text_of(reader.attributes(), "zero_rows") == "nan";
    info.nan_cells = value_of<std::int64_t>(reader.attributes(), "nan_cells");
    const PartLayout layout = plan_part(info.grid, {0, info.grid.columns()}, "similarity",
                                        reader.id_sizes(), info.value_type);
    auto head = part_head(calls, std::filesystem::temp_directory_path(), info.grid, layout,
                          in_order(reader.attributes()));
    std::vector<std::byte> found(head.size());
    File::open(calls, path, O_RDONLY).read(found, 0);
    if (layout.has_tiles()) {
      take_index(found, text_of(reader.attributes(), "tile_index"), head, info);
    }
    if (found != head) damage("differs from what was published in the bytes before its tiles");
    if (!has_its_ids(reader)) damage("does not contain the ids that were published");
    info.parts = {{path}, {layout}};
    info.names = {path};
    info.readable = {1};
  } catch (const Error& error) {
    if (error.code() != ExitCode::kDataError) throw;
    damage(error.what());
  }
  return info;
}

}  // namespace bulksim
