"""The job scripts under a real Slurm: on several nodes, stopped and requeued, and failing."""

import filecmp
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from cluster import Cluster, absent_programs, obstacle

ROOT = pathlib.Path(__file__).resolve().parents[2]
INPUTS = [ROOT / "tests/data/titles_items.csr", ROOT / "tests/data/titles_queries.csr"]
SHAPE = ["--nodes=2", "--ntasks-per-node=2", "--time=60"]
OPTIONS = ["--tile", "32x512", "-j", "1"]  # 100 tiles


class Jobs:
    def __init__(self, cluster, program, failpoints):
        self.cluster = cluster
        self.program = program
        self.failpoints = failpoints
        self.folder = cluster.folder / "work"
        self.folder.mkdir()
        self.failures = 0
        self.log = self.folder / "log"
        self.reference = self.folder / "reference"
        subprocess.run([program, "compute", *INPUTS, "-q", "-o", self.reference, *OPTIONS],
                       check=True, stdout=subprocess.DEVNULL)

    def submit(self, script, words, program=None, points=""):
        self.log.unlink(missing_ok=True)
        return self.cluster.submit(f"--output={self.log}", *SHAPE, ROOT / "slurm" / script, *words,
                                   BULKSIM=str(program or self.program), BULKSIM_FAILPOINTS=points)

    def check(self, holds, claim):
        if not holds:
            self.failures += 1
            log = self.log.read_text(errors="replace") if self.log.exists() else ""
            print(f"FAILED: {claim}\n{log}", flush=True)

    def check_result(self, out, claim):
        mine, theirs = ((path / "CURRENT").resolve() for path in (out, self.reference))
        names = [path.relative_to(theirs) for path in theirs.rglob("*")
                 if path.is_file() and not path.name.startswith("report.")]
        same, different, errors = filecmp.cmpfiles(mine, theirs, names, shallow=False)
        self.check(len(same) == len(names) > 0, f"{claim}: {different} {errors}")
        verified = subprocess.run([self.program, "verify", out, "--against", *INPUTS],
                                  capture_output=True, text=True)
        self.check(verified.returncode == 0, f"{claim}, verified: {verified.stdout}")

    def test_four_ranks_on_two_nodes(self):
        out = self.folder / "whole"
        job = self.cluster.end_of(self.submit("nightly.sbatch", [*INPUTS, "-o", out, *OPTIONS]))
        self.check(job["JobState"] == "COMPLETED", f"the job is COMPLETED, not {job['JobState']}")
        self.check_result(out, "the bytes of one process")

    def stop_and_go_on(self, out):
        """A job that a signal stops in the middle of its tiles, and that is started again."""
        number = self.submit("compute.sbatch", [*INPUTS, f"-o{out}", *OPTIONS], self.failpoints,
                             "rank*:tile.begin=sleep:100")
        self.cluster.wait(lambda: self.log.exists() and
                          self.log.read_text().count("tile.begin") > 20, 60)
        self.cluster.call("scancel", "--signal=USR1", number)
        self.cluster.wait(lambda: self.cluster.job(number)["Restarts"] == "1", 60)
        self.cluster.start_again(number)
        job = self.cluster.end_of(number)
        log = self.log.read_text()
        self.check("stopped at" in log and "exit code 75" in log, "it was stopped")
        self.check(job["Restarts"] == "1", f"it was requeued once, not {job['Restarts']} times")
        self.check(job["JobState"] == "COMPLETED", f"the job is COMPLETED, not {job['JobState']}")
        self.check("idle-0" in job.get("Comment", ""), f"it made progress: {job.get('Comment')}")

    def test_a_stopped_job_goes_on(self):
        out = self.folder / "stopped"
        self.stop_and_go_on(out)
        self.check_result(out, "the bytes of a run that was not stopped")

    def test_a_stopped_job_of_a_single_file_goes_on(self):
        out, reference = self.folder / "stopped.h5", self.folder / "reference.h5"
        subprocess.run([self.program, "compute", *INPUTS, "-q", "-o", reference, *OPTIONS],
                       check=True, stdout=subprocess.DEVNULL)
        self.stop_and_go_on(out)
        self.check(filecmp.cmp(out, reference, shallow=False), "the bytes of one process")

    def test_a_failing_run_is_a_failed_job(self):
        full = "rank1:part.before_write=error:28@3"  # the disk is full
        for points, words, code in (("", [ROOT / "README.md"], 65), (full, [*INPUTS], 74)):
            out = self.folder / f"failing{code}"
            number = self.submit("compute.sbatch", [*words, "-o", out, *OPTIONS], self.failpoints,
                                 points)
            job = self.cluster.end_of(number)
            self.check((job["JobState"], job["ExitCode"]) == ("FAILED", f"{code}:0"),
                       f"FAILED with {code}, not {job['JobState']} with {job['ExitCode']}")
            self.check(not (out / "CURRENT").exists(), "nothing is published")

    def test_a_job_that_gets_nowhere_ends(self):
        out = self.folder / "nowhere"
        number = self.submit("compute.sbatch",
                             [*INPUTS, "-o", out, *OPTIONS, "--max-hours", "0.00001"])
        self.cluster.wait(lambda: self.cluster.job(number)["Restarts"] == "1", 60)
        self.cluster.start_again(number)
        job = self.cluster.end_of(number)
        self.check((job["JobState"], job["ExitCode"]) == ("FAILED", "70:0"),
                   f"FAILED with 70, not {job['JobState']} with {job['ExitCode']}")


def main():
    program, failpoints = sys.argv[1:3]
    if absent_programs():
        sys.exit(f"not installed: {', '.join(absent_programs())}")
    if obstacle():
        print(f"skipped: {obstacle()}")
        return
    folder = tempfile.mkdtemp(prefix="bulksim-slurm-")
    os.chmod(folder, 0o755)  # munge rejects sockets in folders that others cannot enter
    try:
        with Cluster(folder) as cluster:
            jobs = Jobs(cluster, program, failpoints)
            jobs.test_four_ranks_on_two_nodes()
            jobs.test_a_stopped_job_goes_on()
            jobs.test_a_stopped_job_of_a_single_file_goes_on()
            jobs.test_a_failing_run_is_a_failed_job()
            jobs.test_a_job_that_gets_nowhere_ends()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if jobs.failures else 0)


main()
