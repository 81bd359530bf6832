"""A rank that hangs, dies or fails ends the whole job soon, with its code and an error file."""

import os
import signal
import time

from support import TILES, Bench, wait_for, wait_for_ranks

HANGS = {  # where rank 1 hangs: what the error file says of it
    "rank1:input.read=hang@2": "no operation has completed",
    "rank1:collective=hang@9": "no operation has completed",
    "rank1:tile.write=hang@3": "stuck in the tile in row",
    "rank1:part.before_write=hang@3": "stuck in pwrite '",
    "rank1:journal.before_sync=hang": "stuck in f",
    "rank0:current.before_rename=hang": "stuck in rename '",
}
FAULTS = {  # what happens to rank 1: the exit code, errno and phase of the root cause
    "rank1:part.before_write=error:5@4": (74, 5, "compute"),
    "rank1:journal.before_write=error:28@4": (74, 28, "compute"),
    "rank1:part.before_sync=error:5": (74, 5, "sync"),
    "rank0:manifest.before_write=error:122": (74, 122, "publish"),
}
DEATHS = {"rank1:tile.write=kill@4": 137, "rank1:tile.write=segv@4": 139,
          "rank1:tile.write=exit:65@4": 65, "rank1:tile.write=exit:70@4": 70}


def deadline(bench):
    """Seconds, longer than any step of a healthy run here; the start of MPI gets more."""
    return max(2.0, 3 * bench.pace)


def deadlines(bench):
    return ["--deadlines", f"{deadline(bench)},init=120"]


def hangs(bench):
    for points, cause in HANGS.items():
        bench.clear()
        start = time.monotonic()
        code, messages = bench.run(bench.failpoints, bench.out, points=points,
                                   options=deadlines(bench))
        bench.check(code == 69, f"{points}: 69, not {code}")
        bench.check(cause in messages, f"{points}: says '{cause}'")
        most = bench.pace + deadline(bench) + 5 + 15  # found within 5 s, gone within 15 s
        bench.check(time.monotonic() - start < most, f"{points}: ends soon")
        bench.finishes(points)


def whole_process_stopped(bench):
    for rank in (0, 1):
        bench.clear()
        process = bench.start(bench.failpoints, bench.out, points="rank*:tile.begin=sleep:1000@3",
                              options=deadlines(bench))
        ranks = wait_for_ranks(process, 2)
        wait_for(lambda: "tile.begin" in bench.messages())
        os.kill(ranks[rank], signal.SIGSTOP)
        code, messages = bench.end(process)
        bench.check(code == 69, f"rank {rank} stopped: 69, not {code}")
        bench.check(f"rank {rank} on host" in messages and "has sent no heartbeat" in messages,
                    f"rank {rank} is named")
        errors = bench.errors()
        bench.check(len(errors) == 1 and errors[0]["root_cause"] and
                    errors[0]["rank"] == 1 - rank and errors[0]["exit_code"] == 69,
                    f"the other rank reports rank {rank}: {errors}")
        bench.finishes(f"rank {rank} stopped")


def slow_is_not_stuck(bench):
    """Rank 1 waits for rank 0 for three times the deadline."""
    bench.clear()
    pause = 3000 * deadline(bench) / (TILES / 2)
    code, _ = bench.run(bench.failpoints, bench.out, points=f"rank0:tile.begin=sleep:{pause:.0f}",
                        options=deadlines(bench), seconds=60 + 6 * deadline(bench))
    bench.check(code == 0, f"the others wait for a slow rank: 0, not {code}")


def deaths(bench):
    for points, expected in DEATHS.items():
        bench.clear()
        start = time.monotonic()
        code, messages = bench.run(bench.failpoints, bench.out, points=points)
        bench.check(code == expected, f"{points}: {expected}, not {code}")
        bench.check(time.monotonic() - start < bench.pace + 10, f"{points}: ends within 10 s")
        bench.check("rank 1 on host" in messages and "has died" in messages,
                    f"{points}: rank 1 is named")
        errors = bench.errors()
        bench.check(len(errors) == 1 and errors[0]["rank"] == 0, f"{points}: {errors}")
        bench.finishes(points)


def faults(bench):
    for points, expected in FAULTS.items():
        bench.clear()
        code, _ = bench.run(bench.failpoints, bench.out, points=points)
        roots = [error for error in bench.errors() if error["root_cause"]]
        found = [(error["exit_code"], error["errno"], error["phase"]) for error in roots]
        bench.check(code == expected[0], f"{points}: {expected[0]}, not {code}")
        bench.check(found == [expected], f"{points}: root cause {found}")
        bench.finishes(points)


def main():
    bench = Bench(__doc__)
    hangs(bench)
    whole_process_stopped(bench)
    slow_is_not_stuck(bench)
    deaths(bench)
    faults(bench)
    bench.done()


main()
