"""Slurm for tests: a cluster with one node, from Debian's packages."""

import os
import re
import shutil
import signal
from pathlib import Path

from machine import ROOT, USER, Machine, wait_until

_PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "munged": "munge"}
_ACCOUNTING_PACKAGES = {"slurmdbd": "slurmdbd", "mariadbd": "mariadb-server"}

# The node claims more than it may have, so that the profile's own requests fit on a small machine.
_CONFIGURATION = """ClusterName=zoo
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
EnforcePartLimits=ALL
SlurmdTimeout=10
KillWait=5
MinJobAge=300
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
JobAcctGatherFrequency=task=1
GresTypes=gpu
NodeName={name} NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes={name} Default=YES MaxTime=INFINITE DefaultTime=10 State=UP
"""
_WITH_CGROUPS = """ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
"""
_WITHOUT_CGROUPS = """ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
"""
_CGROUPS = """CgroupPlugin=autodetect
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
AllowedSwapSpace=0
"""
_ACCOUNTING = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
"""
_NO_ACCOUNTING = "AccountingStorageType=accounting_storage/none\n"
_DATABASE_DAEMON = """DbdHost={name}
DbdAddr=127.0.0.1
SlurmUser=root
AuthType=auth/munge
LogFile={folder}/slurmdbd.log
PidFile={folder}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=33306
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm_acct_db
CommitDelay=1
"""
_DATABASE_USERS = "create database slurm_acct_db;" + "".join(
    f"create user slurm@'{host}' identified by 'slurm'; grant all on slurm_acct_db.* to slurm@'{host}';"
    for host in ("localhost", "127.0.0.1")
)


class Slurm(Machine):
    """A running cluster; `user` submits, root administers.

    Args:
        folder: Where it keeps its files; everybody has to be able to enter it.
        accounting: With MariaDB and slurmdbd. Otherwise sacct is there, and fails.
        cgroups: With limits of memory that the kernel enforces.
    """

    def __init__(self, folder: Path, *, accounting: bool = False, cgroups: bool = False) -> None:
        super().__init__(folder, name="node")
        self.accounting, self.cgroups = accounting, cgroups
        try:
            self._prepare()
            if accounting:
                self._start_accounting()
            self.run("slurmctld")
            wait_until(lambda: self._answers("scontrol", "ping"), what="slurmctld did not answer")
            self.start_node()
        except BaseException as error:
            logs = [f"--- {path.name}\n{path.read_text()[-800:]}" for path in sorted(folder.glob("*.log"))]
            error.add_note("\n".join(logs))
            self.stop()
            raise

    @staticmethod
    def what_is_missing(*, accounting: bool = False) -> str:
        """Returns why there can be no such Slurm here; empty if there can."""
        packages = _PACKAGES | (_ACCOUNTING_PACKAGES if accounting else {})
        path = f"{os.environ['PATH']}:/usr/sbin:/usr/bin"
        if missing := [package for command, package in packages.items() if not shutil.which(command, path=path)]:
            return f"apt install {' '.join(missing)}"
        return Machine.what_is_missing()

    def _prepare(self) -> None:
        # Resolvers take a machine with nothing but 127.0.0.1 for offline.
        self.run("ip", "address", "add", "10.0.0.1/32", "dev", "lo")
        for name, place in (("etc", "/etc/slurm"), ("munge", "/run/munge")):
            (self.folder / name).mkdir()
            Path(place).mkdir(exist_ok=True)
            self.run("mount", "--bind", self.folder / name, place)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        for number in range(2):  # slurmd takes no plain files for devices
            self.run("mknod", self.folder / f"gpu{number}", "c", "1", "3")
        facts = {"folder": self.folder, "name": self.name}
        text = _CONFIGURATION + (_WITH_CGROUPS if self.cgroups else _WITHOUT_CGROUPS)
        text += _ACCOUNTING if self.accounting else _NO_ACCOUNTING
        for name, content in {
            "slurm.conf": text.format(**facts),
            "gres.conf": f"Name=gpu File={self.folder}/gpu[0-1] Flags=nvidia_gpu_env\n",
            "cgroup.conf": _CGROUPS if self.cgroups else "",
            "slurmdbd.conf": _DATABASE_DAEMON.format(**facts),
        }.items():
            (self.folder / "etc" / name).write_text(content)
            (self.folder / "etc" / name).chmod(0o600 if name == "slurmdbd.conf" else 0o644)
        key = self.folder / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        files = {"pid": "munge/pid", "seed": "munge/seed", "log": "munged.log"}
        self.run(
            "munged", f"--key-file={key}", *(f"--{kind}-file={self.folder}/{file}" for kind, file in files.items())
        )

    def _answers(self, *command: object) -> bool:
        return self.run(*command, check=False).returncode == 0

    def _start_accounting(self) -> None:
        data, socket = self.folder / "mysql", self.folder / "mysql" / "socket"
        data.mkdir()
        shutil.chown(data, "mysql", "mysql")
        common = ("--no-defaults", f"--datadir={data}", "--user=mysql")
        self.run("mariadb-install-db", *common, "--skip-test-db", "--auth-root-authentication-method=normal")
        options = (f"--socket={socket}", "--bind-address=127.0.0.1", "--port=33306", "--innodb-buffer-pool-size=64M")
        quick = "--innodb-flush-log-at-trx-commit=0"
        log = self.folder / "mariadbd.log"
        self.start("mariadbd", *common, *options, quick, log=log, cwd=self.folder, user=ROOT)
        query = ("mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--execute")
        wait_until(lambda: self._answers(*query, "select 1"), what="the database did not answer")
        self.run(*query, _DATABASE_USERS)
        self.run("slurmdbd")
        wait_until(lambda: self._answers("sacctmgr", "-i", "add", "cluster", "zoo"), what="slurmdbd did not answer")
        self.run("sacctmgr", "-i", "add", "account", "lab")
        self.run("sacctmgr", "-i", "add", "user", self.name, "account=lab")

    def start_node(self) -> None:
        """Starts slurmd and waits until the node takes jobs."""
        self.run("slurmd")
        wait_until(self.node_answers, what="slurmd was not heard of")

    def node_answers(self) -> bool:
        """Says whether the node takes jobs."""
        return self.run("sinfo", "-h", "-N", "-o", "%T").stdout.strip() in ("idle", "mixed", "allocated")

    def lose_node(self) -> None:
        """Ends slurmd and all that it started, at once, as a power cut does."""
        daemon = int((self.folder / "slurmd.pid").read_text())
        steps = self.processes("slurmstepd")
        self.kill(daemon, *steps)
        # What the submitting user runs outside of jobs (Snakemake) lives on.
        for process in Path("/proc").glob("[0-9]*"):
            try:
                is_here = os.readlink(process / "ns/pid") == os.readlink(f"/proc/{self._first}/ns/pid")
                is_of_job = is_here and b"\0SLURM_JOB_ID=" in (process / "environ").read_bytes()
            except OSError:
                continue
            if is_of_job:
                os.kill(int(process.name), signal.SIGKILL)

    @property
    def _first(self) -> int:
        return int(re.search(r"--target=(\d+)", " ".join(self._prefix))[1])

    def queue(self) -> dict[str, str]:
        """Returns the states of all jobs by their numbers."""
        return dict(line.split() for line in self.run("squeue", "-h", "-o", "%A %T").stdout.splitlines())

    def jobs_of(self, comment: str) -> list[str]:
        """Returns the numbers of the jobs of a rule, such as `rule_train_wildcards_ga_frostbite_small_1`."""
        lines = [line.split() for line in self.run("squeue", "-h", "-o", "%A %k").stdout.splitlines()]
        return [job for job, words in lines if words.startswith(comment)]

    def delete_all_jobs(self) -> None:
        """Empties the queue."""
        self.run("scancel", "--user", self.name, user=USER, check=False)
        wait_until(lambda: not self.queue(), what="jobs did not go")
