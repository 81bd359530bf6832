#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backend/aligned_buffer.hpp"
#include "backend/item_blocks.hpp"
#include "backend/labelled_rows.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/grid.hpp"

namespace bulksim {

/// A query entry whose column is present in the sub-block at hand.
struct PresentEntry {
  std::uint32_t rank;
  std::int32_t value;
};

/// The same entry on its way into the accumulators.
struct WeightedColumn {
  BlockColumn column;
  std::int32_t weight;
};

/// Memory of one thread in the kernel.
class KernelScratch {
 public:
  /// Enough for sub-blocks of `items` and query rows of `longest` entries.
  void require(std::int64_t items, std::int64_t longest);
  static std::int64_t bytes(std::int64_t items, std::int64_t longest);

  /// One an item, then the spare ones; zeros between calls.
  std::int64_t* accumulators() { return accumulators_.data(); }
  PresentEntry* present() { return present_.data(); }
  WeightedColumn* lists() { return lists_.data(); }
  WeightedColumn* dense() { return dense_.data(); }

 private:
  AlignedBuffer<std::int64_t> accumulators_;
  AlignedBuffer<PresentEntry> present_;
  AlignedBuffer<WeightedColumn> lists_;
  AlignedBuffer<WeightedColumn> dense_;
};

/// Neighbouring queries times one sub-block.
struct BlockTask {
  const LabelledRows* queries = nullptr;
  RowRange rows;                     ///< of the queries
  const ItemBlock* block = nullptr;  ///< built for the lanes of the kernel
  float* out = nullptr;              ///< cosine of the first query and the first item of the block
  std::int64_t out_stride = 0;       ///< values from one query to the next
  /// A(q,i) is added to [i], modulo 2^64, for each query; padded_items() of them, aligned. Only for
  /// kRowsAndColumns.
  std::int64_t* column_sums = nullptr;
  KernelScratch* scratch = nullptr;
};

/// Which sums are taken from the accumulators while they pass by.
enum class Identities {
  kRows,            ///< each query and 1,024 items, compared at once
  kRowsAndColumns,  ///< also each item and the queries of a tile, for the caller to compare
};

/// Computes a task. Returns the number of row identities that do not hold.
using BlockFunction = std::int64_t (*)(const BlockTask&);

/// The kernel, compiled for one instruction set.
class CpuKernel {
 public:
  /// The best one of this machine, or the one asked for; throws Error (64) when the machine or the
  /// build lacks it.
  static CpuKernel choose(Simd simd);

  const std::string& name() const { return name_; }  ///< "AVX3"
  std::int64_t lanes() const { return lanes_; }      ///< for BlockLayout
  BlockFunction function(Grid grid, Identities identities) const;
  /// Streaming stores past the caches, for measuring; `out` aligned, `size` a multiple of 16.
  void stream(float* out, std::size_t size) const { stream_(out, size); }

 private:
  std::string name_;
  std::int64_t lanes_ = 1;
  void (*stream_)(float*, std::size_t) = nullptr;
  BlockFunction functions_[2][2] = {};  // [fine, wide][rows, rows and columns]
};

}  // namespace bulksim
