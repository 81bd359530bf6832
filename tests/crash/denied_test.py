"""Missing or forbidden outputs and inputs: the right code and one sentence, soon, and
no leftovers."""

import os

from support import Bench, wait_for


def wrong_places(bench):
    bench.refuses(bench.folder / "absent" / "parent" / "out", [66, 73], ["absent"])
    file = bench.folder / "file"
    file.write_text("something else")
    bench.refuses(file, [73], ["file"])
    bench.check(file.read_text() == "something else", "a file in the way is left alone")
    others = bench.folder / "others"
    others.mkdir()
    (others / "data").write_text("something else")
    bench.refuses(others, [73], ["others"])
    bench.check(os.listdir(others) == ["data"], "a folder with other files is left alone")


def no_permission(bench):
    """The program has the rights of an ordinary user, even if root runs the test."""
    if os.geteuid() == 0:
        bench.prefix = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]
    parent = bench.folder / "forbidden"
    parent.mkdir()
    parent.chmod(0o555)
    bench.refuses(parent / "out", [77], ["Permission denied", "forbidden"])
    parent.chmod(0o755)

    unreadable = bench.folder / "unreadable.csr"
    unreadable.write_bytes(bench.items.read_bytes())
    unreadable.chmod(0)
    bench.items, items = unreadable, bench.items
    bench.refuses(parent / "out", [77], ["Permission denied", "unreadable.csr"])
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
    bench.finishes("after the permissions were restored", ranks=1)


def main():
    bench = Bench(__doc__)
    wrong_places(bench)
    no_permission(bench)
    bench.done()


main()
