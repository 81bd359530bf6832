"""Signals and time limits end a run cleanly, and the next one resumes."""

import signal
import time

from support import TILES, Bench, is_alive, wait_for, wait_for_ranks

SLOW = "rank*:tile.begin=sleep:25"  # two ranks take at least 0.8 s


def stopped_at_random_times(bench, number, rounds):
    """Every round resumes the previous one; after a finished run it begins from the start."""
    bench.clear()
    codes = []
    for attempt in range(rounds):
        process = bench.start(bench.failpoints, bench.out, points=SLOW)
        wait_for_ranks(process, 2)
        time.sleep(bench.random.uniform(0, 0.8))
        process.send_signal(number)
        start = time.monotonic()
        code, _ = bench.end(process)
        codes.append(code)
        name = signal.Signals(number).name
        bench.check(time.monotonic() - start < 10, f"{name} ends it within 10 s")
        if number == signal.SIGUSR1:
            bench.check(code in (0, 75), f"{name} to mpirun gives 0 or 75, not {code}")
        if code == 0 or attempt % 4 == 3:
            bench.finishes(f"after {name}")
            bench.clear()
    print(f"{signal.Signals(number).name}: {codes}", flush=True)


def time_limit(bench):
    bench.clear()
    limit = max(3.0, 4 * bench.pace)
    pause = 4000 * limit / (TILES / 2)  # the tiles alone would take four times the limit
    start = time.monotonic()
    code, messages = bench.run(bench.failpoints, bench.out,
                               points=f"rank*:tile.begin=sleep:{pause:.0f}",
                               options=["--max-hours", str(limit / 3600)], seconds=10 * limit)
    bench.check(code == 75 and "stopped at" in messages, f"--max-hours gives 75, not {code}")
    seconds = time.monotonic() - start  # includes launcher, MPI and the current tiles
    bench.check(seconds < 2 * limit + bench.pace,
                f"--max-hours of {limit:.1f} s ends the run in time, not after {seconds:.1f} s")
    errors = bench.errors()
    bench.check([error["exit_code"] for error in errors] == [75], "the error file contains 75")
    bench.finishes("after --max-hours")


def in_a_hurry(bench):
    bench.clear()
    process = bench.start(bench.failpoints, bench.out, points="rank*:tile.begin=sleep:30000@3")
    wait_for_ranks(process, 2)
    wait_for(lambda: "failpoint" in bench.messages())
    for _ in range(2):
        process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
    start = time.monotonic()
    code, _ = bench.end(process)
    bench.check(code == 75, f"a second SIGUSR1 gives 75, not {code}")
    bench.check(time.monotonic() - start < 10, "a second SIGUSR1 does not wait for a tile")
    bench.finishes("after two signals")


def progress(bench):
    bench.clear()
    process = bench.start(bench.failpoints, bench.out, points=SLOW + "0")
    wait_for_ranks(process, 2)
    wait_for(lambda: "failpoint" in bench.messages())
    time.sleep(1)
    process.send_signal(signal.SIGUSR2)
    bench.check(wait_for(lambda: " left\n" in bench.messages()), "SIGUSR2 shows the progress")
    process.send_signal(signal.SIGUSR1)
    bench.end(process)


def launcher_killed(bench):
    bench.clear()
    process = bench.start(bench.failpoints, bench.out, points=SLOW)
    ranks = wait_for_ranks(process, 2).values()
    bench.check(len(ranks) == 2, "there are two ranks")
    process.kill()
    gone = wait_for(lambda: not any(map(is_alive, ranks)), max(1.0, bench.pace))
    bench.check(gone, "ranks die within 1 s of their launcher")
    process.wait()
    bench.finishes("after the death of the launcher")


def main():
    bench = Bench(__doc__)
    stopped_at_random_times(bench, signal.SIGUSR1, 40 if bench.long else 8)
    stopped_at_random_times(bench, signal.SIGTERM, 20 if bench.long else 4)
    time_limit(bench)
    in_a_hurry(bench)
    progress(bench)
    launcher_killed(bench)
    bench.done()


main()
