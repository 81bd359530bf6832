#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "bulksim/core/file.hpp"

/// Places where a program built with failpoints fails on purpose. Its environment variable
/// BULKSIM_FAILPOINTS has items RANK:POINT=ACTION[@K|~N], separated by ';':
///
///   rank1:part.after_write=kill@17;rank*:journal.before_write=torn@3;rank0:tile.begin=sleep:50~4
///
/// RANK is rank0, rank1, .. or rank*. The action is performed at the K-th pass, or at random in one
/// of N passes (seed: BULKSIM_FAILPOINT_SEED), otherwise at every pass. ACTION is kill, exit:CODE,
/// segv, hang or sleep:MILLISECONDS; before a call on a file also error:ERRNO; before a write also
/// short (half is written), torn (half is written, then kill) and flip:BIT. tile.values also has
/// flip:BIT, which flips the bit in every value, before the checks.
///
/// Points of file calls are FILE.before_CALL and FILE.after_CALL; every such call passes them.
namespace bulksim {

/// Names of all points.
inline constexpr std::string_view kFailpoints[] = {
    "input.read",
    "tile.begin",
    "tile.values",
    "tile.write",
    "tile.finish",
    "collective",
    "lock.before_link",
    "lock.after_link",
    "plan.before_write",
    "plan.after_write",
    "plan.before_sync",
    "plan.after_sync",
    "plan.before_link",
    "plan.after_link",
    "attempt.before_mkdir",
    "attempt.after_mkdir",
    "part.before_sync",
    "part.after_sync",
    "part.before_link",
    "part.after_link",
    "part.before_write",
    "part.after_write",
    "journal.before_write",
    "journal.after_write",
    "journal.before_sync",
    "journal.after_sync",
    "view.before_sync",
    "view.after_sync",
    "view.before_rename",
    "view.after_rename",
    "index.before_rename",
    "index.after_rename",
    "report.before_rename",
    "report.after_rename",
    "manifest.before_write",
    "manifest.after_write",
    "manifest.before_rename",
    "manifest.after_rename",
    "success.before_rename",
    "success.after_rename",
    "version.before_rename",
    "version.after_rename",
    "current.before_symlink",
    "current.after_symlink",
    "current.before_rename",
    "current.after_rename",
};

#ifdef BULKSIM_FAILPOINTS
/// Fails here when a rule applies.
void pass_failpoint(std::string_view point);
/// A function that corrupts values at a point; empty in a program without failpoints.
std::function<void(std::span<float>)> failing_values(std::string_view point);
/// The same calls with a point before and after each.
FileCalls& with_failpoints(FileCalls& calls);
#else
inline void pass_failpoint(std::string_view /*point*/) {}
inline std::function<void(std::span<float>)> failing_values(std::string_view /*point*/) {
  return nullptr;
}
inline FileCalls& with_failpoints(FileCalls& calls) {
  return calls;
}
#endif

}  // namespace bulksim
