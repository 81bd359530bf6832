"""However tonight's run fails, the version of last night stays complete and current."""

import shutil
import signal
import subprocess

from support import Bench, wait_for, wait_for_ranks

FAILURES = [  # of one rank: the failpoint, and the exit code
    ("rank0:plan.before_link=kill", 137),
    ("rank0:part.before_sync=error:28", 74),
    ("rank1:part.before_write=error:28@3", 74),
    ("rank1:part.before_write=torn@2", 137),
    ("rank1:journal.before_sync=error:5", 74),
    ("rank0:tile.write=segv@4", 139),
    ("rank1:tile.finish=exit:70@2", 70),
    ("rank0:view.before_rename=kill", 137),
    ("rank0:index.after_rename=kill", 137),
    ("rank0:manifest.before_write=error:122", 74),
    ("rank0:success.before_rename=kill", 137),
    ("rank0:success.after_rename=kill", 137),
    ("rank0:version.before_rename=error:5", 74),
    ("rank0:version.after_rename=kill", 137),
    ("rank0:current.before_symlink=error:28", 74),
    ("rank0:current.before_rename=kill", 137),
]
REFUSALS = [  # options, and the exit code
    (["--memory", "1M"], 71),
    (["--max-output", "1M"], 74),
    (["--guard"], 65),
    (["--tile", "0x0"], 64),
]


class LastNight:
    """The current version as published before any failure."""

    def __init__(self, bench):
        self.bench = bench
        items = bench.folder / "more"
        subprocess.run([bench.program, "generate", "titles43", "--items", "9000", "--queries",
                        "300", "-q", "-o", items], check=True)
        tonight, bench.items = bench.items, bench.folder / "more_items.csr"
        code, _ = bench.run(bench.program, bench.out)
        bench.check(code == 0, "the run of last night succeeds")
        bench.items = tonight
        self.facts = self.look()

    def look(self):
        """The target of CURRENT, and inode, size and time of every file there."""
        version = (self.bench.out / "CURRENT").resolve(strict=True)
        files = {str(path): path.lstat() for path in sorted(version.rglob("*"))}
        return version, {path: (status.st_ino, status.st_size, status.st_mtime_ns)
                         for path, status in files.items()}

    def is_whole_after(self, what):
        self.bench.check(self.look() == self.facts, f"{what}: last night's version is untouched")
        verify = subprocess.run([self.bench.program, "verify", self.bench.out],
                                capture_output=True, text=True)
        self.bench.check(verify.returncode == 0, f"{what}: and verified: {verify.stderr}")


def forget_tonight(bench):
    shutil.rmtree(bench.out / "staging", ignore_errors=True)


def stopped(bench, last_night):
    process = bench.start(bench.failpoints, bench.out, points="rank*:tile.begin=sleep:1000@2")
    wait_for_ranks(process, 2)
    wait_for(lambda: "failpoint" in bench.messages())
    process.send_signal(signal.SIGUSR1)
    code, _ = bench.end(process)
    bench.check(code == 75, f"a signal: 75, not {code}")
    last_night.is_whole_after("a signal")


def main():
    bench = Bench(__doc__)
    last_night = LastNight(bench)
    for options, expected in REFUSALS:
        forget_tonight(bench)
        code, _ = bench.run(bench.program, bench.out, options=options)
        bench.check(code == expected, f"{options}: {expected}, not {code}")
        last_night.is_whole_after(options)
    stopped(bench, last_night)
    for points, expected in FAILURES:
        forget_tonight(bench)
        code, messages = bench.run(bench.failpoints, bench.out, points=points)
        bench.check(code == expected and "failpoint" in messages,
                    f"{points}: {expected}, not {code}")
        last_night.is_whole_after(points)
    bench.finishes("after all failures")
    bench.check(last_night.facts[0].exists(), "and the version of last night is kept")
    bench.done()


main()
