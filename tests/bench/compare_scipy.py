#!/usr/bin/python3
"""Compares `bulksim bench kernel` with scipy on one machine, in alternating rounds.

    compare_scipy.py ITEMS.csr QUERIES.csr BULKSIM [--threads T] [--simd NAME] [--rounds N]

Each round times bulksim (all queries), then scipy's sparse product `Q @ I.T` and its dense form
`(Q @ I.T).toarray()` on the first queries, with `I.T` converted to CSR before the clock starts.
Of two calls of scipy the second counts, because the first one pays for memory that the host must
supply. Prints medians over the rounds, and the ratio of bulksim to both.
"""

import argparse
import json
import statistics
import subprocess
import time

import scipy

from unit_rows import read_unit_rows


def bulksim_rate(arguments):
    """Median pairs per second of one run, and the kernel that ran."""
    command = [
        arguments.bulksim, "bench", "kernel", arguments.items, arguments.queries, "--json",
        "--threads", str(arguments.threads), "--simd", arguments.simd, "--repeats", "5",
    ]
    result = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if result["schema"] != 1 or result["failed_identities"] != 0:
        raise SystemExit(f"unexpected result: {result}")
    return result["pairs_per_s"], f"{result['simd']}, {result['threads']} threads"


def second_call_rate(pairs, product):
    """Pairs per second of the second of two calls."""
    product()
    begin = time.perf_counter()
    product()
    return pairs / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("items")
    parser.add_argument("queries")
    parser.add_argument("bulksim", help="the program")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--simd", default="best")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scipy-queries", type=int, default=128)
    arguments = parser.parse_args()

    transposed = read_unit_rows(arguments.items).T.tocsr()
    queries = read_unit_rows(arguments.queries)[: arguments.scipy_queries]
    pairs = queries.shape[0] * transposed.shape[1]
    rates = {"bulksim": [], "scipy sparse": [], "scipy dense": []}
    for _ in range(arguments.rounds):
        rate, kernel = bulksim_rate(arguments)
        rates["bulksim"].append(rate)
        rates["scipy sparse"].append(second_call_rate(pairs, lambda: queries @ transposed))
        rates["scipy dense"].append(
            second_call_rate(pairs, lambda: (queries @ transposed).toarray())
        )

    print(f"bulksim: {kernel}; scipy {scipy.__version__}: {queries.shape[0]} queries")
    ours = statistics.median(rates["bulksim"])
    for name, values in rates.items():
        median = statistics.median(values)
        spread = (max(values) - min(values)) / median
        ratio = statistics.median(a / b for a, b in zip(rates["bulksim"], values))
        print(
            f"{name:13s} {median / 1e9:7.4f} Gpairs/s (spread {100 * spread:3.0f} %)"
            f"   bulksim is {ours / median:5.2f} x, paired {ratio:5.2f} x"
        )


if __name__ == "__main__":
    main()
