"""Whole jobs on the emulated device: byte-identical to the CPU backend.

  cuda_job_test.py --program P --failpoints P --emulated FOLDER --work FOLDER
"""

import argparse
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "crash"))
from support import files_of  # noqa: E402

DEVICE = "emulated device (GPU-00010203-"


class Bench:
    def __init__(self):
        parser = argparse.ArgumentParser(description=__doc__)
        parser.add_argument("--program", required=True)
        parser.add_argument("--failpoints", required=True)
        parser.add_argument("--emulated", required=True)
        parser.add_argument("--work", type=pathlib.Path, required=True)
        self.arguments = parser.parse_args()
        self.folder = self.arguments.work
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.failures = 0
        self.errors = ""
        subprocess.run([self.arguments.program, "generate", "titles43", "--items", "1500",
                        "--queries", "100", "-q", "-o", self.folder / "in"], check=True)

    def run(self, out, *options, ranks=1, emulated=True, program=None, points="",
            command="compute"):
        """Exit code and standard output; messages are in `errors`. Not emulated: no device."""
        launcher = ["mpirun", "-q", "-n", str(ranks)] if ranks > 1 else []
        environment = dict(os.environ, BULKSIM_FAILPOINTS=points)
        if emulated:
            environment["LD_LIBRARY_PATH"] = self.arguments.emulated
        else:
            environment["CUDA_VISIBLE_DEVICES"] = ""
        done = subprocess.run(
            [*launcher, program or self.arguments.program, command, self.folder / "in_items.csr",
             self.folder / "in_queries.csr", "-o", self.folder / out, "-j", "2", "--tile", "32x256",
             *options], env=environment, capture_output=True, text=True, timeout=100)
        self.errors = done.stderr
        return done.returncode, done.stdout

    def check(self, holds, claim):
        print("ok" if holds else "FAILED", claim, flush=True)
        if not holds:
            self.failures += 1
            print(self.errors)

    def same(self, out, reference):
        mine, theirs = files_of(self.folder / out), files_of(self.folder / reference)
        return sorted(mine) == sorted(theirs) and all(
            filecmp.cmp(mine[name], theirs[name], shallow=False) for name in mine)

    def report(self, out):
        return json.loads((self.folder / out / "CURRENT" / "report.json").read_text())


def full_matrix(bench):
    bench.run("cpu", "--backend", "cpu")
    bench.check(bench.report("cpu")["devices"] == [], "the CPU is not a device")
    for ranks in (1, 2):
        out = f"cuda{ranks}"
        code, _ = bench.run(out, "--backend", "cuda", ranks=ranks)
        bench.check(code == 0 and bench.same(out, "cpu"), f"{ranks} ranks: the bytes of the CPU")
        bench.check(f"computing on {DEVICE}" in bench.errors, "the log names the device")
        devices = bench.report(out)["devices"]
        bench.check(len(devices) == ranks and DEVICE in devices[0], "the report names each device")
        bench.check(bench.report(out)["backend"].startswith("cuda ("), "the report names the backend")
        bench.check(bench.errors.count("ranks share a device") == ranks - 1,
                    "ranks that share a device log once that MPI is used")
    shown = subprocess.run([bench.arguments.program, "show", bench.folder / "cuda1"],
                           capture_output=True, text=True).stdout
    bench.check(f"computed by cuda ({DEVICE}" in shown, "show names the device")


def choice(bench):
    code, _ = bench.run("auto")
    bench.check(code == 0 and DEVICE in bench.report("auto")["backend"], "auto selects a device")
    _, cuda = bench.run("plan", "--json", command="plan")
    _, cpu = bench.run("plan", "--json", "--backend", "cpu", command="plan")
    cuda, cpu = json.loads(cuda), json.loads(cpu)
    bench.check((cuda["backend"], cpu["backend"]) == ("cuda", "cpu"), "plan names the backend")
    bench.check(cuda["plan_id"] == cpu["plan_id"], "the backend is not part of the plan")


def without_device(bench):
    code, _ = bench.run("none", emulated=False)
    bench.check(bench.report("none")["devices"] == [], "auto uses the CPU without a device")
    lines = [line for line in bench.errors.splitlines() if "computing on the CPU" in line]
    bench.check(code == 0 and lines == ["bulksim: computing on the CPU"],
                "auto logs once that it uses the CPU, without the reason")
    code, _ = bench.run("none2", "--backend", "cuda", "-q", emulated=False)
    bench.check(code == 69 and len(bench.errors.splitlines()) == 1 and
                "--backend cpu" in bench.errors, "cuda without a device: 69 and one sentence")


def resumed(bench):
    code, _ = bench.run("mixed", "--backend", "cpu", program=bench.arguments.failpoints,
                        points="rank0:tile.finish=kill@7")
    bench.check(code == -9, "a run on the CPU is killed")
    code, _ = bench.run("mixed", "--backend", "cuda")
    bench.check(code == 0 and bench.same("mixed", "cpu"), "the device resumes the run of the CPU")
    bench.check(bench.report("mixed")["tiles"]["resumed"] > 0, "and keeps its tiles")


def modes(bench):
    for name, options in {"threshold": ["-t", "0.2", "--below", "0.7"], "nonzero": ["--nonzero"],
                          "topk": ["-k", "5"], "sample": ["--sample-per-query", "3"],
                          "dot": ["--metric", "dot"],
                          "dot-topk": ["--metric", "dot", "-k", "5"]}.items():
        bench.run(name + "-cpu", "--backend", "cpu", *options)
        code, _ = bench.run(name + "-cuda", "--backend", "cuda", *options)
        bench.check(code == 0 and bench.same(name + "-cuda", name + "-cpu"),
                    f"{name}: the bytes of the CPU")
        bench.check(DEVICE in bench.report(name + "-cuda")["backend"], f"{name} runs on the device")


def kernel_bench(bench):
    done = subprocess.run(
        [bench.arguments.program, "bench", "kernel", bench.folder / "in_items.csr",
         bench.folder / "in_queries.csr", "--backend", "cuda", "--json", "--item-limit", "300",
         "--query-limit", "16", "--repeats", "1"], capture_output=True, text=True,
        env=dict(os.environ, LD_LIBRARY_PATH=bench.arguments.emulated), timeout=100)
    bench.errors = done.stderr
    contenders = json.loads(done.stdout)["contenders"] if done.returncode == 0 else [{}, {}]
    bench.check(contenders[0].get("right") and contenders[1].get("right"),
                "bench kernel compares the score kernel with a merge")


def main():
    bench = Bench()
    full_matrix(bench)
    choice(bench)
    without_device(bench)
    resumed(bench)
    modes(bench)
    kernel_bench(bench)
    sys.exit(1 if bench.failures else 0)


main()
