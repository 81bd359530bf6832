"""File calls that fail or transfer less at random: no wrong byte, and exit code 0 or 74."""

from support import Bench

ROUNDS = 60
CALLS = ["part.before_write", "journal.before_write", "part.before_sync", "journal.before_sync",
         "plan.before_write", "manifest.before_write", "index.before_rename",
         "current.before_rename", "version.before_rename"]
EINTR, EIO, EAGAIN, ENOSPC, EDQUOT = 4, 5, 11, 28, 122


def main():
    bench = Bench(__doc__)
    codes = {}
    bench.clear()
    for _ in range(ROUNDS):
        point = bench.random.choice(CALLS)
        kinds = [f"error:{number}" for number in (EINTR, EIO, EAGAIN, ENOSPC, EDQUOT)]
        if point.endswith("write"):
            kinds += ["short"] * 5
        kind = bench.random.choice(kinds)
        odds = bench.random.choice([2, 10, 100])
        points = f"rank0:{point}={kind}~{odds}"
        code, _ = bench.run(bench.failpoints, bench.out, ranks=1, points=points)
        codes[code] = codes.get(code, 0) + 1
        if kind == "short" or (kind == f"error:{EINTR}" and "sync" not in point
                               and "rename" not in point):
            bench.check(code == 0, f"{points}: the run continues, not {code}")
        bench.check(code in (0, 74), f"{points}: 0 or 74, not {code}")
        if code == 0:
            bench.check(bench.differences() == [], f"{points}: {bench.differences()}")
            bench.clear()
        elif bench.random.random() < 0.5:
            bench.finishes(points, ranks=1)
            bench.clear()
    print(codes)
    bench.done()


main()
