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

using Floats = hn::CappedTag<float, 2 * kLanes>;
using FloatVector = hn::Vec<Floats>;

/// Scores of one group in float32: one vector, or two where a vector is one lane.
struct GroupScores {
  static constexpr std::size_t kVectors = kGroupItems / hn::MaxLanes(Floats());
  using Half = hn::Rebind<float, Sums>;

  /// Zeros.
  HWY_INLINE GroupScores() {
    for (FloatVector& zeros : vectors)
      zeros = hn::Zero(Floats());
  }
#if HWY_TARGET == HWY_SCALAR
  HWY_INLINE GroupScores(hn::Vec<Half> low, hn::Vec<Half> high) : vectors{low, high} {}
#else
  HWY_INLINE GroupScores(hn::Vec<Half> low, hn::Vec<Half> high)
      : vectors{hn::Combine(Floats(), high, low)} {}
#endif

  FloatVector vectors[kVectors];
};

HWY_INLINE void store(const GroupScores& scores, float* out) {
  const Floats d;
  for (std::size_t v = 0; v < GroupScores::kVectors; ++v)
    hn::StoreU(scores.vectors[v], d, out + v * hn::Lanes(d));
}

/// What turns the sums of one query into scores.
struct Scale {
  float inverse_one;         ///< of the FixedPoint format
  double query_norm;         ///< for dot products
  const double* item_norms;  ///< the same, by item of the block, padded like it
};

/// Sums in Q26 are exact in float64, so that its conversion to float32 is the rounding.
template <class Signed>
struct FineCosines {
  static constexpr std::int64_t kZero = Signed::kZero;
  static constexpr float kLeast = Signed::kLeast;

  HWY_INLINE static GroupScores of(const Group& group, const Scale& scale, std::size_t) {
    const GroupScores::Half d;
    GroupScores scores(hn::DemoteTo(d, Signed::to_double(group.low)),
                       hn::DemoteTo(d, Signed::to_double(group.high)));
    for (FloatVector& sums : scores.vectors)
      sums = Signed::to_cosine(sums, scale.inverse_one);
    return scores;
  }
};

/// Sums of either sign.
struct AnySign {
  static constexpr std::int64_t kZero = 0;
  static constexpr float kLeast = -1.0f;

  HWY_INLINE static auto to_double(SumVector sums) {
    return hn::ConvertTo(hn::Rebind<double, Sums>(), sums);
  }
  HWY_INLINE static FloatVector to_cosine(FloatVector sum, float inverse_one) {
    const Floats d;
    const auto cosine = hn::Mul(sum, hn::Set(d, inverse_one));
    return hn::Max(hn::Min(cosine, hn::Set(d, 1.0f)), hn::Set(d, -1.0f));
  }
};

/// Nonnegative sums start at the bits of the float64 1, whose last place is 2^-52: their bits are
/// then those of 1 + A 2^-52, without the conversion that AVX2 and SSE4 do not have. For A >= 2^52
/// they represent a larger number; the cosine is 1 in either case.
struct NonNegative {
  static constexpr std::int64_t kZero = 0x3FF0000000000000;
  static constexpr float kLeast = 0.0f;

  HWY_INLINE static auto to_double(SumVector sums) {
    const hn::Rebind<double, Sums> d;
    return hn::Sub(hn::BitCast(d, sums), hn::Set(d, 1.0));
  }
  HWY_INLINE static FloatVector to_cosine(FloatVector cosine, float) {
    return hn::Min(cosine, hn::Set(Floats(), 1.0f));
  }
};

/// Sums in Q30 have more than 53 bits: each is rounded once, in scalar code.
struct WideCosines {
  static constexpr std::int64_t kZero = 0;
  static constexpr float kLeast = -1.0f;

  HWY_INLINE static GroupScores of(const Group& group, const Scale& scale, std::size_t) {
    HWY_ALIGN std::int64_t sums[kGroupItems];
    HWY_ALIGN float cosines[kGroupItems];
    store(group, sums);
    for (std::size_t item = 0; item < kGroupItems; ++item)
      cosines[item] = to_cosine(sums[item], scale.inverse_one);
    const GroupScores::Half d;
    return {hn::Load(d, cosines), hn::Load(d, cosines + kLanes)};
  }
};

/// Sums below 2^53 times the lengths of the two rows, as to_dot().
struct Dots {
  static constexpr std::int64_t kZero = 0;
  static constexpr float kLeast = -1.0f;  // no partials are formed of them

  HWY_INLINE static GroupScores of(const Group& group, const Scale& scale, std::size_t at) {
    return {half(group.low, scale, scale.item_norms + at),
            half(group.high, scale, scale.item_norms + at + kLanes)};
  }

 private:
  HWY_INLINE static hn::Vec<GroupScores::Half> half(SumVector sums, const Scale& scale,
                                                    const double* item_norms) {
    const hn::Rebind<double, Sums> d;
    const GroupScores::Half df;
    const auto norms = hn::Mul(hn::Set(d, scale.query_norm), hn::Load(d, item_norms));
    const auto sum = hn::Mul(hn::ConvertTo(d, sums), hn::Set(d, double{scale.inverse_one}));
    return hn::Add(hn::DemoteTo(df, hn::Mul(sum, norms)), hn::Zero(df));
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace bulksim
HWY_AFTER_NAMESPACE();

#endif  // BULKSIM_SUM_VECTORS_INL
