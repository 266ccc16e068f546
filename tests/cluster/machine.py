"""A machine of one's own for daemons that a test may hurt: namespaces instead of a container engine."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
ROOT = 0
USER = 64_210  # of the submitting user, who exists nowhere else
PATIENCE = 900  # seconds: ends what hangs, and nothing that is only slow on a busy machine

# The first process: what daemons and jobs leave behind becomes its child, and it has to collect them.
_FIRST_PROCESS = "echo ready; exec >/dev/null; while :; do sleep 3600 & wait $!; done"
_TOOLS = ("unshare", "nsenter", "setpriv", "ip", "mount")


class Machine:
    """Processes, network, host name, mounts and users of one's own; the files are those of this machine.

    Its network is a loopback without a way out, so that nobody else reaches what listens there, and ports are free.
    When it stops, all of its processes are gone, whatever became of their parents.

    Args:
        folder: Where it keeps its files; everybody has to be able to enter it.
        name: Host name, and name of the submitting user.
    """

    def __init__(self, folder: Path, *, name: str) -> None:
        self.folder, self.name = folder, name
        self.home = folder / "home"
        self.environment: dict[str, str] = {}
        namespaces = ("--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
        self._keeper = subprocess.Popen(
            # Not even tests that are killed leave anything running.
            ["setpriv", "--pdeathsig=KILL", "unshare", *namespaces, "bash", "-c", _FIRST_PROCESS],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._keeper.stdout.readline()
        children = Path(f"/proc/{self._keeper.pid}/task/{self._keeper.pid}/children").read_text().split()
        self._prefix = ["nsenter", f"--target={children[0]}", "--net", "--mount", "--uts", "--pid"]
        self.home.mkdir(parents=True)
        os.chown(self.home, USER, USER)
        self._furnish()

    @staticmethod
    def what_is_missing() -> str:
        """Returns why this machine permits no other on it; empty if it does."""
        if os.geteuid() != ROOT:
            return "root is needed to start the daemons of a cluster"
        if missing := [tool for tool in _TOOLS if not shutil.which(tool)]:
            return f"{', '.join(missing)} not installed (Debian: apt install util-linux mount iproute2)"
        trial = subprocess.run(
            ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc", "true"],
            capture_output=True, text=True,
        )  # fmt: skip
        return f"namespaces are not permitted: {trial.stderr.strip()}" if trial.returncode else ""

    def _furnish(self) -> None:
        """Gives it a name, a user, and ways to Python and the project for that user."""
        self.run("ip", "link", "set", "lo", "up")
        self.run("hostname", self.name)
        for path, line in {
            "/etc/hosts": f"127.0.0.1 {self.name} localhost\n",
            "/etc/passwd": Path("/etc/passwd").read_text() + f"{self.name}:x:{USER}:{USER}::{self.home}:/bin/bash\n",
            "/etc/group": Path("/etc/group").read_text() + f"{self.name}:x:{USER}:\n",
        }.items():
            copy = self.folder / Path(path).name
            copy.write_text(line)
            self.run("mount", "--bind", copy, path)
        for number, needed in enumerate({Path(sys.prefix), Path(sys.base_prefix), PROJECT}):
            self._open(needed.resolve(), self.folder / f"window.{number}")

    def _open(self, needed: Path, window: Path) -> None:
        """Lets everybody enter a folder below one that is root's alone (such as /root/.pyenv), only in here."""
        if self.run("test", "-x", needed, user=USER, check=False).returncode == 0:
            return
        closed = next(path for path in reversed(needed.parents) if not path.stat().st_mode & 0o001)
        window.mkdir()
        self.run("mount", "--bind", needed, window)
        self.run("mount", "-t", "tmpfs", "-o", "mode=755", "none", closed)
        self.run("mkdir", "-p", needed)
        self.run("mount", "--bind", window, needed)

    def command(self, *command: object, user: int = ROOT, cwd: Path | str = "/") -> list[str]:
        """Returns the command that runs another in here."""
        # Not nsenter's --wd: that folder would be seen with the mounts of outside.
        change = ["env", "--default-signal=INT", f"--chdir={cwd}"]
        return [*self._prefix, f"--setuid={user}", f"--setgid={user}", *change, *map(str, command)]

    def variables(self, user: int = ROOT) -> dict[str, str]:
        """Returns the environment of a login: nothing of the test's own but the way to commands."""
        name = "root" if user == ROOT else self.name
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
        login = {"PATH": path, "HOME": str(self.home), "USER": name, "LOGNAME": name, "LC_ALL": "C.UTF-8"}
        return {**login, "TF_CPP_MIN_LOG_LEVEL": "3", **self.environment}

    def run(
        self, *command: object, user: int = ROOT, check: bool = True, timeout: float = PATIENCE, cwd: Path | str = "/"
    ) -> subprocess.CompletedProcess:
        """Runs a command to its end; its answer has both streams in `stdout`."""
        answer = subprocess.run(
            self.command(*command, user=user, cwd=cwd), env=self.variables(user), timeout=timeout, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        assert not check or answer.returncode == 0, f"{' '.join(map(str, command))}:\n{answer.stdout}"
        return answer

    def start(self, *command: object, log: Path, cwd: Path, user: int = USER) -> subprocess.Popen:
        """Starts a command in a session of its own, so that a signal to its group reaches nothing else."""
        with open(log, "w") as output:
            return subprocess.Popen(
                self.command(*command, user=user, cwd=cwd), env=self.variables(user), start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def processes(self, words: str) -> list[int]:
        """Returns the processes in here whose command line contains some words, by their numbers in here."""
        lines = self.run("ps", "-eo", "pid=,stat=,args=").stdout.splitlines()
        found = [line.split(maxsplit=2) for line in lines if words in line]
        return [int(number) for number, state, _ in found if not state.startswith("Z")]

    def kill(self, *numbers: int, by: signal.Signals = signal.SIGKILL) -> None:
        """Sends a signal to processes in here."""
        self.run("kill", f"-{by.value}", "--", *numbers, check=False)

    def stop(self) -> None:
        """Ends all its processes."""
        self._keeper.kill()
        self._keeper.wait()
        self._keeper.stdout.close()


def wait_until(happened, *, seconds: float = PATIENCE, what: str = "nothing happened"):
    """Waits for a function to return something true, and returns that."""
    end = time.monotonic() + seconds
    while not (answer := happened()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} within {seconds} s")
        time.sleep(0.1)
    return answer
