#!/usr/bin/python3
"""The cost of durability: pairs of runs with and without it, on one or several file systems.

    compare_durability.py ITEMS.csr QUERIES.csr BULKSIM FOLDER... [--threads T] [--pairs N] [--json]

Each pair is a full-matrix run with `--durability=off` (no journal, no lease, no sync; checks and
hashes stay) and one with durability, in alternating order, each into an empty output. Three times
are measured: until the program has ended; until everything is on disk (after a sync of all file
systems, because a program that does not sync ends before its output is written, as long as it fits
into memory); and the CPU time, which other work on the machine disturbs least. Prints medians over
the pairs and of their ratios; the first run of each kind is not counted.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

KINDS = ["off", "on"]
TIMES = ["ended", "on_disk", "processors"]


def run(arguments, folder, kind):
    """Seconds until a run has ended and until everything is on disk, its CPU seconds, and its
    bytes."""
    out = pathlib.Path(folder) / f"bulksim-durability-{os.getpid()}"
    command = [arguments.bulksim, "compute", arguments.items, arguments.queries, "-q", "-o", out,
               "--threads", str(arguments.threads), "--max-output", "1T", "--durability", kind]
    os.sync()  # no run pays for the unwritten data of another
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{command} failed")
    ended = time.perf_counter() - begin
    os.sync()
    settled = time.perf_counter() - begin
    size = sum(path.lstat().st_size for path in out.rglob("*") if path.is_file())
    shutil.rmtree(out)
    return ended, settled, usage.ru_utime + usage.ru_stime, size


def measure(arguments, folder):
    times = {kind: [] for kind in KINDS}
    size = 0
    for number in range(-1, arguments.pairs):
        for kind in KINDS if number % 2 else reversed(KINDS):
            *taken, size = run(arguments, folder, kind)
            if number >= 0:
                times[kind].append(taken)
    result = {"folder": folder, "bytes": size, "threads": arguments.threads}
    for at, time_of in enumerate(TIMES):
        off, on = ([pair[at] for pair in times[kind]] for kind in KINDS)
        ratios = [b / a for a, b in zip(off, on)]
        result[time_of] = {"off_s": off, "on_s": on, "median_off_s": statistics.median(off),
                         "median_on_s": statistics.median(on), "ratios": ratios,
                         "median_ratio": statistics.median(ratios)}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("items")
    parser.add_argument("queries")
    parser.add_argument("bulksim", help="the program")
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()

    results = [measure(arguments, folder) for folder in arguments.folders]
    if arguments.json:
        print(json.dumps({"schema": 1, "results": results}, indent=1))
        return
    for result in results:
        print(f"{result['folder']}: {result['bytes'] / 1e9:.2f} GB, {result['threads']} threads")
        for time_of in TIMES:
            times = result[time_of]
            ratios = ", ".join(f"{100 * (ratio - 1):+.1f}" for ratio in times["ratios"])
            print(f"  {time_of}: off {times['median_off_s']:.3f} s, on {times['median_on_s']:.3f} s, "
                  f"{100 * (times['median_ratio'] - 1):+.1f} % ({ratios})")


main()
