// Compiles the inner loop for each instruction set and chooses one of them.
//
// foreach_target.h includes this file once per instruction set; its macros must not outlive a pass.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/cpu_kernel.cpp"
#ifndef HWY_COMPILE_ALL_ATTAINABLE
#define HWY_COMPILE_ALL_ATTAINABLE  // keeps the scalar kernel for the tests
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include "backend/cpu/cpu_kernel.hpp"

#include <cstddef>
#include <cstdint>

#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernel_loop_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace bulksim {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void stream(float* out, std::size_t size) {
  const hn::CappedTag<float, 16> d;
  for (std::size_t at = 0; at < size; at += hn::Lanes(d))
    hn::Stream(hn::Zero(d), d, out + at);
  hwy::FlushStream();
}

/// The variants for one kind of sums, indexed by Identities and Partials.
template <class Scores>
KernelVariants variants() {
  constexpr auto kRows = Identities::kRows;
  constexpr auto kColumns = Identities::kRowsAndColumns;
  return {{{run<Scores, kRows, Partials::kOff>, run<Scores, kRows, Partials::kOn>},
           {run<Scores, kColumns, Partials::kOff>, run<Scores, kColumns, Partials::kOn>}},
          run_filter<Scores>};
}

KernelFunctions functions() {
  return {kLanes, stream, variants<ExactScores<0>>(), variants<NonNegativeCosines>()};
}

}  // namespace HWY_NAMESPACE
}  // namespace bulksim
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "bulksim/core/error.hpp"

namespace bulksim {

namespace {

HWY_EXPORT(functions);

/// The targets of an option.
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

/// Entry of a target in the table of HWY_EXPORT. A build for one target has one entry.
template <class Function, std::size_t kSize>
Function entry(Function const (&table)[kSize], std::int64_t target) {
  if (kSize == 1) return table[0];
  const std::int64_t mask = HWY_CHOSEN_TARGET_SHIFT(target) | HWY_CHOSEN_TARGET_MASK_SCALAR;
  return table[hwy::Num0BitsBelowLS1Bit_Nonzero64(mask)];
}

}  // namespace

CpuKernel CpuKernel::choose(Simd simd) {
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS & targets_of(simd);
  if (usable == 0) {
    throw Error(ExitCode::kUsage,
                "this machine or this build does not have the requested instruction set "
                "(choose another one, or 'best')");
  }
  const std::int64_t target = usable & -usable;  // the lowest bit is the best target
  return CpuKernel(hwy::TargetName(target), entry(HWY_DISPATCH_TABLE(functions), target)());
}

BlockFunction CpuKernel::function(FixedPoint format, Signs signs, Identities identities,
                                  Partials partials) const {
  return variants(format, signs)
      .functions[identities == Identities::kRowsAndColumns][partials == Partials::kOn];
}

FilterFunction CpuKernel::filter_function(FixedPoint format, Signs signs) const {
  return variants(format, signs).filter;
}

const KernelVariants& CpuKernel::variants(FixedPoint format, Signs signs) const {
  const bool from_one = format == kQ26 && signs == Signs::kNonNegative;
  return from_one ? functions_.non_negative : functions_.any;
}

}  // namespace bulksim

#endif  // HWY_ONCE
