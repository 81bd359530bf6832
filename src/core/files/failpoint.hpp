#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "bulksim/core/file.hpp"

/// Places where a program that was built for it fails on purpose. The environment variable
/// BULKSIM_FAILPOINTS of that program (and of no other) has items RANK:POINT=ACTION[@K|~N], with
/// ';' between them:
///
///   rank1:part.after_write=kill@17;rank*:journal.before_write=torn@3;rank0:tile.begin=sleep:50~4
///
/// RANK is rank0, rank1, .. or rank*. It happens at the K-th time, or by chance at one time of N
/// (BULKSIM_FAILPOINT_SEED is the seed), else every time. ACTION is kill, exit:CODE, segv, hang,
/// sleep:MILLISECONDS; and for points before a call on a file error:ERRNO; and for points before a
/// write short (half is written), torn (half is written, then kill) and flip:BIT; flip:BIT also
/// where values are finished but not yet checked, of every value.
///
/// A point on a file is FILE.before_CALL or FILE.after_CALL, at every such call.
namespace bulksim {

/// All points.
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
/// Fails here when it was told to.
void pass_failpoint(std::string_view point);
/// What spoils values at a point, or nothing in a program without failpoints.
std::function<void(std::span<float>)> failing_values(std::string_view point);
/// The same calls with a point on both sides of each.
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
