"""Disks that cannot be written: the right code and one sentence, soon, and no leftovers.

The file systems are mounted in a private namespace of this test.
"""

import os
import subprocess
import sys

from support import Bench

NEEDED = 16_300_000  # bytes of the output


def enter_namespace():
    """Restarts this test in a namespace where it may mount; skips it if that is not allowed."""
    if os.environ.get("BULKSIM_IN_NAMESPACE"):
        return
    os.environ["BULKSIM_IN_NAMESPACE"] = "1"
    for unshare in (["unshare", "-rm"], ["unshare", "-m"]):  # the second works only for root
        if subprocess.run([*unshare, "true"], capture_output=True).returncode == 0:
            os.execvp("unshare", [*unshare, sys.executable, *sys.argv])
    print("skipped: this user cannot create a mount namespace on this machine")
    sys.exit(0)


def mount(place, options):
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)


def disks_too_small(bench):
    for percent in (20, 50, 95):
        place = bench.folder / f"small{percent}"
        mount(place, f"size={NEEDED * percent // 100}")
        bench.refuses(place / "out", [74], ["needs", "bytes", "are free"])
        bench.check(not (place / "out/CURRENT").exists(), f"{percent} %: nothing is published")
        subprocess.run(["mount", "-o", "remount,size=200m", place], check=True)
        bench.out = place / "out"
        bench.finishes(f"after only {percent} % of the space was available", ranks=1)


def read_only(bench):
    place = bench.folder / "readonly"
    mount(place, "size=64m")
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    bench.refuses(place / "out", [77], ["Read-only file system"])


def no_more_files(bench):
    place = bench.folder / "inodes"
    mount(place, "size=64m,nr_inodes=8")
    bench.refuses(place / "out", [74], ["No space left"])


def main():
    enter_namespace()
    bench = Bench(__doc__)
    disks_too_small(bench)
    read_only(bench)
    no_more_files(bench)
    bench.done()


main()
