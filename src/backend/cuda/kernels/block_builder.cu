#include <bit>

#include "backend/cuda/kernels/block_builder.hpp"
#include "backend/cuda/kernels/device_functions.cuh"
#include "backend/cuda/kernels/sort.hpp"

namespace bulksim::cuda {

namespace {

/// The entries of a slice before they are sorted into blocks. A key is block * labels + label;
/// entries without a label have the key `end`, the smallest one beyond all blocks.
struct Entries {
  std::int64_t count;
  std::uint32_t labels;
  std::uint64_t end;
  const std::uint64_t* keys;
  const int2* pairs;  // {value, item of the block}
};

__global__ void label_kernel(QueryRows queries, std::uint32_t* columns, std::int64_t count) {
  for (std::int64_t at = first_piece(); at < count; at += piece_stride()) {
    const std::uint32_t column = columns[at];
    const std::int64_t rank = lower_bound(queries.columns, std::int64_t{queries.labels}, column);
    const bool known = rank < queries.labels && queries.columns[rank] == column;
    columns[at] = known ? queries.label_of[rank] : kNoLabel;
  }
}

__global__ void key_kernel(ItemRows rows, std::int64_t count, BlockGrid grid, std::uint32_t labels,
                           std::uint64_t end, std::uint64_t* keys, int2* pairs) {
  for (std::int64_t at = first_piece(); at < count; at += piece_stride()) {
    const std::uint32_t label = rows.labels[at];
    const std::int64_t item = row_of_entry(rows.offsets, rows.rows, at);
    const std::uint64_t block = grid.block_of(item);
    keys[at] = label == kNoLabel ? end : block * labels + label;
    pairs[at] = make_int2(rows.values[at], grid.place_in_block(item));
  }
}

/// Finds where the entries of each block begin.
__global__ void first_kernel(Entries entries, std::int64_t blocks, std::int64_t* first) {
  for (std::int64_t block = first_piece(); block <= blocks; block += piece_stride()) {
    first[block] = lower_bound(entries.keys, entries.count,
                               static_cast<std::uint64_t>(block) * entries.labels);
  }
}

__device__ inline bool begins_list(const Entries& entries, std::int64_t at) {
  return at < entries.count && entries.keys[at] < entries.end &&
         (at == 0 || entries.keys[at - 1] != entries.keys[at]);
}

/// Sets the bit of each label that a block has.
__global__ void mark_kernel(Entries entries, std::int64_t words, uint2* look) {
  for (std::int64_t at = first_piece(); at < entries.count; at += piece_stride()) {
    if (!begins_list(entries, at)) continue;
    const std::int64_t block = entries.keys[at] / entries.labels;
    const auto label = static_cast<std::uint32_t>(entries.keys[at] % entries.labels);
    atomicOr(&look[block * words + label / 32].x, 1U << (label % 32));
  }
}

/// Counts the labels before each word; one warp per block.
__global__ void rank_kernel(std::int64_t blocks, std::int64_t words, uint2* look) {
  const unsigned lane = lane_of_thread();
  for (std::int64_t block = first_piece() / kWarp; block < blocks;
       block += piece_stride() / kWarp) {
    unsigned before = 0;
    for (std::int64_t run = 0; run < words; run += kWarp) {
      const std::int64_t word = block * words + run + lane;
      const bool inside = run + lane < words;
      const auto own = inside ? __popc(look[word].x) : 0U;
      unsigned up_to = own;
      for (unsigned delta = 1; delta < kWarp; delta *= 2) {
        const unsigned other = __shfl_up_sync(kAllLanes, up_to, delta);
        if (lane >= delta) up_to += other;
      }
      if (inside) look[word].y = before + up_to - own;
      before += __shfl_sync(kAllLanes, up_to, kWarp - 1);
    }
  }
}

/// Bank of the posting of this lane; kBanks if it has none.
__device__ inline int bank_of(bool present, int2 posting) {
  return present ? posting.y % kBanks : kBanks;
}

/// Copies a list in rounds, each with one item of every bank: the o-th posting of its bank follows
/// min(count of bank b, o or o + 1) postings of each bank b. Lane b counts bank b.
__device__ void spread_list(const int2* from, unsigned length, int2* to) {
  const unsigned lane = lane_of_thread();
  unsigned count = 0;
  for (unsigned run = 0; run < length; run += kWarp) {
    const bool present = run + lane < length;
    const int bank = bank_of(present, present ? from[run + lane] : int2{});
    for (unsigned b = 0; b < kBanks; ++b) {
      const unsigned members = __ballot_sync(kAllLanes, bank == static_cast<int>(b));
      if (lane == b) count += __popc(members);
    }
  }
  unsigned seen = 0;
  for (unsigned run = 0; run < length; run += kWarp) {
    const bool present = run + lane < length;
    const int2 posting = present ? from[run + lane] : int2{};
    const int bank = bank_of(present, posting);
    unsigned earlier = __shfl_sync(kAllLanes, seen, bank % kBanks);
    for (unsigned b = 0; b < kBanks; ++b) {
      const unsigned members = __ballot_sync(kAllLanes, bank == static_cast<int>(b));
      const auto before = static_cast<unsigned>(__popc(members & ((1U << lane) - 1)));
      if (bank == static_cast<int>(b)) earlier += before;
      if (lane == b) seen += __popc(members);
    }
    unsigned place = 0;
    for (int b = 0; b < kBanks; ++b) {
      const unsigned of_bank = __shfl_sync(kAllLanes, count, b);
      const unsigned turns = earlier + (b < bank ? 1U : 0U);
      place += turns < of_bank ? turns : of_bank;
    }
    if (present) to[place] = posting;
  }
}

/// Writes the lists of the blocks; each warp reads 32 entries and writes the lists that begin
/// there.
__global__ void list_kernel(Entries entries, ItemBlocks blocks, uint2* lists, int2* postings) {
  const unsigned lane = lane_of_thread();
  const std::int64_t stride = piece_stride() / kWarp * kWarp;
  for (std::int64_t run = first_piece() / kWarp * kWarp; run < entries.count; run += stride) {
    unsigned begins = __ballot_sync(kAllLanes, begins_list(entries, run + lane));
    for (; begins != 0; begins &= begins - 1) {
      const std::int64_t at = run + __ffs(begins) - 1;
      const std::uint64_t key = entries.keys[at];
      const std::int64_t left = entries.count - at;
      const auto length = static_cast<unsigned>(
          lower_bound(entries.keys + at, left < kBlockItems ? left : kBlockItems, key + 1));
      const std::int64_t block = key / entries.labels;
      const auto label = static_cast<std::uint32_t>(key % entries.labels);
      const std::int64_t base = blocks.first[block];
      if (lane == 0) {
        const unsigned rank = rank_of(blocks.look + block * blocks.words, label);
        lists[base + rank] = make_uint2(static_cast<unsigned>(at - base), length);
      }
      spread_list(entries.pairs + at, length, postings + at);
    }
  }
}

std::int64_t words_of(std::uint32_t labels) {
  return (std::int64_t{labels} + 31) / 32;
}

int key_bits(const BlockGrid& grid, std::uint32_t labels) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(grid.blocks()) * labels));
}

}  // namespace

void label_columns(const QueryRows& queries, std::uint32_t* columns, std::int64_t count,
                   const Stream& stream) {
  if (count == 0) return;
  BULKSIM_LAUNCH(label_kernel, blocks_for(count), kPieceThreads, 0, stream.get(), queries, columns,
                 count);
  check_launch("the label kernel");
}

void BlockBuilder::reserve(const BlockGrid& grid, std::int64_t entries, std::uint32_t labels) {
  for (auto& keys : keys_)
    keys.reserve(entries);
  for (auto& pairs : pairs_)
    pairs.reserve(entries);
  lists_.reserve(entries);
  look_.reserve(grid.blocks() * words_of(labels));
  first_.reserve(grid.blocks() + 1);
  scratch_.reserve(scratch_bytes(grid, entries, labels));
}

std::int64_t BlockBuilder::scratch_bytes(const BlockGrid& grid, std::int64_t entries,
                                         std::uint32_t labels) {
  return entries == 0 ? 0 : sort_scratch_bytes(entries, key_bits(grid, labels));
}

void BlockBuilder::clear() {
  *this = BlockBuilder();
}

ItemBlocks BlockBuilder::build(const ItemRows& rows, std::int64_t entries, const BlockGrid& grid,
                               std::uint32_t labels, const Stream& stream) {
  reserve(grid, entries, labels);
  const std::int64_t words = words_of(labels);
  const std::int64_t blocks = grid.blocks();
  cuda::clear(look_.data(), blocks * words, stream);
  cuda::clear(first_.data(), blocks + 1, stream);
  if (entries == 0 || labels == 0) {
    return {grid, words, look_.data(), first_.data(), lists_.data(), nullptr};
  }
  const std::uint64_t end = static_cast<std::uint64_t>(blocks) * labels;
  const unsigned pieces = blocks_for(entries);
  BULKSIM_LAUNCH(key_kernel, pieces, kPieceThreads, 0, stream.get(), rows, entries, grid, labels,
                 end, keys_[0].data(), pairs_[0].data());
  check_launch("the key kernel");
  const SortBuffers buffers{{keys_[0].data(), keys_[1].data()},
                            {pairs_[0].data(), pairs_[1].data()}};
  const int sorted = sort_by_key(scratch_.data(), scratch_.size(), buffers, entries,
                                 key_bits(grid, labels), stream);
  const Entries in_order{entries, labels, end, keys_[sorted].data(), pairs_[sorted].data()};
  int2* const postings = pairs_[1 - sorted].data();
  const ItemBlocks result{grid, words, look_.data(), first_.data(), lists_.data(), postings};
  BULKSIM_LAUNCH(first_kernel, blocks_for(blocks + 1), kPieceThreads, 0, stream.get(), in_order,
                 blocks, first_.data());
  check_launch("the first-entry kernel");
  BULKSIM_LAUNCH(mark_kernel, pieces, kPieceThreads, 0, stream.get(), in_order, words,
                 look_.data());
  check_launch("the mark kernel");
  BULKSIM_LAUNCH(rank_kernel, blocks_for(blocks * kWarp), kPieceThreads, 0, stream.get(), blocks,
                 words, look_.data());
  check_launch("the rank kernel");
  BULKSIM_LAUNCH(list_kernel, pieces, kPieceThreads, 0, stream.get(), in_order, result,
                 lists_.data(), postings);
  check_launch("the list kernel");
  return result;
}

}  // namespace bulksim::cuda
