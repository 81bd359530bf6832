#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "backend/rows/aligned_buffer.hpp"
#include "backend/rows/item_blocks.hpp"
#include "backend/rows/labelled_rows.hpp"
#include "bulksim/backend/similarity_backend.hpp"
#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/types.hpp"
#include "bulksim/sparse/fixed_point.hpp"

namespace bulksim {

/// A query entry whose column is present in the current sub-block.
struct WeightedColumn {
  std::uint32_t start;   ///< as in BlockColumn
  std::uint32_t groups;  ///< as in BlockColumn
  std::int32_t weight;
};

/// Kernel memory of one thread.
class KernelScratch {
 public:
  /// Enough for sub-blocks of `items` and query rows of `longest` entries.
  void require(std::int64_t items, std::int64_t longest) {
    accumulators_.require(accumulators_of(items));
    const auto entries = static_cast<std::size_t>(longest) + 1;  // one more is written than is kept
    lists_.require(entries);
    dense_.require(entries);
    nonzero_.require(kNonzeroRoom);
  }
  static std::int64_t bytes(std::int64_t items, std::int64_t longest) {
    constexpr std::size_t kEntryBytes = 2 * sizeof(WeightedColumn);
    return accumulators_of(items) * std::int64_t{sizeof(std::int64_t)} +
           (longest + 1) * static_cast<std::int64_t>(kEntryBytes) +
           static_cast<std::int64_t>(kNonzeroRoom * sizeof(float));
  }
  /// One per item of a padded sub-block, plus the spare ones.
  static std::int64_t accumulators_of(std::int64_t items) {
    return ItemBlock::padded(items) + kSpareItems;
  }

  std::int64_t* accumulators() { return accumulators_.data(); }
  WeightedColumn* lists() { return lists_.data(); }
  WeightedColumn* dense() { return dense_.data(); }
  float* nonzero() { return nonzero_.data(); }

 private:
  /// The cosines of a fine block, plus two vectors.
  static constexpr std::size_t kNonzeroRoom = kFineRows + std::size_t{2} * 16;

  AlignedBuffer<std::int64_t> accumulators_;
  AlignedBuffer<WeightedColumn> lists_;
  AlignedBuffer<WeightedColumn> dense_;
  AlignedBuffer<float> nonzero_;
};

/// Neighbouring queries times one sub-block.
struct BlockTask {
  const LabelledRows* queries = nullptr;
  RowRange rows;                     ///< of the queries
  const ItemBlock* block = nullptr;  ///< built for the lanes of the kernel
  float* out = nullptr;              ///< score of the first query and first item of the block
  std::int64_t out_stride = 0;       ///< values from one query to the next
  /// A(q,i) is added to [i], modulo 2^64, for each query; padded_items() of them, aligned. Only for
  /// kRowsAndColumns.
  std::int64_t* column_sums = nullptr;
  /// Partials of the first query and the first 1,024 items of the block; those of empty query rows
  /// are left unchanged. Only for Partials::kOn.
  SoftmaxPartial* partials = nullptr;
  std::int64_t partial_stride = 0;  ///< partials from one query to the next
  ExpScale exp_scale;
  KernelScratch* scratch = nullptr;
};

/// A cell whose score is wanted.
struct FoundCell {
  std::uint32_t item;  ///< within the sub-block
  float score;
};

/// A score, and the middle between it and the float32 below it: no float64 below that is rounded to
/// the score.
struct ScoreFloor {
  float score;
  double middle;

  static ScoreFloor of(float score) {
    constexpr float kLeast = -std::numeric_limits<float>::max();
    if (score <= kLeast) return {score, -std::numeric_limits<double>::infinity()};
    const double below = std::nextafter(score, kLeast);
    return {score, (score + below) / 2};
  }
};

/// Neighbouring queries times one sub-block, of which only high scores are wanted.
struct FilterTask {
  const LabelledRows* queries = nullptr;
  RowRange rows;                       ///< of the queries
  const ItemBlock* block = nullptr;    ///< built for the lanes of the kernel
  const ScoreFloor* floors = nullptr;  ///< by row
  /// By item of the padded sub-block: scores from there on are wanted as well; or null.
  const float* item_floors = nullptr;
  KernelScratch* scratch = nullptr;
  FoundCell* out = nullptr;       ///< room for all cells
  std::uint32_t* ends = nullptr;  ///< by row: end of its cells in `out`, items ascending
};

/// Which sums the kernel forms while it reads the accumulators.
enum class Identities {
  kRows,            ///< per query and 1,024 items, compared by the kernel
  kRowsAndColumns,  ///< also per item over the queries of a tile, for the caller to compare
};

/// Whether the softmax partials of the block sums are computed.
enum class Partials { kOff, kOn };

/// Computes a task. Returns the number of row identities that do not hold.
using BlockFunction = std::int64_t (*)(const BlockTask&);

/// The same for a filter: the scores that are not wanted are not rounded and not written.
using FilterFunction = std::int64_t (*)(const FilterTask&);

struct KernelVariants {
  BlockFunction functions[2][2];  ///< indexed by Identities and Partials
  FilterFunction filter;
};

/// The functions compiled once per instruction set.
struct KernelFunctions {
  std::int64_t lanes;
  void (*stream)(float* out, std::size_t size);
  KernelVariants any;
  KernelVariants non_negative;  ///< cosines in Q26 of rows without negative values
};

/// The kernel for one instruction set.
class CpuKernel {
 public:
  /// The best one of this machine, or the requested one; throws Error (64) when the machine or the
  /// build does not have it.
  static CpuKernel choose(Simd simd);

  const std::string& name() const { return name_; }        ///< "AVX3"
  std::int64_t lanes() const { return functions_.lanes; }  ///< for BlockLayout
  /// `signs` covers both queries and items.
  BlockFunction function(FixedPoint format, Signs signs, Identities identities,
                         Partials partials = Partials::kOff) const;
  FilterFunction filter_function(FixedPoint format, Signs signs) const;
  /// Streaming stores that bypass the caches, for measurements; `out` is aligned and `size` a
  /// multiple of 16.
  void stream(float* out, std::size_t size) const { functions_.stream(out, size); }

 private:
  const KernelVariants& variants(FixedPoint format, Signs signs) const;

  CpuKernel(std::string name, const KernelFunctions& functions)
      : name_(std::move(name)), functions_(functions) {}

  std::string name_;
  KernelFunctions functions_;
};

}  // namespace bulksim
