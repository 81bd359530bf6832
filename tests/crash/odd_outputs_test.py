"""Outputs that are links, whose lease is no file, or that may not grow: one sentence, the right code,
soon, and no leftovers; a signal is answered within a second."""

import argparse
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import time

SOON = 5.0  # seconds, on a machine with other work


class Bench:
    def __init__(self):
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--work", type=pathlib.Path, required=True)
        parser.add_argument("--program", required=True)
        parser.add_argument("--failpoints")
        arguments = parser.parse_args()
        self.program = arguments.program
        self.folder = arguments.work
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.failures = 0
        self.run("generate", "titles43", "--items", "3000", "--queries", "300", "-q", "-o", "in")
        write_csr(self.folder / "same.csr", [[(0, 1.0)]] * 3000)

    def start(self, *words, limit=None):
        def restrict():
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.Popen([self.program, *words], cwd=self.folder, text=True, preexec_fn=restrict,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, *words, limit=None):
        process = self.start(*words, limit=limit)
        out, errors = process.communicate()
        return process.returncode, out + errors

    def compute(self, out, *options, limit=None):
        return self.run("compute", "in_items.csr", "in_queries.csr", "-o", out, "-j", "2", *options,
                        limit=limit)

    def check(self, holds, claim):
        if not holds:
            self.failures += 1
            print(f"FAILED: {claim}", flush=True)

    def refuses(self, code, words, out, *options, limit=None):
        before = listing(self.folder)
        start = time.monotonic()
        found, messages = self.compute(out, *options, limit=limit)
        claim = f"{out} {options} {limit or ''} gives {found}: {messages}"
        self.check(found == code, f"{code}: {claim}")
        last = messages.splitlines()[-1] if messages else ""
        self.check("error: " in last and all(word in last for word in words), f"{words}: {claim}")
        self.check(time.monotonic() - start < SOON, f"soon: {claim}")
        self.check(listing(self.folder) == before, f"without leftovers: {claim}")


def write_csr(path, rows):
    """The format of `bulksim generate`."""
    entries = [entry for row in rows for entry in row]
    offsets = [0]
    for row in rows:
        offsets.append(offsets[-1] + len(row))
    columns = 1 + max(column for column, _ in entries)
    path.write_bytes(struct.pack("<3q", len(rows), columns, len(entries)) +
                     struct.pack(f"<{len(offsets)}q", *offsets) +
                     struct.pack(f"<{len(entries)}i", *(column for column, _ in entries)) +
                     struct.pack(f"<{len(entries)}f", *(value for _, value in entries)))


def listing(folder):
    return sorted(str(path) for path in folder.rglob("*"))


def links(bench):
    for name in ("real", "parent"):
        (bench.folder / name).mkdir()
        (bench.folder / f"link-to-{name}").symlink_to(name)
    (bench.folder / "dangling").symlink_to("nowhere")
    for out in ("link-to-real", "link-to-parent/out", "link-to-parent/result.h5"):
        code, messages = bench.compute(out, "-t", "0.8")
        bench.check(code == 0, f"{out}: {messages}")
        code, messages = bench.run("verify", out)
        bench.check(code == 0, f"verify {out}: {messages}")
    bench.check((bench.folder / "real/CURRENT/similarity.h5").exists(), "the link leads to the result")
    bench.refuses(73, ["dangling", "link"], "dangling")


def leases(bench):
    out = bench.folder / "out"
    bench.compute("out")
    kinds = {"a dangling link": lambda path: path.symlink_to("nowhere"),
             "a pipe": os.mkfifo, "a folder": pathlib.Path.mkdir}
    for kind, make in kinds.items():
        make(out / "LOCK")
        bench.refuses(73, ["out/LOCK", "not a file"], "out", "--recompute")
        code, messages = bench.run("status", "out")
        bench.check(code == 73, f"status with {kind}: {code}, {messages}")
        if kind == "a folder":
            (out / "LOCK").rmdir()
        else:
            (out / "LOCK").unlink()
    (out / "LOCK").touch()
    process = bench.start("compute", "in_items.csr", "in_queries.csr", "-o", "out", "--recompute")
    heard = ""
    while "LOCK" not in heard and process.poll() is None:
        heard = process.stderr.readline()
    bench.check("names no process" in heard, f"says why it waits: {heard}")
    ends_soon(bench, process, "while it waits for the holder of a lease")
    (out / "LOCK").unlink()


def ends_soon(bench, process, when):
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, messages = process.communicate()
    taken = time.monotonic() - start
    bench.check(process.returncode == 75, f"75 {when}, not {process.returncode}: {messages}")
    bench.check(taken < 1.5, f"within a second {when}, not after {taken:.1f} s")


def stop_of_a_merge(bench):
    words = ["compute", "same.csr", "-t", "0", "--pairs", "both", "-o", "pairs.tsv"]
    process = bench.start(*words)
    lock = bench.folder / ".pairs.tsv.bulksim/LOCK"
    while process.poll() is None and not (lock.exists() and '"merge"' in lock.read_text()):
        time.sleep(0.01)
    ends_soon(bench, process, "while pairs are merged")
    code, messages = bench.run(*words)
    lines = (bench.folder / "pairs.tsv").read_bytes().count(b"\n")
    bench.check(code == 0 and lines == 1 + 3000 * 2999, f"the next run merges all pairs: {messages}")


def limits(bench):
    for limit in (50_000, 1_000_000, 1_060_000):
        for out in ("file.h5", "folder"):
            bench.refuses(74, ["File too large"], out, limit=limit)
    for out, options, limit in (("blocks", ["--mode", "blocks"], 50_000),
                                ("blocks", ["--mode", "blocks"], 1_000_000),
                                ("pairs.h5", ["-k", "100"], 50_000),
                                ("pairs.h5", ["-k", "100"], 400_000)):
        code, messages = bench.compute(out, *options, limit=limit)
        bench.check(code == 74 and "File too large" in messages, f"{out}, {limit}: {code}, {messages}")
    bench.compute("map", "--mode", "blocks")
    before = listing(bench.folder)
    code, messages = bench.run("report", "map", "-o", "page.html", limit=2_000)
    bench.check(code == 74, f"a page that does not fit: {code}, {messages}")
    bench.check(listing(bench.folder) == before, "and nothing is left of it")


def warnings(bench):
    for options, word in ((["-t", "1.2"], "larger than 1"), (["--below", "-1"], "smaller than -1"),
                          (["-t", "0.9", "--below", "0.8"], "--below")):
        code, messages = bench.compute("none.h5", "--recompute", *options)
        bench.check(code == 0 and "warning" in messages and word in messages, f"{word}: {messages}")
    code, messages = bench.compute("none.h5", "--recompute", "-t", "1")
    bench.check(code == 0 and "warning" not in messages, f"a threshold of 1: {messages}")


def counts(bench):
    write_csr(bench.folder / "few.csr", [[(0, 1.0)], [(0, 1.0), (0, 1.0)], []])
    code, messages = bench.run("compute", "few.csr", "-o", "few.h5")
    bench.check(code == 0 and "1 rows are empty" in messages and "1 duplicates" in messages,
                f"rows of a self-join are counted once: {messages}")
    code, messages = bench.run("plan", "few.csr", "-o", "few.h5")
    bench.check("1 rows are empty" in messages and "1 duplicates" in messages,
                f"also by plan: {messages}")


def narrow_last_column(bench):
    write_csr(bench.folder / "ones.csr", [[(0, 1.0)]] * 131_073)
    write_csr(bench.folder / "one.csr", [[(0, 1.0)]])
    for _ in range(5):
        code, messages = bench.run("plan", "ones.csr", "one.csr", "-o", "wide")
        bench.check(code == 0, f"a plan with a narrow last column: {messages}")


def main():
    bench = Bench()
    for part in (links, leases, stop_of_a_merge, limits, warnings, counts, narrow_last_column):
        start = time.monotonic()
        part(bench)
        print(f"{part.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    raise SystemExit(1 if bench.failures else 0)


main()
