// The inner loop: queries times one inverted sub-block of items, exact in int64.
//
// Included once for each instruction set by foreach_target.h; no macro of its own may survive a
// pass. A step takes 2 N items (N 64-bit lanes): vector `low` holds the sums of the first N,
// `high` those of the others. Dense columns lie such that even and odd 32-bit lanes are these
// halves, so one 32 x 32 -> 64 bit multiplication each needs no permutation.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu_kernel.cpp"
#ifndef HWY_COMPILE_ALL_ATTAINABLE
#define HWY_COMPILE_ALL_ATTAINABLE  // keeps the scalar kernel, which tests compare
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include "backend/cpu_kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bulksim {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::CappedTag<std::int64_t, 8>;
using Bits = hn::RebindToUnsigned<Sums>;
using SumVector = hn::Vec<Sums>;
constexpr std::size_t kLanes = hn::MaxLanes(Sums());
constexpr std::size_t kGroupItems = 2 * kLanes;
// 32 or 16 registers: smaller numbers are better targets
constexpr std::size_t kGroups = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
constexpr std::size_t kStepItems = kGroups * kGroupItems;
static_assert(kBlockAlignment % kStepItems == 0);
static_assert(kFineRows % kStepItems == 0);

/// Sums of one group of items.
struct Group {
  SumVector low;
  SumVector high;
};

HWY_INLINE Group load(const std::int64_t* sums) {
  return {hn::Load(Sums(), sums), hn::Load(Sums(), sums + kLanes)};
}

HWY_INLINE void store(const Group& group, std::int64_t* sums) {
  hn::Store(group.low, Sums(), sums);
  hn::Store(group.high, Sums(), sums + kLanes);
}

/// Adds weight x value for a group of a dense column.
HWY_INLINE void multiply_add(std::int32_t weight, const std::int32_t* values, Group& group) {
#if HWY_TARGET == HWY_SCALAR
  const hn::Rebind<std::int32_t, Sums> d;
  const auto even = hn::Load(d, values);
  const auto odd = hn::Load(d, values + 1);
#else
  const hn::Repartition<std::int32_t, Sums> d;
  const auto even = hn::Load(d, values);
  const auto odd = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(Bits(), even)));
#endif
  const auto w = hn::Set(d, weight);
  group.low = hn::Add(group.low, hn::MulEven(even, w));
  group.high = hn::Add(group.high, hn::MulEven(odd, w));
}

/// Adds a posting list. Items of a list are distinct, and the spare ones only ever add 0.
HWY_INLINE void add_list(const std::uint16_t* HWY_RESTRICT items,
                         const std::int32_t* HWY_RESTRICT values, std::size_t size,
                         std::int64_t weight, std::int64_t* HWY_RESTRICT sums) {
  for (std::size_t at = 0; at < size; at += kPostingGroup) {
    for (std::size_t k = at; k < at + kPostingGroup; ++k)
      sums[items[k]] += weight * values[k];
  }
}

/// Sums on the grid 2^-26 are exact in float64, so that its conversion to float32 is the rounding.
struct FineCosines {
  HWY_INLINE static void store(const Group& group, float inverse_one, float* out) {
    const hn::Rebind<double, Sums> dd;
    const hn::Rebind<float, Sums> df;
    const auto low = hn::DemoteTo(df, hn::ConvertTo(dd, group.low));
    const auto high = hn::DemoteTo(df, hn::ConvertTo(dd, group.high));
#if HWY_TARGET == HWY_SCALAR
    hn::StoreU(clamp(df, low, inverse_one), df, out);
    hn::StoreU(clamp(df, high, inverse_one), df, out + 1);
#else
    const hn::Repartition<float, Sums> d;
    hn::StoreU(clamp(d, hn::Combine(d, high, low), inverse_one), d, out);
#endif
  }

 private:
  template <class D, class V>
  HWY_INLINE static V clamp(D d, V sum, float inverse_one) {
    const V cosine = hn::Mul(sum, hn::Set(d, inverse_one));
    return hn::Max(hn::Min(cosine, hn::Set(d, 1.0f)), hn::Set(d, -1.0f));
  }
};

/// Sums on the grid 2^-30 have more than 53 bits: they are rounded once, one by one.
struct WideCosines {
  HWY_INLINE static void store(const Group& group, float inverse_one, float* out) {
    HWY_ALIGN std::int64_t sums[kGroupItems];
    HWY_NAMESPACE::store(group, sums);
    for (std::size_t item = 0; item < kGroupItems; ++item) {
      out[item] = to_cosine(sums[item], inverse_one);
    }
  }
};

/// One query and one sub-block, its lists already added.
struct Finish {
  std::int64_t* HWY_RESTRICT sums;
  const std::int32_t* dense;
  const WeightedColumn* columns;
  std::size_t column_count;
  std::int64_t* HWY_RESTRICT column_sums;
  float inverse_one;
};

/// Adds the dense columns to the items [begin, end), rounds, stores and leaves zeros for the next
/// query; a whole number of steps. Returns the sum of all A.
template <class Cosines, Identities kIdentities>
HWY_INLINE std::uint64_t finish(const Finish& task, std::size_t begin, std::size_t end,
                                float* HWY_RESTRICT out) {
  SumVector total = hn::Zero(Sums());
  for (std::size_t item = begin; item < end; item += kStepItems, out += kStepItems) {
    Group groups[kGroups];
    for (std::size_t g = 0; g < kGroups; ++g)
      groups[g] = load(task.sums + item + g * kGroupItems);
    for (std::size_t c = 0; c < task.column_count; ++c) {
      const std::int32_t* values = task.dense + task.columns[c].column.begin() + item;
      for (std::size_t g = 0; g < kGroups; ++g) {
        multiply_add(task.columns[c].weight, values + g * kGroupItems, groups[g]);
      }
    }
    const Group zero{hn::Zero(Sums()), hn::Zero(Sums())};
    for (std::size_t g = 0; g < kGroups; ++g) {
      const std::size_t at = item + g * kGroupItems;
      total = hn::Add(total, hn::Add(groups[g].low, groups[g].high));
      if (kIdentities == Identities::kRowsAndColumns) {
        Group column = load(task.column_sums + at);
        column.low = hn::Add(column.low, groups[g].low);
        column.high = hn::Add(column.high, groups[g].high);
        store(column, task.column_sums + at);
      }
      Cosines::store(groups[g], task.inverse_one, out + g * kGroupItems);
      store(zero, task.sums + at);
    }
  }
  HWY_ALIGN std::int64_t lanes[kLanes];
  hn::Store(total, Sums(), lanes);
  std::uint64_t sum = 0;
  for (const std::int64_t lane : lanes)
    sum += static_cast<std::uint64_t>(lane);
  return sum;
}

/// Entries of a query whose columns are present, parted into lists and dense columns.
struct Parted {
  std::size_t present = 0;
  std::size_t lists = 0;
  std::size_t dense = 0;
};

HWY_INLINE Parted part(std::span<const LabelledEntry> query, const ItemBlock& block,
                       KernelScratch& scratch) {
  Parted parted;
  PresentEntry* present = scratch.present();
  for (const LabelledEntry& entry : query) {  // no branch: presence cannot be predicted
    const std::uint32_t rank = block.present().find(entry.label);
    present[parted.present] = {rank, entry.value};
    parted.present += rank != RankedSet::kAbsent;
  }
  for (std::size_t entry = 0; entry < parted.present; ++entry) {
    const BlockColumn column = block.columns()[present[entry].rank];
    scratch.lists()[parted.lists] = {column, present[entry].value};
    scratch.dense()[parted.dense] = {column, present[entry].value};
    const std::size_t is_list = column.groups != 0;
    parted.lists += is_list;
    parted.dense += 1 - is_list;
  }
  return parted;
}

/// The row identity's other side: Q . (sum of the items of a segment), from the canonical rows.
HWY_INLINE std::uint64_t expected_sum(const PresentEntry* present, std::size_t count,
                                      const ItemBlock& block, std::size_t segment) {
  const auto segments = static_cast<std::size_t>(block.segments());
  std::uint64_t sum = 0;
  for (std::size_t entry = 0; entry < count; ++entry) {
    sum += static_cast<std::uint64_t>(std::int64_t{present[entry].value}) *
           block.column_sums()[present[entry].rank * segments + segment];
  }
  return sum;
}

/// One query: returns the number of segments whose identity does not hold.
template <class Cosines, Identities kIdentities>
HWY_INLINE std::int64_t run_query(const BlockTask& task, std::span<const LabelledEntry> query,
                                  float inverse_one, float* out) {
  const ItemBlock& block = *task.block;
  KernelScratch& scratch = *task.scratch;
  const Parted parted = part(query, block, scratch);
  std::int64_t* sums = scratch.accumulators();
  for (std::size_t entry = 0; entry < parted.lists; ++entry) {
    const WeightedColumn& list = scratch.lists()[entry];
    add_list(block.posting_items() + list.column.begin(),
             block.posting_values() + list.column.begin(), list.column.groups * kPostingGroup,
             list.weight, sums);
  }

  const Finish rest{sums,         block.dense(),    scratch.dense(),
                    parted.dense, task.column_sums, inverse_one};
  const auto items = static_cast<std::size_t>(block.items());
  const std::size_t segments = static_cast<std::size_t>(block.segments());
  std::int64_t failed = 0;
  for (std::size_t segment = 0; segment < segments; ++segment) {
    const std::size_t begin = segment * kFineRows;
    const std::size_t end = HWY_MIN(begin + kFineRows, items);
    const std::size_t whole = begin + (end - begin) / kStepItems * kStepItems;
    std::uint64_t sum = finish<Cosines, kIdentities>(rest, begin, whole, out + begin);
    if (whole < end) {  // the last step hangs over the edge
      float edge[kStepItems];
      sum += finish<Cosines, kIdentities>(rest, whole, whole + kStepItems, edge);
      std::memcpy(out + whole, edge, (end - whole) * sizeof(float));
    }
    failed += sum != expected_sum(scratch.present(), parted.present, block, segment);
  }
  return failed;
}

template <class Cosines, Identities kIdentities>
std::int64_t run(const BlockTask& task, float inverse_one) {
  std::int64_t failed = 0;
  float* out = task.out;
  for (std::int64_t row = task.rows.begin; row < task.rows.end; ++row, out += task.out_stride) {
    failed += run_query<Cosines, kIdentities>(task, task.queries->row(row), inverse_one, out);
  }
  return failed;
}

std::int64_t fine_rows(const BlockTask& task) {
  return run<FineCosines, Identities::kRows>(task, 0x1p-52f);
}
std::int64_t fine_rows_and_columns(const BlockTask& task) {
  return run<FineCosines, Identities::kRowsAndColumns>(task, 0x1p-52f);
}
std::int64_t wide_rows(const BlockTask& task) {
  return run<WideCosines, Identities::kRows>(task, 0x1p-60f);
}
std::int64_t wide_rows_and_columns(const BlockTask& task) {
  return run<WideCosines, Identities::kRowsAndColumns>(task, 0x1p-60f);
}
std::int64_t lanes() {
  return kLanes;
}

void stream(float* out, std::size_t size) {
  const hn::CappedTag<float, 16> d;
  for (std::size_t at = 0; at < size; at += hn::Lanes(d))
    hn::Stream(hn::Zero(d), d, out + at);
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace bulksim
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

HWY_EXPORT(fine_rows);
HWY_EXPORT(fine_rows_and_columns);
HWY_EXPORT(wide_rows);
HWY_EXPORT(wide_rows_and_columns);
HWY_EXPORT(lanes);
HWY_EXPORT(stream);

/// Targets that stand for an option; 0 for any.
std::int64_t targets_of(Simd simd) {
  switch (simd) {
    case Simd::kAvx512:
      return HWY_AVX3 | HWY_AVX3_DL;
    case Simd::kAvx2:
      return HWY_AVX2;
    case Simd::kSse4:
      return HWY_SSE4;
    case Simd::kScalar:
      return HWY_SCALAR | HWY_EMU128;
    case Simd::kBest:
      break;
  }
  return ~std::int64_t{0};
}

/// Entry of a target in the tables of HWY_EXPORT. They have one entry in a build for one target.
template <class Function, std::size_t kSize>
Function entry(Function const (&table)[kSize], std::int64_t target) {
  if (kSize == 1) return table[0];
  const std::int64_t mask = HWY_CHOSEN_TARGET_SHIFT(target) | HWY_CHOSEN_TARGET_MASK_SCALAR;
  return table[hwy::Num0BitsBelowLS1Bit_Nonzero64(static_cast<std::uint64_t>(mask))];
}

}  // namespace

CpuKernel CpuKernel::choose(Simd simd) {
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS & targets_of(simd);
  if (usable == 0) {
    throw Error(ExitCode::kUsage,
                "this machine or this build lacks the instruction set asked for "
                "(take another one, or leave the choice to the program)");
  }
  const std::int64_t target = usable & -usable;  // the lowest bit is the best target
  CpuKernel kernel;
  kernel.name_ = hwy::TargetName(target);
  kernel.lanes_ = entry(HWY_DISPATCH_TABLE(lanes), target)();
  kernel.stream_ = entry(HWY_DISPATCH_TABLE(stream), target);
  kernel.functions_[0][0] = entry(HWY_DISPATCH_TABLE(fine_rows), target);
  kernel.functions_[0][1] = entry(HWY_DISPATCH_TABLE(fine_rows_and_columns), target);
  kernel.functions_[1][0] = entry(HWY_DISPATCH_TABLE(wide_rows), target);
  kernel.functions_[1][1] = entry(HWY_DISPATCH_TABLE(wide_rows_and_columns), target);
  return kernel;
}

BlockFunction CpuKernel::function(Grid grid, Identities identities) const {
  BULKSIM_EXPECT(grid == kFineGrid || grid == kWideGrid);
  return functions_[grid == kWideGrid][identities == Identities::kRowsAndColumns];
}

void KernelScratch::require(std::int64_t items, std::int64_t longest) {
  const auto sums = static_cast<std::size_t>(ItemBlock::padded(items) + kSpareItems);
  if (accumulators_.size() < sums) {
    accumulators_.require(sums);
    std::fill_n(accumulators_.data(), sums, std::int64_t{0});
  }
  const auto entries = static_cast<std::size_t>(longest) + 1;  // one more is written than kept
  present_.require(entries);
  lists_.require(entries);
  dense_.require(entries);
}

std::int64_t KernelScratch::bytes(std::int64_t items, std::int64_t longest) {
  return (ItemBlock::padded(items) + kSpareItems) * std::int64_t{sizeof(std::int64_t)} +
         (longest + 1) * std::int64_t{sizeof(PresentEntry) + 2 * sizeof(WeightedColumn)};
}

}  // namespace bulksim

#endif  // HWY_ONCE
