"""Too little memory or too few threads: 71 and one sentence; the next run resumes."""

import os

from support import Bench

ROUNDS = 12
MIB = 1 << 20


def limited(bench, most):
    """A run of one process that may map at most `most` bytes."""
    bench.prefix = ["prlimit", f"--as={most}"]
    code, messages = bench.run(bench.program, bench.out, ranks=1)
    bench.prefix = []
    return code, messages


def starts(bench, most):
    """Whether the program can be loaded within this limit."""
    return os.system(f"prlimit --as={most} {bench.program} --version >/dev/null 2>&1") == 0


def main():
    bench = Bench(__doc__)
    sizes = range(16 * MIB, 1024 * MIB, 4 * MIB)
    least = next(most for most in sizes if starts(bench, most))
    enough = next(most for most in range(least, 4096 * MIB, 16 * MIB)
                  if limited(bench, most)[0] == 0)
    codes = {}
    for _ in range(ROUNDS):
        bench.clear()
        most = bench.random.randrange(least, enough)
        code, messages = limited(bench, most)
        codes[code] = codes.get(code, 0) + 1
        bench.check(code in (0, 71), f"{most} bytes: 71, not {code}")
        if code == 71:
            bench.check("error: " in messages.splitlines()[-1], f"{most} bytes: one sentence")
            bench.finishes(f"after a limit of {most} bytes", ranks=1)
    bench.check(codes.get(71, 0) > 0, f"some runs did not have enough memory: {codes}")
    print(codes)
    bench.done()


main()
