"""Outputs that cannot be written: the right code, one sentence, soon, and nothing left behind.

The file systems are mounted in a namespace of this test alone.
"""

import os
import subprocess
import sys
import time

from support import Bench

NEEDED = 16_300_000  # bytes of the output


def enter_namespace():
    """Runs this test again where it may mount; says so where that is not allowed."""
    if os.environ.get("BULKSIM_IN_NAMESPACE"):
        return
    probe = subprocess.run(["unshare", "-rm", "true"], capture_output=True)
    if probe.returncode != 0:
        print("skipped: this machine allows no user and mount namespaces")
        sys.exit(0)
    os.environ["BULKSIM_IN_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "-rm", sys.executable, *sys.argv])


def mount(place, options):
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)


def refused(bench, out, codes, words, seconds=2.0):
    """The messages end in one sentence with these words."""
    start = time.monotonic()
    code, messages = bench.run(bench.program, out, ranks=1,
                               options=["--max-output", "1G"])
    taken = time.monotonic() - start
    bench.check(code in codes, f"{out}: one of {codes}, not {code}")
    last = messages.splitlines()[-1] if messages else ""
    bench.check("error: " in last and all(word in last for word in words), f"{out}: says {words}")
    bench.check(taken < seconds, f"{out}: within {seconds} s, not {taken:.1f} s")


def disks_too_small(bench):
    for percent in (20, 50, 95):
        place = bench.folder / f"small{percent}"
        mount(place, f"size={NEEDED * percent // 100}")
        refused(bench, place / "out", [74], ["needs", "bytes", "are free"])
        bench.check(not (place / "out/CURRENT").exists(), f"{percent} %: nothing is published")
        subprocess.run(["mount", "-o", "remount,size=200m", place], check=True)
        bench.out = place / "out"
        bench.finishes(f"after {percent} % of the space was there", ranks=1)


def read_only(bench):
    place = bench.folder / "readonly"
    mount(place, "size=64m")
    subprocess.run(["mount", "-o", "remount,ro", place], check=True)
    refused(bench, place / "out", [77], ["Read-only file system"])


def no_more_files(bench):
    place = bench.folder / "inodes"
    mount(place, "size=64m,nr_inodes=8")
    refused(bench, place / "out", [74], ["No space left"])


def wrong_places(bench):
    refused(bench, bench.folder / "absent" / "parent" / "out", [66, 73], ["absent"])
    file = bench.folder / "file"
    file.write_text("something else")
    refused(bench, file, [73], ["file"])
    bench.check(file.read_text() == "something else", "a file in the way is left alone")
    others = bench.folder / "others"
    others.mkdir()
    (others / "data").write_text("something else")
    refused(bench, others, [73], ["others"])
    bench.check(os.listdir(others) == ["data"], "a folder of others is left alone")


def main():
    enter_namespace()
    bench = Bench(__doc__)
    disks_too_small(bench)
    read_only(bench)
    no_more_files(bench)
    wrong_places(bench)
    bench.done()


main()
