"""A suspended run that owns an output."""

import contextlib
import os
import signal
import subprocess
import time

from support import wait_for, wait_for_ranks


def snapshot(out):
    """Name, inode, size and time of every file except the lease, which its owner renews."""
    facts = {}
    for path in sorted(out.rglob("*")):
        if path.is_file() and not path.name.startswith("LOCK"):
            status = path.lstat()
            facts[str(path)] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return facts


class StoppedOwner:
    """A run that is suspended in the middle of its tiles, in its own output."""

    def __init__(self, bench, name):
        self.bench = bench
        self.out = bench.folder / name
        self.log = bench.folder / f"{name}.messages"
        with self.at_work():
            self.process = bench.start(bench.failpoints, bench.out,
                                       points="rank*:tile.begin=sleep:1000@4")
            self.ranks = list(wait_for_ranks(self.process, 2).values())
            wait_for(lambda: "failpoint" in bench.messages())
        self.signal(signal.SIGSTOP)
        time.sleep(0.3)  # until they have stopped
        self.since = time.monotonic()

    @contextlib.contextmanager
    def at_work(self):
        """The bench uses this output and the messages of this run."""
        before = self.bench.out, self.bench.log
        self.bench.out, self.bench.log = self.out, self.log
        yield
        self.bench.out, self.bench.log = before

    def signal(self, number):
        for rank in self.ranks:
            os.kill(rank, number)

    def is_left_alone(self):
        """Another run ends with 73 and changes nothing."""
        before = snapshot(self.out)
        other = subprocess.run(self.bench.command(self.bench.program, self.out, 1),
                               capture_output=True, text=True)
        self.bench.check(other.returncode == 73 and "in use by process" in other.stderr,
                         f"a second run gives 73, not {other.returncode}: {other.stderr}")
        changed = set(snapshot(self.out).items()) ^ set(before.items())
        self.bench.check(not changed, f"and has changed nothing: {changed}")

    def end(self):
        with self.at_work():
            return self.bench.end(self.process)[0]
