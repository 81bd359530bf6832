#!/usr/bin/python3
"""Compares a whole run of `bulksim compute` with sequential writes to the same file system.

    compare_dd.py ITEMS QUERIES FOLDER BULKSIM [--ranks N] [--threads N] [--rounds N]

Each round writes as many bytes as the matrix has with one `dd` per rank, in parallel, and then runs
bulksim with as many ranks into FOLDER. Prints medians over the rounds of the rates of dd, of
computing and writing (the phases compute and sync of report.json), and of the whole run.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import time

MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def dd_seconds(folder, ranks, total):
    """Seconds in which `ranks` streams write `total` bytes together."""
    paths = [os.path.join(folder, f"stream-{rank}") for rank in range(ranks)]
    blocks = max(1, total // ranks >> 20)
    begin = time.perf_counter()
    streams = [
        subprocess.Popen(["dd", "if=/dev/zero", f"of={path}", "bs=1M", f"count={blocks}"],
                         stderr=subprocess.DEVNULL)
        for path in paths
    ]
    for stream in streams:
        if stream.wait() != 0:
            raise SystemExit("dd failed")
    seconds = time.perf_counter() - begin
    for path in paths:
        os.remove(path)
    return seconds * total / (blocks * ranks << 20)


def bulksim_run(arguments, output):
    """The report of one run, and its seconds."""
    command = [arguments.bulksim, "compute", arguments.items, arguments.queries, "-o", output, "-q",
               "-j", str(arguments.threads)]
    if arguments.ranks > 1:
        command = ["mpirun", "-q", "-n", str(arguments.ranks)] + command
    begin = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **MPI})
    seconds = time.perf_counter() - begin
    with open(os.path.join(output, "CURRENT", "report.json")) as file:
        report = json.load(file)
    shutil.rmtree(output)
    return report, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("items")
    parser.add_argument("queries")
    parser.add_argument("folder")
    parser.add_argument("bulksim")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1, help="per rank")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()

    output = os.path.join(arguments.folder, "compare-dd")
    report, _ = bulksim_run(arguments, output)  # warms up memory and page cache
    total = report["output_bytes"]
    rates = {"dd": [], "computing and writing": [], "whole run": []}
    for _ in range(arguments.rounds):
        rates["dd"].append(total / dd_seconds(arguments.folder, arguments.ranks, total))
        report, seconds = bulksim_run(arguments, output)
        phases = report["seconds"]
        rates["computing and writing"].append(total / (phases["compute"] + phases.get("sync", 0)))
        rates["whole run"].append(total / seconds)
    dd = statistics.median(rates["dd"])
    print(f"{total * 1e-9:.2f} GB, {arguments.ranks} ranks with {arguments.threads} threads each, "
          f"medians of {arguments.rounds}")
    for name, values in rates.items():
        rate = statistics.median(values)
        print(f"{name:<22} {rate * 1e-9:6.2f} GB/s   {100 * rate / dd:4.0f} % of dd")


if __name__ == "__main__":
    main()
