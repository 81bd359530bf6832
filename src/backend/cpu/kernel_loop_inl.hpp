// The inner loop: queries times one inverted sub-block of items, exact in int64. Included once per
// instruction set.
#if defined(BULKSIM_KERNEL_LOOP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BULKSIM_KERNEL_LOOP_INL
#undef BULKSIM_KERNEL_LOOP_INL
#else
#define BULKSIM_KERNEL_LOOP_INL
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include "backend/cpu/cpu_kernel.hpp"
#include "backend/cpu/softmax_vectors_inl.hpp"
#include "backend/cpu/sum_vectors_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bulksim {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kGroups = 4;  // eight vectors: the sums of a step stay in registers
constexpr std::size_t kStepItems = kGroups * kGroupItems;
static_assert(kBlockAlignment % kStepItems == 0);
static_assert(kFineRows % kStepItems == 0);
// How far ahead lines of the output are fetched: a store that misses the L1 cache delays the stores
// after it. Saves a third of the time of the last pass.
constexpr std::size_t kAheadItems = 128;
constexpr std::size_t kLineBytes = 64;
// Values of at least 2^18 are a share of 2^-16 of N.
constexpr int kLargeValueBits = 18;
// A query with this many dense columns has few cosines of 0: compacting the others for their
// partials would not pay.
constexpr std::size_t kDenseRow = 4;
// AVX2 has no instruction for compaction: it never pays there (six times as long with Highway's).
constexpr bool kCompresses = HWY_TARGET != HWY_AVX2;

/// Prefetches the line of array[at] into the L1 cache; the element need not exist.
template <class T>
HWY_INLINE void fetch(const T* array, std::size_t at) {
  const auto address = reinterpret_cast<std::uintptr_t>(array) + at * sizeof(T);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): a pointer past the array is invalid
  hwy::Prefetch(reinterpret_cast<const char*>(address));
}

/// Adds a posting list. Its items are distinct; the spare ones only add 0.
HWY_INLINE void add_list(const PostingGroup* HWY_RESTRICT group, std::size_t groups,
                         std::int64_t weight, std::int64_t* HWY_RESTRICT sums) {
  for (const PostingGroup* end = group + groups; group < end; ++group) {
    for (std::size_t k = 0; k < PostingGroup::kSize; ++k) {
      sums[group->items[k]] += weight * group->values[k];
    }
  }
}

/// Entries of a query whose columns are present, split into lists and dense columns.
struct Parted {
  std::size_t lists = 0;
  std::size_t dense = 0;
  /// Not 0 if the block lacks a column with a large value of the query.
  std::int32_t lacking = 0;
  /// Reference sides of the row identities: Q . (sum of the items of a segment), from canonical
  /// rows.
  std::uint64_t expected[kSegments] = {};
};

/// No branch except the loop: which columns are present and which are lists cannot be predicted.
/// Prefetches the postings into the L1 cache.
HWY_INLINE Parted part(std::span<const LabelledEntry> query, const ItemBlock& block,
                       KernelScratch& scratch) {
  WeightedColumn* HWY_RESTRICT lists = scratch.lists();
  WeightedColumn* HWY_RESTRICT dense = scratch.dense();
  const BlockColumn* columns = block.columns();
  const PostingGroup* postings = block.postings();
  Parted parted;
  for (const LabelledEntry& entry : query) {
    const RankedSet::Place place = block.present().place(entry.label);
    const BlockColumn& column = columns[place.smaller];
    fetch(postings, column.start);
    lists[parted.lists] = {column.start, column.groups, entry.value};
    dense[parted.dense] = {column.start, column.groups, entry.value};
    const std::uint32_t is_list = place.present & static_cast<std::uint32_t>(column.groups != 0);
    parted.lists += is_list;
    parted.dense += place.present - is_list;
    parted.lacking |= (entry.value >> kLargeValueBits) & (place.present - 1);
    const std::int64_t value = std::int64_t{entry.value} & -std::int64_t{place.present};
    for (std::int64_t segment = 0; segment < kSegments; ++segment) {
      parted.expected[segment] += static_cast<std::uint64_t>(value) * column.sums[segment];
    }
  }
  return parted;
}

/// The last pass over the accumulators of one query.
struct LastPass {
  std::int64_t* HWY_RESTRICT sums;
  const std::int32_t* dense;
  const WeightedColumn* columns;
  std::size_t column_count;
  std::int64_t* HWY_RESTRICT column_sums;
  double query_scale;
  const double* item_scales;
  bool lists_nonzero;  // whether the nonzero cosines are compacted
  bool is_empty;       // whether the query has no entries
};

/// Prefetches the output lines of the next stores.
HWY_INLINE void fetch_lines_ahead(const float* out) {
  for (std::size_t item = 0; item < kStepItems; item += kLineBytes / sizeof(float)) {
    fetch(out, kAheadItems + item);
  }
}

/// Adds the dense columns to the items [begin, end) (a whole number of steps), rounds and stores
/// the scores, and clears the accumulators for the next query. Returns the sum of all A.
///
/// Scores are appended to the list one step late (in the first step zeros, which it skips). Their
/// store addresses depend on how many are nonzero; the sums of the next step are loaded before that
/// is known, because loads after such stores often stall. At some addresses the stalls made the
/// partials 1.5 times as slow.
template <class Scores, Identities kIdentities, Partials kPartials>
HWY_INLINE std::uint64_t finish(const LastPass& pass, std::size_t begin, std::size_t end,
                                float* HWY_RESTRICT out, NonzeroList& nonzero) {
  const Group zero{hn::Set(Sums(), Scores::kZero), hn::Set(Sums(), Scores::kZero)};
  Group total{hn::Zero(Sums()), hn::Zero(Sums())};
  const bool lists_nonzero = kPartials == Partials::kOn && pass.lists_nonzero;
  const Scale scale(pass.query_scale * Scores::kUnit, pass.item_scales);
  GroupScores late[kGroups];
  for (std::size_t item = begin; item < end; item += kStepItems, out += kStepItems) {
    fetch_lines_ahead(out);
    Group groups[kGroups];
    for (std::size_t g = 0; g < kGroups; ++g)
      groups[g] = load(pass.sums + item + g * kGroupItems);
    for (std::size_t c = 0; c < pass.column_count; ++c) {
      const WeightedColumn& column = pass.columns[c];
      const std::int32_t* values = pass.dense + std::size_t{column.start} * kLineValues + item;
      for (std::size_t g = 0; g < kGroups; ++g) {
        groups[g] = add(groups[g], multiply(column.weight, values + g * kGroupItems));
      }
    }
    if (lists_nonzero) append_nonzero(late, nonzero);
    for (std::size_t g = 0; g < kGroups; ++g) {
      const std::size_t at = item + g * kGroupItems;
      total = add(total, groups[g]);
      if (kIdentities == Identities::kRowsAndColumns) {
        store(add(load(pass.column_sums + at), groups[g]), pass.column_sums + at);
      }
      late[g] = {Scores::of(groups[g].low, scale.products(at)),
                 Scores::of(groups[g].high, scale.products(at + kLanes))};
      store(late[g], out + g * kGroupItems);
      store(zero, pass.sums + at);
    }
  }
  if (lists_nonzero) append_nonzero(late, nonzero);
  HWY_ALIGN std::int64_t lanes[kLanes];
  hn::Store(hn::Add(total.low, total.high), Sums(), lanes);
  std::uint64_t sum = 0;
  for (const std::int64_t lane : lanes)
    sum += lane;
  return sum - (end - begin) * static_cast<std::uint64_t>(Scores::kZero);
}

/// The last pass over all items of the block; returns the number of segments whose identity does
/// not hold.
template <class Scores, Identities kIdentities, Partials kPartials>
HWY_INLINE std::int64_t finish_query(const BlockTask& task, const LastPass& pass,
                                     const Parted& parted, float* out, SoftmaxPartial* partials) {
  const std::size_t items = task.block->items();
  std::int64_t failed = 0;
  for (std::size_t begin = 0; begin < items; begin += kFineRows) {
    const std::size_t end = HWY_MIN(begin + kFineRows, items);
    const std::size_t whole = begin + (end - begin) / kStepItems * kStepItems;
    NonzeroList nonzero(task.scratch->nonzero());
    std::uint64_t sum =
        finish<Scores, kIdentities, kPartials>(pass, begin, whole, out + begin, nonzero);
    if (whole < end) {  // the last step extends past the edge
      float edge[kStepItems];
      sum += finish<Scores, kIdentities, kPartials>(pass, whole, whole + kStepItems, edge, nonzero);
      std::memcpy(out + whole, edge, (end - whole) * sizeof(float));
    }
    failed += sum != parted.expected[begin / kFineRows];
    if constexpr (kPartials == Partials::kOn) {
      if (!pass.lists_nonzero) {
        *partials = partial_of_whole(out + begin, Scores::kLeast, task.exp_scale);
      } else if (!pass.is_empty) {
        *partials = partial_of(nonzero, end - begin, Scores::kLeast, task.exp_scale);
      }
      ++partials;
    }
  }
  return failed;
}

/// Whether a sum of a query and an item of the block may be over 2^52. It is at most sqrt(N_q N_i),
/// where no N is over (2^26 + 66)^2; if the item lacks a column with a large value of the query, it
/// is below 2^52.
HWY_INLINE bool may_exceed(const Parted& parted, double query_scale, const ItemBlock& block) {
  return parted.lacking == 0 && query_scale * block.least_scale() < 0x1p-52 * (1 + 0x1p-50);
}

/// Computes one query; returns the number of segments whose identity does not hold.
template <class Scores, Identities kIdentities, Partials kPartials>
HWY_INLINE std::int64_t run_query(const BlockTask& task, std::int64_t row, float* out,
                                  SoftmaxPartial* partials) {
  const ItemBlock& block = *task.block;
  KernelScratch& scratch = *task.scratch;
  const auto query = task.queries->row(row);
  const double query_scale = task.queries->scale(row);
  std::int64_t* sums = scratch.accumulators();
  const Parted parted = part(query, block, scratch);
  for (std::size_t entry = 0; entry < parted.lists; ++entry) {
    const WeightedColumn& list = scratch.lists()[entry];
    add_list(block.postings() + list.start, list.groups, list.weight, sums);
  }

  const bool is_full = !query.empty() && block.items() % kFineRows == 0 &&
                       (!kCompresses || parted.dense >= kDenseRow);
  const LastPass pass{sums,        block.dense(),  scratch.dense(), parted.dense, task.column_sums,
                      query_scale, block.scales(), !is_full,        query.empty()};
  if (!std::is_same_v<Scores, typename Scores::Exact> && may_exceed(parted, query_scale, block)) {
    return finish_query<typename Scores::Exact, kIdentities, kPartials>(task, pass, parted, out,
                                                                        partials);
  }
  return finish_query<Scores, kIdentities, kPartials>(task, pass, parted, out, partials);
}

template <class Scores, Identities kIdentities, Partials kPartials>
std::int64_t run(const BlockTask& task) {
  const std::int64_t items = task.block->items();
  std::fill_n(task.scratch->accumulators(), KernelScratch::accumulators_of(items), Scores::kZero);
  std::int64_t failed = 0;
  float* out = task.out;
  SoftmaxPartial* partials = task.partials;
  for (std::int64_t row = task.rows.begin; row < task.rows.end; ++row, out += task.out_stride) {
    failed += run_query<Scores, kIdentities, kPartials>(task, row, out, partials);
    partials += task.partial_stride;
  }
  if (kIdentities == Identities::kRowsAndColumns && Scores::kZero != 0) {
    const auto zeros =
        static_cast<std::uint64_t>(task.rows.size()) * static_cast<std::uint64_t>(Scores::kZero);
    for (std::int64_t item = 0; item < task.block->padded_items(); ++item) {
      task.column_sums[item] = static_cast<std::uint64_t>(task.column_sums[item]) - zeros;
    }
  }
  return failed;
}

/// Which cells of a query are wanted: those from one score on. Their products are compared before
/// they are rounded, with the middle between that score and the float32 below it.
template <class Scores>
struct OneFloor {
  using Tag = Doubles;
  using Mask = hn::Mask<Doubles>;

  HWY_INLINE explicit OneFloor(const FilterTask& task, std::size_t row)
      : least(hn::Set(Doubles(), task.floors[row].middle)) {}

  HWY_INLINE Mask reaches(DoubleVector products, std::size_t) const {
    return hn::Ge(products, least);
  }

  DoubleVector least;
};

/// The same, and those that reach the floor of their item.
template <class Scores>
struct TwoFloors {
  using Tag = Halves;
  using Mask = hn::Mask<Halves>;

  HWY_INLINE explicit TwoFloors(const FilterTask& task, std::size_t row)
      : query(hn::Set(Halves(), task.floors[row].score)), items(task.item_floors) {}

  HWY_INLINE Mask reaches(DoubleVector products, std::size_t at) const {
    return hn::Ge(Scores::score(products), hn::Min(query, hn::LoadU(Halves(), items + at)));
  }

  HalfVector query;
  const float* items;
};

/// The last pass of a filter over the items [begin, end) (a whole number of steps, of which the
/// cells before `valid` exist): adds the dense columns, appends the cells that may be wanted, and
/// clears the accumulators. Returns the sum of all A.
template <class Scores, class Floors>
HWY_INLINE std::uint64_t filter(const LastPass& pass, const Floors& floors, std::size_t begin,
                                std::size_t end, std::size_t valid, FoundCell*& out) {
  const typename Floors::Tag tag;
  const Group zero{hn::Set(Sums(), Scores::kZero), hn::Set(Sums(), Scores::kZero)};
  Group total{hn::Zero(Sums()), hn::Zero(Sums())};
  const Scale scale(pass.query_scale * Scores::kUnit, pass.item_scales);
  for (std::size_t item = begin; item < end; item += kStepItems) {
    Group groups[kGroups];
    for (std::size_t g = 0; g < kGroups; ++g)
      groups[g] = load(pass.sums + item + g * kGroupItems);
    for (std::size_t c = 0; c < pass.column_count; ++c) {
      const WeightedColumn& column = pass.columns[c];
      const std::int32_t* values = pass.dense + std::size_t{column.start} * kLineValues + item;
      for (std::size_t g = 0; g < kGroups; ++g) {
        groups[g] = add(groups[g], multiply(column.weight, values + g * kGroupItems));
      }
    }
    DoubleVector products[2 * kGroups];
    typename Floors::Mask any = hn::FirstN(tag, 0);
    for (std::size_t g = 0; g < kGroups; ++g) {
      const std::size_t at = item + g * kGroupItems;
      total = add(total, groups[g]);
      products[2 * g] = Scores::product(groups[g].low, scale.products(at));
      products[2 * g + 1] = Scores::product(groups[g].high, scale.products(at + kLanes));
      any = hn::Or(any, floors.reaches(products[2 * g], at));
      any = hn::Or(any, floors.reaches(products[2 * g + 1], at + kLanes));
      store(zero, pass.sums + at);
    }
    if (hn::AllFalse(tag, any)) continue;
    HWY_ALIGN float scores[kStepItems];
    std::uint64_t bits = 0;
    for (std::size_t half = 0; half < 2 * kGroups; ++half) {
      const std::size_t at = half * kLanes;
      std::uint64_t mask = 0;
      hn::StoreMaskBits(tag, floors.reaches(products[half], item + at),
                        reinterpret_cast<std::uint8_t*>(&mask));
      bits |= mask << at;
      hn::StoreU(Scores::score(products[half]), Halves(), scores + at);
    }
    if (valid - item < kStepItems) bits &= (std::uint64_t{1} << (valid - item)) - 1;
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t at = hwy::Num0BitsBelowLS1Bit_Nonzero64(bits);
      *out++ = {static_cast<std::uint32_t>(item + at), scores[at]};
    }
  }
  HWY_ALIGN std::int64_t lanes[kLanes];
  hn::Store(hn::Add(total.low, total.high), Sums(), lanes);
  std::uint64_t sum = 0;
  for (const std::int64_t lane : lanes)
    sum += lane;
  return sum - (end - begin) * static_cast<std::uint64_t>(Scores::kZero);
}

/// Appends the cells of one query that may be wanted; returns the number of segments whose identity
/// does not hold.
template <class Scores, class Floors>
HWY_INLINE std::int64_t filter_query(const FilterTask& task, const LastPass& pass,
                                     const Parted& parted, std::size_t row, FoundCell*& out) {
  const Floors floors(task, row);
  const std::size_t items = task.block->items();
  std::int64_t failed = 0;
  for (std::size_t begin = 0; begin < items; begin += kFineRows) {
    const std::size_t end = HWY_MIN(begin + kFineRows, items);
    const std::size_t padded = begin + (end - begin + kStepItems - 1) / kStepItems * kStepItems;
    const std::uint64_t sum = filter<Scores>(pass, floors, begin, padded, end, out);
    failed += sum != parted.expected[begin / kFineRows];
  }
  return failed;
}

template <class Scores, template <class> class Floors>
std::int64_t run_filter(const FilterTask& task) {
  const ItemBlock& block = *task.block;
  KernelScratch& scratch = *task.scratch;
  std::int64_t* sums = scratch.accumulators();
  std::fill_n(sums, KernelScratch::accumulators_of(block.items()), Scores::kZero);
  std::int64_t failed = 0;
  FoundCell* out = task.out;
  for (std::size_t row = 0; row < static_cast<std::size_t>(task.rows.size()); ++row) {
    const std::int64_t query = task.rows.begin + static_cast<std::int64_t>(row);
    const double query_scale = task.queries->scale(query);
    const Parted parted = part(task.queries->row(query), block, scratch);
    for (std::size_t entry = 0; entry < parted.lists; ++entry) {
      const WeightedColumn& list = scratch.lists()[entry];
      add_list(block.postings() + list.start, list.groups, list.weight, sums);
    }
    const LastPass pass{sums,        block.dense(),  scratch.dense(), parted.dense, nullptr,
                        query_scale, block.scales(), false,           false};
    using Exact = typename Scores::Exact;
    if (!std::is_same_v<Scores, Exact> && may_exceed(parted, query_scale, block)) {
      failed += filter_query<Exact, Floors<Exact>>(task, pass, parted, row, out);
    } else {
      failed += filter_query<Scores, Floors<Scores>>(task, pass, parted, row, out);
    }
    task.ends[row] = static_cast<std::uint32_t>(out - task.out);
  }
  return failed;
}

template <class Scores>
std::int64_t run_filter(const FilterTask& task) {
  return task.item_floors == nullptr ? run_filter<Scores, OneFloor>(task)
                                     : run_filter<Scores, TwoFloors>(task);
}

}  // namespace HWY_NAMESPACE
}  // namespace bulksim
HWY_AFTER_NAMESPACE();

#endif  // BULKSIM_KERNEL_LOOP_INL
