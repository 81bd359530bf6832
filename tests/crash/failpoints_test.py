"""A kill at every failpoint: the next run ends with the bytes of an undisturbed run."""

import pathlib
import re

from support import Bench, Reader

SEVERAL_TIMES = ["part.after_write", "journal.before_write", "collective"]
OF_RANK_0 = ["lock", "plan", "attempt", "view", "index", "report", "manifest", "success", "version",
             "current"]  # files that only rank 0 touches


def all_points():
    header = pathlib.Path(__file__).parents[2] / "src/core/files/failpoint.hpp"
    return re.findall(r'^    "([a-z._]+)",$', header.read_text(), re.MULTILINE)


def main():
    bench = Bench(__doc__)
    points = all_points()
    bench.check(len(points) >= 25, "there are at least 25 points")

    binary = pathlib.Path(bench.program).read_bytes()
    for word in ["BULKSIM_FAILPOINTS", *(point for point in points if "." in point)]:
        bench.check(word.encode() not in binary, f"the program does not contain {word}")

    reader = Reader(bench)
    everything = ";".join(f"rank0:{point}=sleep:0" for point in points)
    _, messages = bench.run(bench.failpoints, bench.out, points=everything)
    passed = {point: messages.count(f"failpoint {point}:") for point in points}

    for point in points:
        last = passed[point]
        times = sorted({1, (last + 1) // 2, last}) if point in SEVERAL_TIMES else [1]
        for time in times:
            bench.clear()
            ranks = 1 if point.split(".")[0] in OF_RANK_0 else 2  # the next run always has 2
            code, messages = bench.run(bench.failpoints, bench.out, ranks,
                                       points=f"rank0:{point}=kill@{time}")
            claim = f"killed at {point}, time {time} of {last}"
            if bench.check(code == 137 and f"failpoint {point}:" in messages,
                           f"{claim}: the failpoint is reached (exit code {code})"):
                bench.finishes(claim)

    for point in ("part.before_write", "journal.before_write"):
        bench.clear()
        code, _ = bench.run(bench.failpoints, bench.out, points=f"rank1:{point}=torn@5")
        claim = f"a write is torn at {point}"
        bench.check(code == 137, f"{claim}: exit code {code}")
        bench.finishes(claim)
    reader.report(bench)
    bench.done()


main()
