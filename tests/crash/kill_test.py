"""SIGKILL of any process at any time: the same command goes on and ends with the same bytes."""

import os
import pathlib
import signal
import threading
import time

from support import Bench, files_of, is_alive, ranks_of, wait_for

KILLS = 50
RANKS = [1, 2, 3, 5]


class Reader(threading.Thread):
    """Follows CURRENT all the time; what it shows must be whole."""

    def __init__(self, out):
        super().__init__(daemon=True)
        self.out = out
        self.looks = 0
        self.violations = []

    def run(self):
        while True:
            time.sleep(0.005)
            try:
                version = pathlib.Path(os.path.realpath(self.out / "CURRENT", strict=True))
            except OSError:
                continue
            needed = ["_SUCCESS", "MANIFEST.json", "similarity.h5", "tiles.idx"]
            missing = [name for name in needed if not (version / name).exists()]
            if missing and version.exists():  # and not removed for the next round
                self.violations.append((version, missing))
            self.looks += 1


def kill(bench, launcher, whom):
    ranks = list(ranks_of(launcher).values())
    victims = {"rank 0": ranks[:1], "a rank": ranks and [bench.random.choice(ranks)],
               "mpirun": [launcher.pid], "all": [launcher.pid, *ranks]}[whom]
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            pass
    launcher.wait(30)
    return wait_for(lambda: not any(map(is_alive, ranks)), 10)


def journalled(bench):
    """Tiles that the journals on disk name: what a kill may not lose."""
    tiles = set()
    for path in bench.out.glob("staging/*/journal/a*-r*"):
        data = path.read_bytes()
        for at in range(0, len(data) - 63, 64):
            if data[at:at + 4] == b"BSJ1" and data[at + 6] == 1:
                tiles.add(data[at + 24:at + 32])
    return len(tiles)


def random_kills(bench, seconds):
    reader = Reader(bench.out)
    reader.start()
    counts = {}
    disturbed = 0
    number = 0
    while disturbed < KILLS and number < 3 * KILLS:
        number += 1
        whom = bench.random.choice(["rank 0", "a rank", "mpirun", "all"])
        launcher = bench.start(bench.program, bench.out, ranks=bench.random.choice(RANKS[1:]))
        time.sleep(bench.random.uniform(0, seconds))
        running = launcher.poll() is None
        bench.check(kill(bench, launcher, whom), f"every rank is gone after a kill of {whom}")
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
    bench.check(disturbed == KILLS, f"kills came in time, {disturbed} of {KILLS}")
    bench.check(reader.looks > 0 and not reader.violations,
                f"a reader never saw half a version: {reader.violations[:3]}")
    print(f"kills in time: {counts}, looks of the reader: {reader.looks}", flush=True)


def main():
    bench = Bench(__doc__)
    start = time.monotonic()
    code, _ = bench.run(bench.program, bench.out, ranks=2)
    seconds = time.monotonic() - start
    bench.check(code == 0, "an undisturbed run")
    bench.clear()
    random_kills(bench, seconds)
    bench.check(len(files_of(bench.reference)) > 4, "the reference is a whole version")
    bench.done()


main()
