"""One job an output: of several starters one runs, and a finished result stays as it is."""

import os
import signal
import subprocess
import time

from support import Bench, wait_for, wait_for_ranks

ROUNDS = 10
STARTERS = 5


def snapshot(out):
    """Name, inode, size and time of every file but the lease, which its holder renews."""
    facts = {}
    for path in sorted(out.rglob("*")):
        if path.is_file() and not path.name.startswith("LOCK"):
            status = path.lstat()
            facts[str(path)] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return facts


def starters(bench):
    """All start at once; those that lose have 5 s and change nothing."""
    for number in range(ROUNDS):
        bench.clear()
        environment = dict(os.environ, BULKSIM_FAILPOINTS="rank0:tile.begin=sleep:4000@2")
        start = time.monotonic()
        processes = [subprocess.Popen(bench.command(bench.failpoints, bench.out, 1,
                                                    ["--parts", str(2 + i % 2)] if number % 2 else []),
                                      env=environment, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) for i in range(STARTERS)]
        wait_for(lambda: sum(p.poll() is not None for p in processes) >= STARTERS - 1, 10)
        losers = [p.returncode for p in processes if p.poll() is not None]
        bench.check(losers == [73] * (STARTERS - 1), f"all but one end with 73: {losers}")
        bench.check(time.monotonic() - start < 5, "the losers end within 5 s")
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    bench.clear()


def late_starter(bench):
    """A run at work is left alone, also while it is stopped."""
    bench.clear()
    process = bench.start(bench.failpoints, bench.out, ranks=2,
                          points="rank*:tile.begin=sleep:3000@4")
    ranks = wait_for_ranks(process, 2)
    wait_for(lambda: "failpoint" in bench.messages())
    for rank in ranks.values():
        os.kill(rank, signal.SIGSTOP)
    time.sleep(0.3)  # until they stand still
    before = snapshot(bench.out)
    other = subprocess.run(bench.command(bench.program, bench.out, 1), capture_output=True, text=True)
    bench.check(other.returncode == 73 and "in use by process" in other.stderr,
                f"a second run gives 73, not {other.returncode}: {other.stderr}")
    changed = set(snapshot(bench.out).items()) ^ set(before.items())
    bench.check(not changed, f"and has changed nothing: {changed}")
    process.send_signal(signal.SIGKILL)
    for rank in ranks.values():
        try:
            os.kill(rank, signal.SIGKILL)
        except ProcessLookupError:
            pass
    process.wait()
    start = time.monotonic()
    bench.finishes("after all were killed")
    bench.check(time.monotonic() - start < 20, "the lease of the dead is taken over at once")


def finished(bench):
    """The same command once more changes nothing; --recompute makes a new version."""
    bench.clear()
    bench.finishes("the first run")
    before = snapshot(bench.out)
    start = time.monotonic()
    code, messages = bench.run(bench.program, bench.out, ranks=2)
    bench.check(code == 0 and "already" in messages, f"the second run gives 0, not {code}")
    bench.check(time.monotonic() - start < 5, "in under 5 s")
    bench.check(snapshot(bench.out) == before, "and changes nothing")
    bench.check(not (bench.out / "LOCK").exists(), "and leaves no lease")
    code, _ = bench.run(bench.program, bench.out, options=["--recompute"])
    versions = sorted(path.name for path in (bench.out / "versions").iterdir())
    bench.check(code == 0 and len(versions) == 2, f"--recompute makes a version: {versions}")
    bench.check(bench.differences() == [], "of the same bytes")
    verified = subprocess.run([bench.program, "verify", bench.out, "--against",
                               bench.folder / "in_items.csr", bench.folder / "in_queries.csr"],
                              stdout=subprocess.DEVNULL)
    bench.check(verified.returncode == 0, "verify --against is clean")


def main():
    bench = Bench(__doc__)
    starters(bench)
    late_starter(bench)
    finished(bench)
    bench.done()


main()
