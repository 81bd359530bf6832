"""Shared by the crash tests: inputs, runs under mpirun, and the comparison of results.

Each test takes --work, --program and --failpoints (the program that fails on purpose), --seed, and
--long for more rounds of what happens at random times.
"""

import argparse
import filecmp
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

TILE = ["--tile", "64x512"]  # 5 x 12 tiles
TILES = 60


class Bench:
    """A folder with inputs, and the result of an undisturbed run."""

    def __init__(self, description):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--work", type=pathlib.Path, required=True)
        parser.add_argument("--program", required=True)
        parser.add_argument("--failpoints", required=True)
        parser.add_argument("--seed", type=int, default=random.randrange(2**32))
        parser.add_argument("--long", action="store_true")
        arguments = parser.parse_args()
        self.long = arguments.long
        self.seed = arguments.seed
        self.random = random.Random(self.seed)
        print(f"--seed {self.seed}", flush=True)
        self.program = arguments.program
        self.failpoints = arguments.failpoints
        self.folder = arguments.work
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.failures = 0
        self.prefix = []  # command prefix of a program without mpirun
        self.log = self.folder / "messages"
        subprocess.run([self.program, "generate", "titles43", "--items", "6000", "--queries", "300",
                        "-q", "-o", self.folder / "in"], check=True)
        self.items = self.folder / "in_items.csr"
        self.queries = self.folder / "in_queries.csr"
        self.reference = self.folder / "reference"
        code, errors = self.run(self.program, self.reference, ranks=1)
        assert code == 0, errors
        self.out = self.folder / "out"
        self.pace = self.seconds_of_a_run()

    def seconds_of_a_run(self):
        """Seconds of a run on two ranks on this machine; time limits are multiples of it."""
        start = time.monotonic()
        self.finishes("an undisturbed run")
        self.clear()
        return time.monotonic() - start

    def command(self, program, out, ranks, options=()):
        launcher = ["mpirun", "-q", "-n", str(ranks)] if ranks > 1 else self.prefix
        return [*launcher, program, "compute", self.items, self.queries, "-o", out, "-j", "1", *TILE,
                *options]

    def start(self, program, out, ranks=2, points="", options=()):
        """Starts a run; its messages go to a file."""
        environment = dict(os.environ, BULKSIM_FAILPOINTS=points,
                           BULKSIM_FAILPOINT_SEED=str(self.random.randrange(2**32)))
        with open(self.log, "wb") as messages:
            return subprocess.Popen(self.command(program, out, ranks, options), env=environment,
                                    stdout=subprocess.DEVNULL, stderr=messages,
                                    start_new_session=True)

    def end(self, process, seconds=60):
        """Its exit code (128 + signal, as in a shell) and its messages."""
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = None
        return (128 - code if code is not None and code < 0 else code), self.messages()

    def run(self, program, out, ranks=2, points="", options=(), seconds=60):
        return self.end(self.start(program, out, ranks, points, options), seconds)

    def messages(self):
        return self.log.read_text(errors="replace")

    def clear(self):
        """Removes the output atomically, so that no reader finds a part of it."""
        gone = self.out.with_name(self.out.name + ".gone")
        if self.out.exists():
            self.out.rename(gone)
            shutil.rmtree(gone)

    def check(self, holds, claim):
        if not holds:
            self.failures += 1
            print(f"FAILED: {claim}\n{self.messages()}", flush=True)
        return holds

    def finishes(self, claim, ranks=2):
        """The same command, undisturbed, ends with the bytes of the reference."""
        code, _ = self.run(self.program, self.out, ranks)
        return (self.check(code == 0, f"{claim}: the next run ends with 0, not {code}") and
                self.check(self.differences() == [],
                           f"{claim}: the same bytes, but {self.differences()}"))

    def refuses(self, out, codes, words):
        """The run fails soon, and its messages end with one sentence that contains these words."""
        seconds = max(2.0, 2 * self.pace)
        start = time.monotonic()
        code, messages = self.run(self.program, out, ranks=1, options=["--max-output", "1G"])
        taken = time.monotonic() - start
        self.check(code in codes, f"{out}: one of {codes}, not {code}")
        last = messages.splitlines()[-1] if messages else ""
        self.check("error: " in last and all(word in last for word in words),
                   f"{out}: prints {words}")
        self.check(taken < seconds, f"{out}: within {seconds:.0f} s, not {taken:.1f} s")

    def differences(self, reference=None):
        mine, theirs = (files_of(out) for out in (self.out, reference or self.reference))
        return sorted(set(mine) ^ set(theirs)) + [
            name for name in sorted(set(mine) & set(theirs))
            if not filecmp.cmp(mine[name], theirs[name], shallow=False)]

    def errors(self):
        """The error files of all attempts."""
        return [json.loads(path.read_text())
                for path in sorted(self.out.glob("staging/*/errors/*.json"))]

    def done(self):
        sys.exit(1 if self.failures else 0)


class Reader(threading.Thread):
    """Reads CURRENT of a bench continuously; the version must always be complete."""

    def __init__(self, bench):
        super().__init__(daemon=True)
        self.current = bench.out / "CURRENT"
        self.looks = 0
        self.violations = []
        self.start()

    def run(self):
        while True:
            time.sleep(0.005)
            try:
                version = pathlib.Path(os.path.realpath(self.current, strict=True))
            except OSError:
                continue
            missing = what_is_missing(version)
            if missing and version.exists():  # and was not removed for the next round
                self.violations.append((version, missing))
            self.looks += 1

    def report(self, bench):
        bench.check(self.looks > 0 and not self.violations,
                    f"a reader never saw an incomplete version: {self.violations[:3]}")
        print(f"reads of CURRENT: {self.looks}", flush=True)


def what_is_missing(version):
    """Files of a complete version that are missing here or have another size."""
    try:
        files = json.loads((version / "MANIFEST.json").read_text())["files"]
    except (OSError, ValueError):
        return ["MANIFEST.json"]
    names = {file["path"] for file in files}
    missing = {"similarity.h5", "tiles.idx"} - names
    missing |= {file["path"] for file in files if size_of(version / file["path"]) != file["bytes"]}
    return sorted(missing | ({"_SUCCESS"} if size_of(version / "_SUCCESS") <= 0 else set()))


def size_of(path):
    try:
        return path.stat().st_size
    except OSError:
        return -1


def files_of(out):
    """The files of the current version except the report, which contains times."""
    version = (out / "CURRENT").resolve(strict=True)
    return {str(path.relative_to(version)): path for path in version.rglob("*")
            if path.is_file() and not path.name.startswith("report.")}


def ranks_of(launcher):
    """Process ids by rank, of the processes that mpirun has started."""
    ranks = {}
    for task in pathlib.Path(f"/proc/{launcher.pid}/task").glob("*/children"):
        for child in task.read_text().split():
            try:
                variables = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            for variable in variables:
                if variable.startswith(b"OMPI_COMM_WORLD_RANK="):
                    ranks[int(variable.split(b"=")[1])] = int(child)
    return ranks


def listens(process):
    """Whether a process has a handler for SIGUSR1."""
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith("SigCgt:"):
                return int(line.split()[1], 16) >> (signal.SIGUSR1 - 1) & 1 == 1
    except OSError:
        pass
    return False


def is_alive(process):
    """Whether the process exists and is not a zombie."""
    try:
        return ") Z " not in pathlib.Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def wait_for(condition, seconds=20.0):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def wait_for_ranks(launcher, count):
    """The process ids by rank, once all handle signals."""
    wait_for(lambda: launcher.poll() is not None or
             (len(ranks_of(launcher)) == count and all(map(listens, ranks_of(launcher).values()))))
    return ranks_of(launcher)
