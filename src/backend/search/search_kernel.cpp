// The inner loops of the pair search: coarse sums of one query and one block of items.
//
// foreach_target.h includes this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/search/search_kernel.cpp"
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include "backend/search/search_kernel.hpp"

#include <cstddef>
#include <cstdint>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace bulksim {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void add(const CoarsePosting* HWY_RESTRICT postings, std::size_t size, std::int32_t weight,
         std::int32_t* HWY_RESTRICT sums) {
  const CoarsePosting* const end = postings + size;
  for (; postings + 4 <= end; postings += 4) {  // the items of a column are distinct
    sums[postings[0].item] += weight * postings[0].coarse;
    sums[postings[1].item] += weight * postings[1].coarse;
    sums[postings[2].item] += weight * postings[2].coarse;
    sums[postings[3].item] += weight * postings[3].coarse;
  }
  for (; postings < end; ++postings) {
    sums[postings->item] += weight * postings->coarse;
  }
}

template <bool kWithRest>
SieveResult sweep(std::int32_t* HWY_RESTRICT sums, std::size_t items, const Sieve& sieve,
                  Candidate* HWY_RESTRICT out) {
  const hn::CappedTag<std::int32_t, 16> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  const auto rest = hn::Set(df, sieve.rest);
  const auto limit = hn::Set(df, sieve.limit);
  auto total = hn::Zero(d);
  std::size_t count = 0;
  for (std::size_t first = 0; first < items; first += kSweptAtOnce) {
    std::uint64_t left = 0;
    for (std::size_t at = 0; at < kSweptAtOnce; at += lanes) {
      const auto sum = hn::Load(d, sums + first + at);
      total = hn::Add(total, sum);
      auto most = hn::ConvertTo(df, sum);
      if (kWithRest) most = hn::MulAdd(rest, hn::Load(df, sieve.lengths + first + at), most);
      std::uint64_t bits = 0;
      hn::StoreMaskBits(df, hn::Ge(most, limit), reinterpret_cast<std::uint8_t*>(&bits));
      left |= bits << at;
    }
    for (; left != 0; left &= left - 1) {
      const std::size_t at = first + hwy::Num0BitsBelowLS1Bit_Nonzero64(left);
      out[count++] = {static_cast<std::uint32_t>(at), sums[at]};
    }
    for (std::size_t at = 0; at < kSweptAtOnce; at += lanes)
      hn::Store(hn::Zero(d), d, sums + first + at);
  }
  HWY_ALIGN std::int32_t each[16];
  hn::Store(total, d, each);
  SieveResult result{count};
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    result.total += each[lane];
  }
  return result;
}

SieveResult sweep(std::int32_t* HWY_RESTRICT sums, std::size_t items, const Sieve& sieve,
                  Candidate* HWY_RESTRICT out) {
  return sieve.rest > 0.0f ? sweep<true>(sums, items, sieve, out)
                           : sweep<false>(sums, items, sieve, out);
}

static_assert(sizeof(JoinPosting) == sizeof(std::int32_t));

std::size_t test(const JoinPosting* HWY_RESTRICT postings, const std::uint16_t* HWY_RESTRICT items,
                 std::size_t size, const JoinTest& test, std::uint16_t* HWY_RESTRICT out) {
  const hn::CappedTag<std::int32_t, 16> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  const auto value = hn::Set(df, test.value);
  const auto before = hn::Set(df, test.before);
  const auto limit = hn::Set(df, test.limit);
  const auto* both = reinterpret_cast<const std::int32_t*>(postings);
  std::size_t count = 0;
  for (std::size_t at = 0; at < size; at += lanes) {
    const auto posting = hn::LoadU(d, both + at);
    const auto posting_value = hn::ConvertTo(df, hn::ShiftRight<16>(posting));
    const auto posting_before = hn::ConvertTo(df, hn::And(posting, hn::Set(d, 0xFFFF)));
    const auto bound = hn::MulAdd(value, posting_value, hn::Mul(before, posting_before));
    std::uint64_t bits = 0;
    hn::StoreMaskBits(df, hn::Ge(bound, limit), reinterpret_cast<std::uint8_t*>(&bits));
    if (size - at < lanes) bits &= (std::uint64_t{1} << (size - at)) - 1;
    for (; bits != 0; bits &= bits - 1) {
      out[count++] = items[at + hwy::Num0BitsBelowLS1Bit_Nonzero64(bits)];
    }
  }
  return count;
}

#if HWY_TARGET <= HWY_AVX2  // targets with fast gathers

static_assert(sizeof(LabelledEntry) == sizeof(std::int64_t));
using Entries = hn::CappedTag<std::int64_t, 8>;
using EntryVector = hn::Vec<Entries>;

/// Adds the products of all labels to `all`, and those of labels below `border` to `below`.
HWY_INLINE void multiply(EntryVector entry, const std::int32_t* HWY_RESTRICT values,
                         EntryVector border, EntryVector& all, EntryVector& below) {
  const Entries d;
  const hn::Repartition<std::int32_t, Entries> d32;
  const auto label = hn::And(entry, hn::Set(d, 0xFFFFFFFF));
  // loads 8 bytes at a 4-byte value: the upper half belongs to the next label and is not multiplied
  const auto query =
      hn::GatherOffset(d, reinterpret_cast<const std::int64_t*>(values), hn::ShiftLeft<2>(label));
  const auto value = hn::ShiftRight<32>(entry);
  const auto product = hn::MulEven(hn::BitCast(d32, query), hn::BitCast(d32, value));
  all = hn::Add(all, product);
  below = hn::Add(below, hn::IfThenElseZero(hn::Lt(label, border), product));
}

SplitSum multiply(const LabelledEntry* HWY_RESTRICT row, std::size_t size,
                  const std::int32_t* HWY_RESTRICT values, std::uint32_t border) {
  const Entries d;
  const std::size_t lanes = hn::Lanes(d);
  const auto first_other = hn::Set(d, static_cast<std::int64_t>(border));
  const auto* entries = reinterpret_cast<const std::int64_t*>(row);
  auto below = hn::Zero(d);
  auto all = hn::Zero(d);
  std::size_t at = 0;
  for (; at + lanes <= size; at += lanes) {
    multiply(hn::LoadU(d, entries + at), values, first_other, all, below);
  }
  if (at < size) {  // lanes that are not loaded have value 0
    const auto rest = hn::MaskedLoad(hn::FirstN(d, size - at), d, entries + at);
    multiply(rest, values, first_other, all, below);
  }
  SplitSum sum;
  sum.below = hn::GetLane(hn::SumOfLanes(d, below));
  sum.others = hn::GetLane(hn::SumOfLanes(d, all)) - sum.below;
  return sum;
}

#else

SplitSum multiply(const LabelledEntry* HWY_RESTRICT row, std::size_t size,
                  const std::int32_t* HWY_RESTRICT values, std::uint32_t border) {
  SplitSum sum;
  for (std::size_t at = 0; at < size; ++at) {
    const std::int64_t product = std::int64_t{values[row[at].label]} * row[at].value;
    const std::int64_t is_below = -static_cast<std::int64_t>(row[at].label < border);
    sum.below += product & is_below;
    sum.others += product & ~is_below;
  }
  return sum;
}

#endif

SearchKernel search_kernel() {
  return {add, sweep, test, multiply};
}

}  // namespace HWY_NAMESPACE
}  // namespace bulksim
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace bulksim {

namespace {

HWY_EXPORT(search_kernel);

}  // namespace

const SearchKernel& SearchKernel::best() {
  static const SearchKernel kernel = HWY_DYNAMIC_DISPATCH(search_kernel)();
  return kernel;
}

}  // namespace bulksim

#endif  // HWY_ONCE
