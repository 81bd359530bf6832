"""Kills, signals and failures at single system calls of every kind of command: the same bytes afterwards, the
right exit code, nothing left behind. strace injects them.

usage: system_calls_test.py --work FOLDER --program PROGRAM [--failpoints PROGRAM] [--long]
"""

import argparse
import filecmp
import os
import random
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--work", required=True)
parser.add_argument("--program", required=True)
parser.add_argument("--failpoints")
parser.add_argument("--long", action="store_true")
options = parser.parse_args()

CALLS = "openat,pwrite64,write,fsync,fdatasync,linkat,link,rename,unlink,mkdir,ftruncate,fallocate,chmod,close"
ROWS = ["../t_items.csr", "../t_queries.csr"]
# kind: the command without its output, and the output
KINDS = {
    "matrix": (["compute", *ROWS, "--tile", "64x128"], "out"),
    "matrix.h5": (["compute", *ROWS], "m.h5"),
    "blocks": (["compute", *ROWS, "--mode", "blocks"], "out"),
    "pairs": (["compute", *ROWS, "-t", "0.05"], "out"),
    "pairs.h5": (["compute", *ROWS, "-t", "0.05"], "p.h5"),
    "pairs.npz": (["compute", "../rows.jsonl", "-t", "0.05"], "p.npz"),
    "pairs.tsv": (["compute", *ROWS, "-t", "0.05"], "p.tsv"),
    "topk.trec": (["compute", *ROWS, "-k", "3"], "k.trec"),
    "export.npz": (["export", "../source.h5"], "e.npz"),
    "export.tsv": (["export", "../source.h5"], "e.tsv"),
    "export.npy": (["export", "../matrix.h5"], "e.npy"),
    "import": (["import", "../rows.jsonl"], "store.h5"),
    "generate": (["generate", "titles", "--items", "300", "--queries", "50"], "g"),
    "report": (["report", "../map"], "r.html"),
}
NO_TIMES = {"report.json", "metrics.prom"}  # these hold times


def run(words, inject=None, out=None):
    trace = []
    if inject:
        trace = ["strace", "-f", "-qq", "-o", out or "/dev/null", "-e", f"trace={CALLS}", "-e", f"inject={CALLS}:{inject}"]
    elif out:
        trace = ["strace", "-f", "-qq", "-o", out, "-e", f"trace={CALLS}"]
    done = subprocess.run([*trace, options.program, *words], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stderr


def command(kind):
    words, output = KINDS[kind]
    return [*words, "-o", output, *(["-q"] if words[0] == "compute" else [])]


def files():
    found = {}
    for folder, _, names in os.walk("."):
        for name in names:
            path = os.path.join(folder, name)
            if name not in NO_TIMES and not os.path.islink(path):
                found[path] = os.path.getsize(path)
    return found


def same(reference):
    """What differs from the files of an undisturbed run."""
    here = files()
    there = dict(reference[1])
    # the lease of a run that was killed after it published stays until the next one takes it
    faults = [f"left: {path}" for path in here if path not in there and path != "./out/LOCK"]
    for path in there:
        if path not in here or not filecmp.cmp(path, os.path.join(reference[0], path), shallow=False):
            faults.append(f"differs: {path}")
    return faults


def fresh(name):
    shutil.rmtree(name, ignore_errors=True)
    os.makedirs(name)
    os.chdir(name)


work = os.path.abspath(options.work)
fresh(work)
if shutil.which("strace") is None or subprocess.run(["strace", "-qq", "-o", "/dev/null", "true"],
                                                    capture_output=True).returncode != 0:
    print("skipped: strace is missing, or this container does not let it trace")
    sys.exit(0)
assert run(["generate", "titles", "--items", "300", "--queries", "70", "-o", "t"])[0] == 0
with open("rows.jsonl", "w", encoding="utf-8") as file:
    for row in range(200):
        file.write(f'{{"id": "r{row}", "vector": {{"a{row % 7}": 1, "b{row % 11}": 2}}}}\n')
for output, more in (("source.h5", ["-t", "0.05"]), ("matrix.h5", []), ("map", ["--mode", "blocks"])):
    assert run(["compute", "t_items.csr", "t_queries.csr", "-o", output, "-q", *more])[0] == 0

draw = random.Random(4)
faults = []
counts = {}
references = {}
for kind in KINDS:
    reference = os.path.join(work, "ref-" + kind)
    fresh(reference)
    code, text = run(command(kind))
    assert code == 0, (kind, text)
    references[kind] = (reference, files())
    fresh(os.path.join(work, "count"))
    assert run(command(kind), out="../trace")[0] == 0, kind
    with open("../trace", encoding="utf-8", errors="replace") as trace:
        lines = [line for line in trace if re.match(r"\d+ +\w+\(", line)]
    # the calls after the program has loaded its libraries
    first = next(at for at, line in enumerate(lines) if "t_items" in line or "rows.jsonl" in line or
                 ".h5" in line or "map" in line or "g_" in line)
    counts[kind] = (first, len(lines))


def disturbed(kind, what, at):
    """One disturbance at a call, then the same command again."""
    fresh(os.path.join(work, "now"))
    code, text = run(command(kind), inject=f"{what}:when={at}")
    where = f"{kind}, {what} at call {at}: "
    if what.startswith("signal=SIGKILL"):
        allowed = {-9, 137, 0}
    elif what.startswith("signal"):
        allowed = {0, 75}
    else:
        allowed = {0, 65, 66, 71, 73, 74, 75, 77}
        if "error" not in text and code != 0:
            faults.append(where + f"{code} without a sentence")
    if code not in allowed:
        faults.append(where + f"exit code {code}: {text.strip()[-300:]}")
    words = command(kind)
    again, text = run(words)
    if again != 0 and "--overwrite" in text:  # a text may not be recognized as ours
        again, text = run([*words, "--overwrite"])
    if again != 0:
        faults.append(where + f"again {again}: {text.strip()[-300:]}")
    else:
        faults.extend(where + fault for fault in same(references[kind]))


rounds = {"signal=SIGKILL": 150, "signal=SIGTERM": 75, "signal=SIGUSR1": 75, "error=EIO": 150, "error=ENOSPC": 150}
if not options.long:
    rounds = {what: count // 6 for what, count in rounds.items()}
for what, count in rounds.items():
    for number in range(count):
        kind = list(KINDS)[number % len(KINDS)]
        first, last = counts[kind]
        disturbed(kind, what, draw.randint(first + 1, last))
for fault in faults:
    print(fault)
print(f"{sum(rounds.values())} disturbances of {len(KINDS)} kinds of command: {len(faults)} faults")
os.chdir("/")
sys.exit(1 if faults else 0)
