#include "backend/cuda/device_memory.hpp"

#include "blocks/fine_grid.hpp"
#include "core/text/format_text.hpp"

namespace bulksim::cuda {

namespace {

constexpr std::int64_t kOffset = 8;
constexpr std::int64_t kScale = 8;
constexpr std::int64_t kEntry = 8;      // a column or label, and a value
constexpr std::int64_t kSortKey = 8;    // block and label
constexpr std::int64_t kList = 8;       // first posting and postings of a label
constexpr std::int64_t kSum = 8;        // modulo 2^64
constexpr std::int64_t kCandidate = 8;  // item and score

/// Two bits per label.
std::int64_t look_up_bytes(std::int64_t labels) {
  constexpr std::int64_t kWordLabels = 32;
  constexpr std::int64_t kWordBytes = 8;
  return divide_up(labels, kWordLabels) * kWordBytes;
}

/// Floors, counts and first positions of rows, bits of cells, and the candidates.
std::int64_t filter_memory(const TileShape& tile, std::int64_t tiles) {
  const std::int64_t row = 12 + divide_up(tile.items, 32) * 4;
  return tiles * (tile.queries * row + 4 + candidate_capacity(tile.cells()) * kCandidate);
}

}  // namespace

std::string DeviceMemory::text() const {
  return "queries " + bytes_text(queries) + " + item rows " + bytes_text(item_rows) +
         " + item blocks " + bytes_text(item_blocks) + " + tiles " + bytes_text(tiles);
}

std::int64_t query_memory(std::int64_t rows, std::int64_t entries, std::int64_t labels) {
  constexpr std::int64_t kOrder = 4;  // of the rows by length
  constexpr std::int64_t kLabel = 8;  // a column and its label
  return (rows + 1) * kOffset + rows * (kScale + kOrder) + entries * kEntry + labels * kLabel;
}

std::int64_t item_row_memory(const SliceSize& slice) {
  return (slice.items + 1) * kOffset + slice.items * kScale + slice.entries * kEntry;
}

std::int64_t item_block_memory(const TileShape& tile, const SliceSize& slice,
                               std::int64_t scratch) {
  const std::int64_t of_a_tile = divide_up(tile.items, kBlockItems);
  const std::int64_t blocks = divide_up(slice.items, tile.items) * of_a_tile;
  return slice.entries * (2 * kSortKey + 2 * kEntry + kList) +
         blocks * look_up_bytes(slice.labels) + (blocks + 1) * kOffset +
         of_a_tile * slice.labels * kSum + scratch;
}

std::int64_t sort_scratch_estimate(std::int64_t entries) {
  return entries / 4 + (std::int64_t{1} << 16);
}

std::int64_t tile_memory(const CudaBackendOptions& options, std::int64_t tiles, bool filtered) {
  const TileShape& tile = options.grid.tile();
  const bool has_values = options.content != TileContent::kPartials;
  const bool has_partials = options.content != TileContent::kValues;
  const std::int64_t values = has_values ? tile.cells() * std::int64_t{sizeof(float)} : 0;
  const std::int64_t partials =
      has_partials ? partials_per_tile(options.grid) * std::int64_t{sizeof(SoftmaxPartial)} : 0;
  const std::int64_t row_sums = divide_up(tile.items, kBlockItems) * tile.queries * kSum;
  constexpr std::int64_t kMismatches = 4;
  return tiles * (values + partials + row_sums + kMismatches) +
         (filtered ? filter_memory(tile, tiles) : 0);
}

std::int64_t block_read_bytes(std::int64_t entries, std::int64_t labels) {
  return entries * (kEntry + kList) + look_up_bytes(labels);
}

}  // namespace bulksim::cuda
