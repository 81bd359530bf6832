// Vectorized softmax partials. Included once per instruction set, like the kernel that uses them.
//
// Most cosines of sparse rows are 0 and all of these have the same weight: the others are compacted
// first.
#if defined(BULKSIM_SOFTMAX_VECTORS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef BULKSIM_SOFTMAX_VECTORS_INL
#undef BULKSIM_SOFTMAX_VECTORS_INL
#else
#define BULKSIM_SOFTMAX_VECTORS_INL
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include "backend/cpu/sum_vectors_inl.hpp"
#include "bulksim/blocks/softmax_partials.hpp"
#include "bulksim/core/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace bulksim {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 2 * kLanes>;
using FloatVector = hn::Vec<Floats>;

/// The nonzero cosines of one query row and fine block.
struct NonzeroList {
  /// `room` holds a fine block plus two vectors.
  HWY_INLINE explicit NonzeroList(float* HWY_RESTRICT room)
      : values(room), largest(hn::Set(Floats(), -2.0f)) {}

  float* HWY_RESTRICT values;
  std::size_t size = 0;
  FloatVector largest;  // per lane; -2 where there was none
};

/// Takes the scores from registers, which avoids loading them again.
template <std::size_t kGroups>
HWY_INLINE void append_nonzero(const GroupScores (&groups)[kGroups], NonzeroList& list) {
  const Floats d;
  for (const GroupScores& scores : groups) {
    const auto append = [&](FloatVector cosines) HWY_ATTR {
      const auto nonzero = hn::Ne(cosines, hn::Zero(d));
      hn::StoreU(hn::Compress(cosines, nonzero), d, list.values + list.size);
      list.size += hn::CountTrue(d, nonzero);
      list.largest = hn::IfThenElse(nonzero, hn::Max(list.largest, cosines), list.largest);
    };
#if HWY_TARGET == HWY_SCALAR
    append(scores.low);
    append(scores.high);
#else
    append(hn::Combine(d, scores.high, scores.low));
#endif
  }
}

#if HWY_TARGET == HWY_SCALAR || !HWY_NATIVE_FMA

HWY_INLINE SoftmaxPartial partial_of(const NonzeroList& list, std::size_t items,
                                     float /*least_cosine*/, ExpScale scale) {
  const std::int64_t zeros = items - list.size;
  return softmax_partial({list.values, list.size}, zeros, scale);
}

HWY_INLINE SoftmaxPartial partial_of_whole(const float* HWY_RESTRICT cosines,
                                           float /*least_cosine*/, ExpScale scale) {
  return softmax_partial({cosines, std::size_t{kFineRows}}, 0, scale);
}

#else

using Words = hn::RebindToSigned<Floats>;
using LongWords = hn::Repartition<std::uint64_t, Floats>;

/// As BlockExp, in every lane.
struct ExpVectors {
  FloatVector per_cosine;
  FloatVector least;
  FloatVector shift;
  FloatVector c0;
  FloatVector c1;
  FloatVector c2;
  FloatVector c3;
  FloatVector c4;
  FloatVector c5;
};

HWY_INLINE FloatVector polynomial(FloatVector x, FloatVector c0, FloatVector c1, FloatVector c2,
                                  FloatVector c3, FloatVector c4, FloatVector c5) {
  auto sum = hn::MulAdd(c5, x, c4);
  sum = hn::MulAdd(sum, x, c3);
  sum = hn::MulAdd(sum, x, c2);
  sum = hn::MulAdd(sum, x, c1);
  return hn::MulAdd(sum, x, c0);
}

/// As block_exp.
HWY_INLINE ExpVectors exp_vectors(FloatVector largest, ExpScale scale) {
  const Floats d;
  const auto per_cosine = hn::Set(d, scale.per_cosine);
  const auto whole = hn::Round(hn::Mul(largest, per_cosine));
  const auto c1 = hn::Set(d, kExp2C1);
  const auto c2 = hn::Set(d, kExp2C2);
  const auto c3 = hn::Set(d, kExp2C3);
  const auto c4 = hn::Set(d, kExp2C4);
  const auto c5 = hn::Set(d, kExp2C5);
  const auto rest = hn::NegMulAdd(largest, per_cosine, whole);
  const auto factor = polynomial(rest, hn::Set(d, 1.0f), c1, c2, c3, c4, c5);
  return {per_cosine,
          hn::Sub(largest, hn::Set(d, scale.reach)),
          hn::Add(hn::Set(d, kRounder), hn::Sub(hn::Set(d, float{kPartialBits}), whole)),
          factor,
          hn::Mul(factor, c1),
          hn::Mul(factor, c2),
          hn::Mul(factor, c3),
          hn::Mul(factor, c4),
          hn::Mul(factor, c5)};
}

/// Rounds values below 2^31. NearestInt also handles larger values, in four more instructions.
HWY_INLINE hn::Vec<Words> nearest_int(FloatVector value) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return hn::Vec<Words>{_mm512_cvtps_epi32(value.raw)};
#elif HWY_TARGET == HWY_AVX2
  return hn::Vec<Words>{_mm256_cvtps_epi32(value.raw)};
#else
  return hn::NearestInt(value);
#endif
}

/// Whether cosines may be below BlockExp::least.
enum class Reach { kAll, kSome };

/// As exp_weight.
template <Reach kReach>
HWY_INLINE hn::Vec<Words> exp_weights(FloatVector cosine, const ExpVectors& e) {
  const Floats d;
  const Words di;
  const auto c = kReach == Reach::kAll ? cosine : hn::Max(cosine, e.least);
  const auto rounded = hn::MulAdd(c, e.per_cosine, e.shift);
  const auto r = hn::MulSub(c, e.per_cosine, hn::Sub(rounded, e.shift));
  const auto power = polynomial(r, e.c0, e.c1, e.c2, e.c3, e.c4, e.c5);
  const auto bits = hn::Add(hn::BitCast(di, power), hn::ShiftLeft<23>(hn::BitCast(di, rounded)));
  return nearest_int(hn::BitCast(d, bits));
}

/// Sum of the weights of cosines, a whole number of vector pairs.
template <Reach kReach>
HWY_INLINE std::int64_t sum_partials(const float* HWY_RESTRICT cosines, std::size_t size,
                                     const ExpVectors& e) {
  const Floats d;
  const LongWords dw;
  const std::size_t lanes = hn::Lanes(d);
  // two weights stay below 2^32; their 64-bit pairs are added as a whole and as high halves
  auto pairs = hn::Zero(dw);
  auto highs = hn::Zero(dw);
  for (std::size_t at = 0; at < size; at += 2 * lanes) {
    const auto one = exp_weights<kReach>(hn::LoadU(d, cosines + at), e);
    const auto other = exp_weights<kReach>(hn::LoadU(d, cosines + at + lanes), e);
    const auto two = hn::BitCast(dw, hn::Add(one, other));
    pairs = hn::Add(pairs, two);
    highs = hn::Add(highs, hn::ShiftRight<32>(two));
  }
  // only the lanes wrap around, not their sum: intrinsics add it up in signed integers
  const auto lows = hn::Sub(pairs, hn::ShiftLeft<32>(highs));
  return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(dw, hn::Add(lows, highs))));
}

/// The partial of cosines of at least `least_cosine`; the largest is in a lane of `most`. The
/// weight of `filler` is added `missing` more times.
HWY_INLINE SoftmaxPartial partial_of(const float* HWY_RESTRICT cosines, std::size_t size,
                                     FloatVector most, float least_cosine, FloatVector filler,
                                     std::int64_t missing, ExpScale scale) {
  const auto largest = hn::MaxOfLanes(Floats(), most);
  const ExpVectors e = exp_vectors(largest, scale);
  const std::int64_t sum = hn::GetLane(e.least) <= least_cosine
                               ? sum_partials<Reach::kAll>(cosines, size, e)
                               : sum_partials<Reach::kSome>(cosines, size, e);
  const std::int64_t more = missing * hn::GetLane(exp_weights<Reach::kSome>(filler, e));
  return {partial_largest(hn::GetLane(largest)), sum + more};
}

/// As softmax_partial, of cosines of at least `least_cosine`. The list is padded with one value,
/// whose weight is then corrected by the number of values too many or too few.
HWY_INLINE SoftmaxPartial partial_of(const NonzeroList& list, std::size_t items, float least_cosine,
                                     ExpScale scale) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const auto filler = hn::Set(d, list.size < items ? 0.0f : list.values[0]);
  hn::StoreU(filler, d, list.values + list.size);
  hn::StoreU(filler, d, list.values + list.size + lanes);
  const std::size_t padded = (list.size + 2 * lanes - 1) / (2 * lanes) * (2 * lanes);
  const auto missing = static_cast<std::int64_t>(items) - static_cast<std::int64_t>(padded);
  return partial_of(list.values, padded, hn::Max(list.largest, filler), least_cosine, filler,
                    missing, scale);
}

/// The same for all cosines of a whole fine block, zeros included.
HWY_INLINE SoftmaxPartial partial_of_whole(const float* HWY_RESTRICT cosines, float least_cosine,
                                           ExpScale scale) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  auto most = hn::LoadU(d, cosines);
  auto most_too = most;
  for (std::size_t at = 0; at < kFineRows; at += 2 * lanes) {
    most = hn::Max(most, hn::LoadU(d, cosines + at));
    most_too = hn::Max(most_too, hn::LoadU(d, cosines + at + lanes));
  }
  return partial_of(cosines, kFineRows, hn::Max(most, most_too), least_cosine, hn::Zero(d), 0,
                    scale);
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace bulksim
HWY_AFTER_NAMESPACE();

#endif  // BULKSIM_SOFTMAX_VECTORS_INL
