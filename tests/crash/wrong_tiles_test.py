"""Wrong values: the tile is recomputed once; a second failure ends the run."""

import json
import socket

from support import Bench

SPOILED = "rank1:tile.values=flip:23"  # a bit of every value of a tile, before it is checked


def wrong_once(bench):
    bench.clear()
    code, _ = bench.run(bench.failpoints, bench.out, points=f"{SPOILED}@5")
    bench.check(code == 0, f"wrong once: 0, not {code}")
    bench.check(bench.differences() == [], f"wrong once: the same bytes, {bench.differences()}")
    report = json.loads((bench.out / "CURRENT" / "report.json").read_text())
    bench.check(report["tiles"]["recomputed"] == 1, f"the report counts it: {report['tiles']}")


def wrong_twice(bench):
    bench.clear()
    code, messages = bench.run(bench.failpoints, bench.out, points=SPOILED)
    bench.check(code == 70, f"wrong twice: 70, not {code}")
    bench.check("failed its checks twice on host" in messages, "the message reports it")
    bench.check(not (bench.out / "CURRENT").exists(), "nothing is published")
    roots = [error for error in bench.errors() if error["root_cause"]]
    bench.check(len(roots) == 1 and roots[0]["exit_code"] == 70 and roots[0]["rank"] == 1 and
                roots[0]["host"] == socket.gethostname() and roots[0]["tile"] is not None and
                "(cpu)" in roots[0]["cause"],
                f"one error file names tile, host and device: {roots}")
    bench.finishes("wrong twice")


def main():
    bench = Bench(__doc__)
    wrong_once(bench)
    wrong_twice(bench)
    bench.done()


main()
