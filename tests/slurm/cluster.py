"""A Slurm cluster of several virtual nodes on this machine, for as long as a test lasts."""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "unshare"]

# No cgroups, no systemd and no system users; loopback only; jobs start at once.
CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n/spool
TmpFS={folder}/%n/tmp
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=pmix
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
CommunicationParameters=NoCtldInAddrAny
KillWait=5
NodeName=n[1-{nodes}] NodeHostname=n[1-{nodes}] NodeAddr=127.0.0.1 Port={first}-{last} CPUs=2 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES State=UP
"""

# What MPI needs when all nodes are one machine: loopback between them, and a PMIx store that is not
# in memory shared with the other node.
MPI = {"OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_oob_tcp_if_include": "lo",
       "OMPI_MCA_mpi_yield_when_idle": "1", "PMIX_MCA_gds": "hash"}


def absent_programs():
    return [name for name in PROGRAMS if not shutil.which(name, path=search_path())]


def obstacle():
    """Why this user cannot run a cluster on this machine, or an empty string."""
    if os.geteuid() != 0:
        return "the daemons of Slurm need root"
    if subprocess.run(["unshare", "--uts", "true"], capture_output=True).returncode != 0:
        return "this machine does not allow namespaces"
    return ""


def search_path():
    return os.environ["PATH"] + ":/usr/sbin:/sbin"


def free_ports(count):
    """The first of `count` consecutive free ports."""
    for first in range(21_000 + os.getpid() % 500 * 20, 32_000, 20):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
    raise RuntimeError("no free ports")


class Cluster:
    def __init__(self, folder, nodes=2):
        self.folder = pathlib.Path(folder)
        self.nodes = [f"n{i + 1}" for i in range(nodes)]
        self.environment = dict(os.environ, PATH=search_path(), **MPI,
                                SLURM_CONF=str(self.folder / "slurm.conf"))

    def __enter__(self):
        for node in self.nodes:
            (self.folder / node / "spool").mkdir(parents=True)
            (self.folder / node / "tmp").mkdir()
        (self.folder / "state").mkdir()
        port = free_ports(len(self.nodes) + 1)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            port=port, first=port + 1,
            last=port + len(self.nodes), nodes=len(self.nodes), folder=self.folder))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        try:
            self.call("munged", "--force", f"--socket={self.folder}/munge.socket",
                      f"--key-file={key}", f"--pid-file={self.folder}/munged.pid",
                      f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/seed")
            self.call("unshare", "--uts", "sh", "-c", "hostname localhost; exec slurmctld -i")
            for node in self.nodes:  # with distinct host names, which MPI needs
                self.call("unshare", "--uts", "sh", "-c", f"hostname {node}; exec slurmd -N {node}")
            self.wait(lambda: self.call("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split() ==
                      self.nodes, 90)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        pid_files = [*(self.folder / node / "slurmd.pid" for node in self.nodes),
                     self.folder / "slurmctld.pid", self.folder / "munged.pid"]
        for path in pid_files:
            if path.exists():
                end_process(int(path.read_text()))

    def call(self, *command, **variables):
        result = subprocess.run(command, env={**self.environment, **variables}, text=True,
                                capture_output=True)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {result.stderr}")
        return result.stdout

    def submit(self, *words, **variables):
        return self.call("sbatch", "--parsable", *map(str, words), **variables).strip()

    def job(self, number):
        """The properties of a job: JobState, ExitCode, Restarts, ..."""
        text = self.call("scontrol", "show", "job", "-o", number)
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def wait(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("the cluster did not respond in time")
            time.sleep(0.1)

    def start_again(self, number):
        """Starts a requeued job once every trace of its first attempt is gone; by
        itself Slurm waits two minutes."""
        def is_quiet():
            traces = [path for node in self.nodes
                      for pattern in (f"job{int(number):05}", f"*_{number}.*", f"*pmix.{number}.*")
                      for path in (self.folder / node / "spool").glob(pattern)]
            return not traces and self.job(number)["JobState"] == "PENDING"
        self.wait(is_quiet, 90)
        self.call("scontrol", "update", f"JobId={number}", "StartTime=now")
        self.wait(lambda: self.job(number)["JobState"] != "PENDING", 90)

    def end_of(self, number, seconds=180):
        """The job after it has ended."""
        over = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"}
        self.wait(lambda: self.job(number)["JobState"] in over, seconds)
        return self.job(number)


def end_process(process):
    for number, seconds in ((signal.SIGTERM, 10), (signal.SIGKILL, 5)):
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            stat = pathlib.Path(f"/proc/{process}/stat")
            if not stat.exists() or ") Z " in stat.read_text():
                return
            time.sleep(0.05)
