#!/usr/bin/env python3
"""Compares the pairs of bulksim and sparse_dot_topn on the same rows: alternating runs, medians.

    pip install sparse_dot_topn numpy scipy
    compare_sparse_dot_topn.py PROGRAM [--threads 1] [--repeats 5] [--items 200000] [--cases WORD]

The time of bulksim is that of the stage that reads the rows, finds, checks and writes the pairs
("compute"), and in brackets that of the whole command, which also surveys the inputs and merges the
result. The time of sparse_dot_topn is that of one call on matrices in memory, the items already
transposed. Both keep the same pairs: `wrong` counts rows whose scores differ by more than 1e-5.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import scipy.sparse as sp
from sparse_dot_topn import sp_matmul_topn

from unit_rows import read_unit_rows

MOST_PAIRS = 1000  # per query above the threshold; smaller is faster for sparse_dot_topn


def timed(call):
    began = time.perf_counter()
    result = call()
    return time.perf_counter() - began, result


def ours(program, words, threads):
    out = os.path.abspath("ours.npz")
    if os.path.exists(out):
        os.remove(out)
    command = [program, "compute", *words, "-o", out, "-j", str(threads), "-q"]
    command += ["--durability", "off", "--metrics-file", "metrics"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with open("metrics", encoding="utf-8") as metrics:
        stage = next(line for line in metrics if 'stage="compute"' in line)
    return float(stage.split()[-1]), out


def different_rows(a, b):
    wrong = 0
    for row in range(a.shape[0]):
        x, y = (np.sort(m.data[m.indptr[row] : m.indptr[row + 1]]) for m in (a, b))
        x, y = x[x > 1e-6], y[y > 1e-6]
        wrong += len(x) != len(y) or not np.allclose(x, y, atol=1e-5)
    return wrong


def compare(name, program, words, queries, items, options, keywords):
    if options.cases not in name:
        return
    transposed = items.T.tocsr()
    mine, whole, theirs = [], [], []
    for _ in range(options.repeats):
        seconds, (stage, path) = timed(lambda: ours(program, words, options.threads))
        mine.append(stage)
        whole.append(seconds)
        seconds, matrix = timed(
            lambda: sp_matmul_topn(
                queries, transposed, n_threads=options.threads, sort=True, **keywords
            )
        )
        theirs.append(seconds)
    wrong = different_rows(sp.load_npz(path).tocsr(), matrix)
    a, b = statistics.median(mine), statistics.median(theirs)
    print(
        f"{name:34s} bulksim {a:7.3f} s ({statistics.median(whole):7.3f} s)   "
        f"sparse_dot_topn {b:7.3f} s   {b / a:5.1f} x   wrong {wrong}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--cases", default="", help="only cases with this word in their name")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        for preset in ("titles", "trigrams"):
            size = ["--items", str(options.items), "--queries", "1024"]
            subprocess.run([program, "generate", preset, *size, "-q"], check=True)
            sides = [f"{preset}_items.csr", f"{preset}_queries.csr"]
            items, queries = map(read_unit_rows, sides)
            compare(f"{preset} top-100", program, [*sides, "-k", "100"], queries, items, options,
                    {"top_n": 100})
            compare(f"{preset} threshold 0.5", program, [*sides, "-t", "0.5"], queries, items,
                    options, {"top_n": MOST_PAIRS, "threshold": 0.5})
            if preset == "titles" and options.cases in "titles with themselves":
                rows = options.items // 2
                words = ["generate", preset, "--items", str(rows), "--queries", "1", "-o", "self"]
                subprocess.run([program, *words, "-q"], check=True)
                both = read_unit_rows("self_items.csr")
                compare(f"{rows} titles with themselves, 10", program,
                        ["self_items.csr", "-k", "10", "--include-self"], both, both, options,
                        {"top_n": 10})


if __name__ == "__main__":
    main()
