// Sums of neighbouring items in vectors: load, multiply, convert. Included once per instruction
// set, like the kernel that uses them.
//
// Items are in groups of 2 N (N 64-bit lanes): vector `low` holds the sums of the first N, `high`
// those of the others. Dense columns are interleaved so that even and odd 32-bit lanes are these
// halves: a 32 x 32 -> 64 bit multiplication needs no shuffle.
#if defined(BULKSIM_SUM_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BULKSIM_SUM_VECTORS_INL
#undef BULKSIM_SUM_VECTORS_INL
#else
#define BULKSIM_SUM_VECTORS_INL
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "bulksim/sparse/fixed_point.hpp"

HWY_BEFORE_NAMESPACE();
namespace bulksim {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::CappedTag<std::int64_t, 8>;
using Bits = hn::RebindToUnsigned<Sums>;
using SumVector = hn::Vec<Sums>;
constexpr std::size_t kLanes = hn::MaxLanes(Sums());
constexpr std::size_t kGroupItems = 2 * kLanes;

/// Sums of one group of items. The constructors are written out so that they are compiled for the
/// current instruction set, which implicit ones are not.
struct Group {
  HWY_INLINE Group() {}
  HWY_INLINE Group(SumVector l, SumVector h) : low(l), high(h) {}

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

HWY_INLINE Group add(const Group& a, const Group& b) {
  return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)};
}

/// weight x value for a group of a dense column.
HWY_INLINE Group multiply(std::int32_t weight, const std::int32_t* values) {
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
  return {hn::MulEven(even, w), hn::MulEven(odd, w)};
}

using Halves = hn::Rebind<float, Sums>;
using HalfVector = hn::Vec<Halves>;

/// Scores of one group in float32, in the order of its items.
struct GroupScores {
  HWY_INLINE GroupScores() : low(hn::Zero(Halves())), high(hn::Zero(Halves())) {}
  HWY_INLINE GroupScores(HalfVector l, HalfVector h) : low(l), high(h) {}

  HalfVector low;
  HalfVector high;
};

HWY_INLINE void store(const GroupScores& scores, float* out) {
  hn::StoreU(scores.low, Halves(), out);
  hn::StoreU(scores.high, Halves(), out + kLanes);
}

using Doubles = hn::Rebind<double, Sums>;
using DoubleVector = hn::Vec<Doubles>;

/// What turns the sums of one query into scores.
struct Scale {
  HWY_INLINE Scale(double query_scale, const double* item_scales)
      : query(hn::Set(Doubles(), query_scale)), items(item_scales) {}

  /// The products of the scales of the query and of the items from `at` on.
  HWY_INLINE DoubleVector products(std::size_t at) const {
    return hn::Mul(query, hn::Load(Doubles(), items + at));
  }

  DoubleVector query;
  const double* items;  ///< by item of the block
};

/// Scores of any kind, by definition, of accumulators that start at kStart.
template <std::int64_t kStart>
struct ExactScores {
  using Exact = ExactScores;
  static constexpr std::int64_t kZero = kStart;
  static constexpr float kLeast = -1.0f;
  static constexpr double kUnit = 1.0;

  /// A times the scales.
  HWY_INLINE static DoubleVector product(SumVector sums, DoubleVector scales) {
    const auto integers = kZero == 0 ? sums : hn::Sub(sums, hn::Set(Sums(), kZero));
    return hn::Mul(hn::ConvertTo(Doubles(), integers), scales);
  }
  /// The product rounded to a score; never -0.
  HWY_INLINE static HalfVector score(DoubleVector product) {
    const Halves d;
    return hn::Add(hn::DemoteTo(d, product), hn::Zero(d));
  }
  HWY_INLINE static HalfVector of(SumVector sums, DoubleVector scales) {
    return score(product(sums, scales));
  }
};

/// Cosines in Q26 of rows without negative values. Accumulators start at the bits of the float64 1,
/// whose last place is 2^-52: up to A = 2^52 their bits are those of x = 1 + A 2^-52, without a
/// conversion, which AVX2 and SSE4 do not have. With the scales s times 2^52, x s - s is then A
/// times the scales, rounded once. Where A may be larger, Exact takes its place.
struct NonNegativeCosines {
  static constexpr std::int64_t kZero = 0x3FF0000000000000;
  static constexpr float kLeast = 0.0f;
  static constexpr double kUnit = 0x1p52;  // of the scales
  using Exact = ExactScores<kZero>;

  HWY_INLINE static DoubleVector product(SumVector sums, DoubleVector scales) {
    const auto x = hn::BitCast(Doubles(), sums);
#if HWY_NATIVE_FMA
    return hn::MulSub(x, scales, scales);
#else
    return hn::Mul(hn::Sub(x, hn::Set(Doubles(), 1.0)), scales);
#endif
  }
  HWY_INLINE static HalfVector score(DoubleVector product) {
    return hn::DemoteTo(Halves(), product);
  }
  HWY_INLINE static HalfVector of(SumVector sums, DoubleVector scales) {
    return score(product(sums, scales));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace bulksim
HWY_AFTER_NAMESPACE();

#endif  // BULKSIM_SUM_VECTORS_INL
