"""One flipped bit anywhere in any kind of result: `bulksim verify` names the file.

usage: flipped_bits_test.py PROGRAM [FLIPS]
"""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

program = os.path.abspath(sys.argv[1])
flips = int(sys.argv[2]) if len(sys.argv) > 2 else 1000

# What computes each kind of result. Text and .npy hold no checksum.
single = {
    "matrix.h5": [],
    "half.h5": ["--dtype", "float16"],
    "ids.h5": ["--item-ids", "ids.txt", "--query-ids", "query_ids.txt"],
    "pairs.h5": ["-t", "0.05"],
    "pairs_ids.h5": ["-t", "0.05", "--item-ids", "ids.txt", "--query-ids", "query_ids.txt"],
    "topk.h5": ["-k", "3"],
    "sample.h5": ["--sample-per-query", "2"],
    "nonzero.h5": ["--nonzero"],
    "empty.h5": ["-t", "0.999"],
    "pairs.npz": ["-t", "0.05"],
    "topk.npz": ["-k", "3"],
}
folders = {
    "matrix": ["--tile", "64x128", "--parts", "2"],
    "pairs": ["-t", "0.05"],
    "blocks": ["--mode", "blocks"],
}
exports = {"export.npz": "pairs.h5", "export_matrix.npz": "matrix.h5"}
uncovered = {"report.json"}  # what a run says about itself


def run(*words):
    return subprocess.run([program, *words], capture_output=True, text=True)


def verify(path):
    done = run("verify", path, "--json")
    return done.returncode, json.loads(done.stdout) if done.stdout else None


def files_of(version):
    for folder, _, names in os.walk(version):
        for name in names:
            if name not in uncovered:
                yield os.path.join(folder, name)


def flip(path, bit):
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def check_flips(worker, chosen, targets, work):
    """Flips in copies of their own, so that two threads do not meet."""
    copies = os.path.join(work, f"worker{worker}")
    shutil.copytree(os.path.join(work, "results"), copies, symlinks=True)
    for folder, _, names in os.walk(copies):
        os.chmod(folder, 0o755)
        for name in names:
            if not os.path.islink(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), 0o644)
    missed = []
    for target, file, bit in chosen:
        path = os.path.join(copies, file)
        flip(path, bit)
        code, verdict = verify(os.path.join(copies, target))
        if code != 65 or not verdict["damage"]:
            missed.append((file, bit, code, verdict))
        flip(path, bit)
    for target in targets:
        code, verdict = verify(os.path.join(copies, target))
        if code != 0 or not verdict["clean"]:
            missed.append((target, "intact", code, verdict))
    return missed


work = tempfile.mkdtemp()
os.makedirs(os.path.join(work, "results"))
os.chdir(os.path.join(work, "results"))
assert run("generate", "titles", "--items", "300", "--queries", "70", "-o", "../t").returncode == 0
with open("ids.txt", "w", encoding="utf-8") as file:
    file.writelines(f"item-{row:0{1 + row % 9}d}\n" for row in range(300))
with open("query_ids.txt", "w", encoding="utf-8") as file:
    file.writelines(f"q{row}\n" for row in range(70))
for name, options in {**single, **folders}.items():
    done = run("compute", "../t_items.csr", "../t_queries.csr", "-o", name, "-q", *options)
    assert done.returncode == 0, (name, done.stderr)
for name, source in exports.items():
    done = run("export", source, "-o", name)
    assert done.returncode == 0, (name, done.stderr)

places = []  # target, file
for name in [*single, *exports]:
    places.append((name, name))
for name in folders:
    version = os.path.join(name, "versions", os.listdir(os.path.join(name, "versions"))[0])
    places.extend((name, file) for file in files_of(version))
sizes = {file: os.path.getsize(file) for _, file in places}
draw = random.Random(20)
chosen = []
for _ in range(flips):
    target, file = draw.choice(places)
    # half of them in the first kilobytes, where the metadata is
    end = min(sizes[file], 8192) if draw.random() < 0.5 else sizes[file]
    chosen.append((target, file, draw.randrange(8 * end)))
targets = sorted({target for target, _ in places})
with ThreadPoolExecutor(2) as pool:
    halves = [pool.submit(check_flips, w, chosen[w::2], targets, work) for w in range(2)]
    missed = [fault for half in halves for fault in half.result()]
os.chdir("/")
shutil.rmtree(work)
for fault in missed:
    print("missed:", *fault)
print(f"{flips - len(missed)} of {flips} flipped bits named, in {len(places)} files of {len(targets)} results")
sys.exit(1 if missed else 0)
