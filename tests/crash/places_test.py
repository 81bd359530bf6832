"""Outputs that cannot be written: the right code, one sentence, soon, and nothing left behind.

The file systems are mounted in a namespace of this test alone.
"""

import os
import subprocess
import sys
import time

from support import Bench, wait_for

NEEDED = 16_300_000  # bytes of the output
WITHOUT_PRIVILEGES = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]


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


def refused(bench, out, codes, words):
    """The messages end in one sentence with these words, soon."""
    seconds = max(2.0, 2 * bench.pace)
    start = time.monotonic()
    code, messages = bench.run(bench.program, out, ranks=1,
                               options=["--max-output", "1G"])
    taken = time.monotonic() - start
    bench.check(code in codes, f"{out}: one of {codes}, not {code}")
    last = messages.splitlines()[-1] if messages else ""
    bench.check("error: " in last and all(word in last for word in words), f"{out}: says {words}")
    bench.check(taken < seconds, f"{out}: within {seconds:.0f} s, not {taken:.1f} s")


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


def no_permission(bench):
    """The program has an ordinary user's rights, whoever runs the test."""
    bench.prefix = WITHOUT_PRIVILEGES
    parent = bench.folder / "forbidden"
    parent.mkdir()
    parent.chmod(0o555)
    refused(bench, parent / "out", [77], ["Permission denied", "forbidden"])
    parent.chmod(0o755)

    unreadable = bench.folder / "unreadable.csr"
    unreadable.write_bytes(bench.items.read_bytes())
    unreadable.chmod(0)
    bench.items, items = unreadable, bench.items
    refused(bench, parent / "out", [77], ["Permission denied", "unreadable.csr"])
    bench.items = items

    bench.out = parent / "out"
    process = bench.start(bench.failpoints, bench.out, 1, points="rank0:tile.begin=sleep:500@2")
    wait_for(lambda: "failpoint" in bench.messages())
    staging = next((bench.out / "staging").iterdir())
    staging.chmod(0o500)
    code, messages = bench.end(process)
    bench.check(code == 77 and "Permission denied" in messages,
                f"a folder that lost its permissions midway: 77, not {code}")
    bench.check(not (bench.out / "CURRENT").exists(), "and nothing is published")
    staging.chmod(0o700)
    bench.finishes("after the permissions were there again", ranks=1)
    bench.prefix = []


def main():
    enter_namespace()
    bench = Bench(__doc__)
    disks_too_small(bench)
    read_only(bench)
    no_more_files(bench)
    wrong_places(bench)
    no_permission(bench)
    bench.done()


main()
