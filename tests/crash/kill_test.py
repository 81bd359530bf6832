"""SIGKILL of any process at any time: the same command resumes and ends with the same bytes."""

import os
import signal
import subprocess
import time

from support import Bench, Reader, files_of, is_alive, ranks_of, wait_for

RANKS = [1, 2, 3, 5]


def kill(bench, launcher, whom):
    ranks = list(ranks_of(launcher).values())
    victims = {"rank 0": ranks[:1], "a rank": ranks and [bench.random.choice(ranks)],
               "mpirun": [launcher.pid], "all": [launcher.pid, *ranks]}[whom]
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    gone = wait_for(lambda: not any(map(is_alive, ranks)), 40)
    try:
        launcher.wait(30)
    except subprocess.TimeoutExpired:
        # A rank that dies while it connects can block mpirun's PMIx server during its exit: a
        # deadlock of Open MPI, which a batch system ends in the same way.
        print(f"mpirun is blocked after a kill of {whom}", flush=True)
        os.killpg(launcher.pid, signal.SIGKILL)
        launcher.wait()
    return gone


def journalled(bench):
    """Number of tiles in the journals on disk: a kill must not lose them."""
    tiles = set()
    for path in bench.out.glob("staging/*/journal/a*-r*"):
        data = path.read_bytes()
        for at in range(0, len(data) - 63, 64):
            if data[at:at + 4] == b"BSJ1" and data[at + 6] == 1:
                tiles.add(data[at + 24:at + 32])
    return len(tiles)


def random_kills(bench, seconds):
    kills = 100 if bench.long else 20
    reader = Reader(bench)
    counts = {}
    disturbed = 0
    number = 0
    while disturbed < kills and number < 3 * kills:
        number += 1
        whom = bench.random.choice(["rank 0", "a rank", "mpirun", "all"])
        launcher = bench.start(bench.program, bench.out, ranks=bench.random.choice(RANKS[1:]))
        time.sleep(bench.random.uniform(0, seconds))
        running = launcher.poll() is None
        bench.check(kill(bench, launcher, whom), f"every rank has ended after a kill of {whom}")
        counts[whom] = counts.get(whom, 0) + running
        disturbed += running
        if number % 4 == 3:
            before = journalled(bench)
            bench.finishes(f"kill {number} of {whom}", ranks=bench.random.choice(RANKS))
            report = (bench.out / "CURRENT" / "report.json").read_text()
            resumed = int(report.split('"resumed": ')[1].split(",")[0].split("\n")[0])
            bench.check(before == 0 or resumed == before,
                        f"all {before} journalled tiles are resumed, not {resumed}")
            bench.clear()
    bench.check(disturbed == kills, f"kills before the end of the run: {disturbed} of {kills}")
    reader.report(bench)
    print(f"kills before the end: {counts}", flush=True)


def other_rank_counts(bench):
    for before, after in ((4, 1), (4, 2), (4, 3), (4, 5), (4, 8), (1, 4)):
        bench.clear()
        code, _ = bench.run(bench.failpoints, bench.out, ranks=before,
                            points="rank0:tile.finish=kill@8")
        bench.check(code == 137, f"one of {before} ranks is killed, not {code}")
        bench.check(journalled(bench) >= 7, "tiles were done")
        bench.finishes(f"{before} ranks, then {after}", ranks=after)


def main():
    bench = Bench(__doc__)
    random_kills(bench, bench.pace)
    other_rank_counts(bench)
    bench.check(len(files_of(bench.reference)) > 4, "the reference is a complete version")
    bench.done()


main()
