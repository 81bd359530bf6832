"""One job per output: of several starters one runs, and a finished result stays unchanged."""

import contextlib
import os
import signal
import subprocess
import time

from stopped_owner import StoppedOwner, snapshot
from support import Bench, wait_for

ROUNDS = 10
STARTERS = 5


def starters(bench):
    """All start at the same time; all but one end within 5 s and change nothing."""
    for number in range(ROUNDS):
        bench.clear()
        environment = dict(os.environ, BULKSIM_FAILPOINTS="rank0:tile.begin=sleep:60000@2")
        start = time.monotonic()
        processes = [subprocess.Popen(bench.command(bench.failpoints, bench.out, 1,
                                                    ["--parts", str(2 + i % 2)] if number % 2 else []),
                                      env=environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) for i in range(STARTERS)]
        wait_for(lambda: sum(p.poll() is not None for p in processes) >= STARTERS - 1, 30)
        taken = time.monotonic() - start
        losers = [p.returncode for p in processes if p.poll() is not None]
        bench.check(losers == [73] * (STARTERS - 1), f"all but one end with 73: {losers}")
        most = max(5.0, STARTERS * bench.pace)
        bench.check(taken < most, f"the losers end within {most:.0f} s, not {taken:.1f} s")
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    bench.clear()


def owner_that_dies(bench):
    """Everything is killed: the same command resumes at once."""
    bench.clear()
    owner = StoppedOwner(bench, "dead")
    owner.is_left_alone()
    owner.process.send_signal(signal.SIGKILL)
    for rank in owner.ranks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(rank, signal.SIGKILL)
    owner.process.wait()
    start = time.monotonic()
    with owner.at_work():
        bench.finishes("after all were killed")
    bench.check(time.monotonic() - start < 10 + 2 * bench.pace,
                "the lease of the killed run is taken over at once")


def finished(bench):
    """The same command once more changes nothing; --recompute makes a new version."""
    bench.clear()
    bench.finishes("the first run")
    before = snapshot(bench.out)
    start = time.monotonic()
    code, messages = bench.run(bench.program, bench.out, ranks=2)
    bench.check(code == 0 and "already" in messages, f"the second run gives 0, not {code}")
    bench.check(time.monotonic() - start < max(5.0, 2 * bench.pace), "in under 5 s")
    bench.check(snapshot(bench.out) == before, "and changes nothing")
    bench.check(not (bench.out / "LOCK").exists(), "and leaves no lease")
    code, _ = bench.run(bench.program, bench.out, options=["--recompute"])
    versions = sorted(path.name for path in (bench.out / "versions").iterdir())
    bench.check(code == 0 and len(versions) == 2, f"--recompute makes a version: {versions}")
    bench.check(bench.differences() == [], "with the same bytes")
    verified = subprocess.run([bench.program, "verify", bench.out, "--against",
                               bench.items, bench.queries],
                              stdout=subprocess.DEVNULL)
    bench.check(verified.returncode == 0, "verify --against is clean")


def main():
    bench = Bench(__doc__)
    starters(bench)
    owner_that_dies(bench)
    finished(bench)
    bench.done()


main()
