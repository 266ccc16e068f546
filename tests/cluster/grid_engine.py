"""Son of Grid Engine for tests: a cell with one node, from Debian's packages."""

import os
import re
import shutil
import signal
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from machine import USER, Machine, wait_until

_LIBRARY = Path("/usr/lib/gridengine")
_DEBIAN_ROOT = Path("/var/lib/gridengine")
_PROGRAMS = (_LIBRARY / "sge_qmaster", _LIBRARY / "sge_execd", Path("/usr/bin/qsub"))

_BOOTSTRAP = """Version: 6.2
admin_user sgeadmin
default_domain none
ignore_fqdn false
spooling_method berkeleydb
spooling_lib libspoolb
spooling_params {spool}/database
binary_path /usr/sbin
qmaster_spool_dir {spool}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""

_PARALLEL_ENVIRONMENT = """pe_name smp
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $pe_slots
control_slaves FALSE
job_is_first_task TRUE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""

# Real sites wait for 15 to 40 seconds where a test should not.
_GLOBAL = {
    "execd_spool_dir": "{spool}/execd",
    "min_uid": "0",
    "min_gid": "0",
    "load_report_time": "00:00:02",
    "max_unheard": "00:00:06",
    "reporting_params": "accounting=true reporting=false flush_time=00:00:01 accounting_flush_time=00:00:00 "
    "joblog=false sharelog=00:00:00",
    "execd_params": "PDC_INTERVAL=00:00:01",  # without ENABLE_ADDGRP_KILL: only the process group of a job is killed
}
_SCHEDULER = {
    "schedule_interval": "0:0:1",
    "flush_submit_sec": "1",
    "flush_finish_sec": "1",
    "job_load_adjustments": "NONE",
    "load_adjustment_decay_time": "0:0:0",
}
_QUEUE = {
    "qname": "all.q",
    "hostlist": "{host}",
    "load_thresholds": "NONE",
    "pe_list": "smp",
    "slots": "16",
    "shell": "/bin/bash",
    "notify": "00:00:05",
    "tmpdir": "{spool}/tmp",
}
_HOST = """hostname {host}
load_scaling NONE
complex_values gpu=2,slot_gpu=2
user_lists NONE
xuser_lists NONE
projects NONE
xprojects NONE
usage_scaling NONE
report_variables NONE
"""


class GridEngine(Machine):
    """A running cell; `user` submits, root administers."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, name="cell")
        self.root, self.spool = folder / "root", folder / "spool"
        self.environment = {
            "SGE_ROOT": str(self.root),
            "SGE_CELL": "default",
            "SGE_QMASTER_PORT": "6444",
            "SGE_EXECD_PORT": "6445",
            "SGE_EXECD_PIDFILE": str(self.spool / "execd.pid"),  # without it there is no such file
        }
        try:
            self._make_cell()
            self.start_master()
            self._configure()  # before the execution daemon, which reads some of it only when it starts
            self.start_node()
        except BaseException:
            self.stop()
            raise

    @staticmethod
    def what_is_missing() -> str:
        """Returns why there can be no Grid Engine here; empty if there can."""
        if not all(program.exists() for program in _PROGRAMS):
            return "apt install gridengine-master gridengine-exec gridengine-client"
        return Machine.what_is_missing()

    def _make_cell(self) -> None:
        for name in ("bin", "lib", "utilbin", "util"):
            shutil.copytree(_DEBIAN_ROOT / name, self.root / name, symlinks=True)
        common = self.root / "default" / "common"
        common.mkdir(parents=True)
        for name in ("database", "qmaster", "execd", "tmp"):
            (self.spool / name).mkdir(parents=True)
        (self.spool / "tmp").chmod(0o1777)
        (common / "bootstrap").write_text(_BOOTSTRAP.format(spool=self.spool))
        (common / "act_qmaster").write_text(self.name + "\n")
        self.run("chown", "-R", "sgeadmin:sgeadmin", common.parent, self.spool)
        make = "/usr/share/gridengine/scripts/init_cluster"
        arguments = (self.root, "default", self.spool / "database", "sgeadmin")
        self.run("setpriv", "--reuid=sgeadmin", "--regid=sgeadmin", "--clear-groups", make, *arguments)

    def _configure(self) -> None:
        self.configure("conf", "global", self._changed(self.show("-sconf", "global"), _GLOBAL))
        self.configure("sconf", "sched", self._changed(self.show("-ssconf"), _SCHEDULER))
        self._qconf("-Ap", "smp", _PARALLEL_ENVIRONMENT)
        complexes = "gpu gpu INT <= YES JOB 0 0\nslot_gpu slot_gpu INT <= YES YES 0 0\n"
        self._qconf("-Mc", "complexes", self.show("-sc") + complexes)
        self._qconf("-Ae", "host", _HOST.format(host=self.name))
        self.run("qconf", "-as", self.name)
        self._qconf("-Aq", "queue", self._changed(self.show("-sq"), _QUEUE))

    def _changed(self, text: str, values: dict[str, str]) -> str:
        for key, value in values.items():
            value = value.format(spool=self.spool, host=self.name)
            text, found = re.subn(rf"(?m)^{key} .*$", lambda _, key=key, value=value: f"{key} {value}", text)
            assert found == 1, f"{key} is not in\n{text}"
        return text

    def _qconf(self, option: str, name: str, text: str) -> None:
        path = self.folder / name  # Grid Engine takes the object's name from the file's for some kinds
        path.write_text(text)
        self.run("qconf", option, path)

    def show(self, *options: str) -> str:
        """Returns an object of the configuration, one line for each key."""
        text = self.run("qconf", *options).stdout
        return re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", text))

    def configure(self, kind: str, name: str, text: str) -> None:
        """Replaces an object of the configuration."""
        self._qconf(f"-M{kind}", name, text)

    def start_master(self) -> None:
        """Starts the master and waits until it answers."""
        self.run("sge_qmaster")
        wait_until(lambda: self.run("qconf", "-sh", check=False).returncode == 0, what="the master did not answer")

    def stop_master(self) -> None:
        """Ends the master; jobs go on."""
        pid = int((self.spool / "qmaster" / "qmaster.pid").read_text())
        self.kill(pid, by=signal.SIGTERM)
        wait_until(lambda: not self.processes("sge_qmaster"), what="the master did not end")

    def start_node(self) -> None:
        """Starts the execution daemon unless it runs, and waits until the master has heard of it.

        A master that was restarted hears of a daemon only when it reports its load again.
        """
        if not self.processes("sge_execd"):
            self.run("sge_execd")
        wait_until(self.node_answers, what="the execution daemon was not heard of")

    def node_answers(self) -> bool:
        """Says whether the master hears the execution daemon."""
        (line,) = [line for line in self.run("qhost").stdout.splitlines() if line.startswith(self.name)]
        (queue,) = [line for line in self.run("qstat", "-f").stdout.splitlines() if line.startswith("all.q")]
        return "-" not in line.split()[3:7] and len(queue.split()) == 5  # a sixth column is a state such as `au`

    def lose_node(self) -> None:
        """Ends the execution daemon and all that it started, at once, as a power cut does."""
        daemon = int((self.spool / "execd.pid").read_text())
        self.kill(daemon)
        for group in self.processes("sge_shepherd"):
            self.kill(group)
        self.run("pkill", "-9", "--uid", USER, "--full", "job_scripts", check=False)

    def qstat(self) -> dict[str, str]:
        """Returns the states of all jobs by their ids, such as `7`, or `7.2` for a task of an array job."""
        return {job: state for job, (_, state) in self._jobs().items()}

    def jobs_of(self, name: str) -> list[str]:
        """Returns the ids of the jobs whose name begins so; a task's number ends its name."""
        return [job for job, (full, _) in self._jobs().items() if full.startswith(name)]

    def _jobs(self) -> dict[str, tuple[str, str]]:
        found = {}
        for job in ElementTree.fromstring(self.run("qstat", "-u", "*", "-xml", "-g", "d").stdout).iter("job_list"):
            task = f".{job.findtext('tasks')}" if job.find("tasks") is not None else ""
            found[job.findtext("JB_job_number") + task] = (job.findtext("JB_name") + task, job.findtext("state"))
        return found

    def processes_of(self, job: str) -> list[int]:
        """Returns the process that leads a job's process group; none while the job does not run."""
        number, _, task = job.partition(".")
        mine = f"SGE_TASK_ID={task or 'undefined'}"  # tasks of an array share their script
        found = []
        for process in self.processes(f"/job_scripts/{number}"):
            environment = self.run("cat", f"/proc/{process}/environ", check=False).stdout.split("\0")
            group = self.run("ps", "-o", "pgid=", "-p", process, check=False).stdout.strip()
            if mine in environment and group == str(process):
                found.append(process)
        return found

    def delete_all_jobs(self) -> None:
        """Empties the queues."""
        self.run("qdel", "-f", "-u", "*", check=False)
        wait_until(lambda: not self.qstat(), what="jobs did not go")

    def accounts(self, job: str) -> list[dict[str, str]]:
        """Returns what the accounting says of a job, one entry for each time that it ran."""
        number, _, task = job.partition(".")
        answer = self.run("qacct", "-j", number, *(("-t", task) if task else ()), check=False).stdout
        runs = answer.split("=" * 62)[1:]
        return [
            {
                key: value.strip()
                for key, value in (line.split(maxsplit=1) for line in run.splitlines() if " " in line.strip())
            }
            for run in runs
        ]


def start_grid_engine(folder: Path) -> GridEngine:
    """Starts a cell in a new folder, which everybody may enter."""
    os.chmod(folder, 0o755)
    return GridEngine(folder)
