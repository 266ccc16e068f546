"""Starts the processes of a run with MPI, passes signals on, and says which of them was lost."""

import collections
import contextlib
import ctypes
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from neurozoo.compute.interruption import Interrupted
from neurozoo.errors import NeurozooError

STOPPED = 75  # exit status of a program that saved its state because a signal came (EX_TEMPFAIL)
STOPPING = 240.0  # seconds in which ranks have to save their state; schedulers give five minutes
ASKING = 2.0  # seconds between two such requests
KEPT_LINES = 200  # of standard error, for the explanation
PR_SET_PDEATHSIG = 1

LOST = (
    # Open MPI: "prterun noticed that process rank 1 with PID 4711 on node n02 exited on signal 9 (Killed)."
    re.compile(r"process rank (?P<rank>\d+) with PID \S+ on node (?P<host>\S+) exited on\s+signal (?P<signal>\d+)"),
    # Slurm: "srun: error: n02: task 1: Killed"
    re.compile(r"srun: error: (?P<host>\S+): task (?P<rank>\d+): (?P<signal>\w.*)"),
)
NOT_ENOUGH = ("not enough slots", "More processors requested than permitted")


def mpi_command(mpi: str, count: int, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Returns the words that start processes with `mpirun`, `srun`, or such a command with options of its own.

    Below Grid Engine, a variable of the environment names the hosts.
    """
    words = shlex.split(mpi)
    own = os.pathsep.join((str(Path(sys.executable).parent), environment.get("PATH", "")))
    program = shutil.which(words[0], path=own) if words else None
    if program is None:
        raise NeurozooError(f"There is no command {mpi!r}, which starts several processes. Run: make setup")
    name = Path(program).name
    if name.startswith("srun"):
        return [program, f"--ntasks={count}", "--mpi=pmix", *words[1:]]
    # Processes have several threads, so they are not bound to one core; there may be more of them than cores.
    options = ["-n", str(count)]
    for name, value in (("--bind-to", "none"), ("--map-by", ":OVERSUBSCRIBE")):
        options += [] if name in words else [name, value]
    names_hosts = any(word.startswith(("--host", "-H")) for word in words)
    if "PE_HOSTFILE" in environment and not names_hosts:
        options += ["--host", hosts_of_grid_engine(environment["PE_HOSTFILE"])]
    elif "SLURM_JOB_ID" not in environment and not names_hosts and "--mca" not in words:
        options += ["--mca", "btl", "self,sm"]  # on one machine, processes need no network, and listen nowhere
    return [program, *options, *words[1:]]


def hosts_of_grid_engine(path: str | os.PathLike) -> str:
    """Returns the hosts of a parallel environment and their slots, as `mpirun --host` takes them."""
    try:
        rows = [line.split() for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
        return ",".join(f"{host}:{int(slots)}" for host, slots, *_ in rows)
    except (OSError, ValueError) as error:
        raise NeurozooError(f"The hosts of the job could not be read from {path}: {error}") from error


def nodes_of_slurm(job: str) -> list[str]:
    """Returns the nodes of a job of Slurm."""

    def ask(*words: str) -> str:
        return subprocess.run(["scontrol", "show", *words], check=True, capture_output=True, text=True).stdout

    try:
        found = re.search(r"\bNodeList=(\S+)", ask("job", job, "--oneliner"))
        nodes = ask("hostnames", found[1]).split() if found and found[1] != "(null)" else []
    except (OSError, subprocess.CalledProcessError) as error:
        raise NeurozooError(f"Slurm does not say which nodes job {job} has: {error}") from error
    if not nodes:
        raise NeurozooError(f"Slurm does not say which nodes job {job} has.")
    return nodes


def launcher_environment(
    count: int, environment: Mapping[str, str] = os.environ, *, nodes_of: Callable[[str], list[str]] = nodes_of_slurm
) -> dict[str, str]:
    """Returns the variables with which `mpirun` starts.

    Snakemake's jobs on Slurm know only the number of their job, which is not enough for Open MPI. `nodes_of` returns
    the nodes of a job.
    """
    changed = {**environment}
    if os.geteuid() == 0:  # as in containers; Open MPI wants to be asked twice
        changed |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    job = environment.get("SLURM_JOB_ID")
    if job is None or "SLURM_NODELIST" in environment:
        return changed
    nodes = nodes_of(job)
    if len(nodes) == 1:  # which needs no Slurm to start processes on it
        return {name: value for name, value in changed.items() if not name.startswith("SLURM_")}
    each = -(-count // len(nodes))
    return changed | {"SLURM_NODELIST": ",".join(nodes), "SLURM_TASKS_PER_NODE": f"{each}(x{len(nodes)})"}


def run_ranks(command: Sequence[str], *, count: int, check: Callable[[], None]) -> None:
    """Runs a command that starts `count` processes (`mpi_command` and the program), to its end.

    `check` is called several times a second and may raise `Interrupted`. The processes then get SIGUSR1, and have time
    to save their state.

    Raises:
        Interrupted: What `check` raised, or the processes were asked to stop by others.
        NeurozooError: A process failed or was lost; the message names it.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=None if Path(command[0]).name.startswith("srun") else launcher_environment(count),
        start_new_session=True,  # Ctrl-C goes to this process only, which passes it on
        preexec_fn=_die_with_parent,
    )
    lines: collections.deque[str] = collections.deque(maxlen=KEPT_LINES)
    reader = threading.Thread(target=_pass_on, args=(process, lines), daemon=True)
    reader.start()
    try:
        while process.poll() is None:
            check()
            time.sleep(0.1)
    except Interrupted as stop:
        try:
            status = _wait_for_end(process)
        except subprocess.TimeoutExpired:
            raise NeurozooError(
                f"{str(stop).split(';')[0]}, but the processes did not end within {STOPPING:.0f} s. Start the same "
                "command again: it continues from the last state."
            ) from stop
        reader.join(timeout=5)
        if status in (0, STOPPED) or f"({signal.SIGUSR1.name})" in explain_end("\n".join(lines), status):
            raise  # a process that had hardly started is ended by the signal itself
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join(timeout=5)
    if process.returncode == STOPPED:
        raise Interrupted("Stopped by a signal; the state is saved. Start the same command again to continue.")
    if process.returncode:
        raise NeurozooError(explain_end("\n".join(lines), process.returncode))


def _wait_for_end(process: "subprocess.Popen[str]") -> int:
    """Asks all ranks to stop, again and again: one that still starts does not listen yet. Returns the exit status."""
    end = time.monotonic() + STOPPING
    while True:
        process.send_signal(signal.SIGUSR1)  # Open MPI and Slurm pass it on
        try:
            return process.wait(timeout=min(ASKING, STOPPING))
        except subprocess.TimeoutExpired:
            if time.monotonic() > end:
                raise


def explain_end(text: str, status: int) -> str:
    """Says in a sentence why processes ended, from the end of their standard error and the launcher's exit status."""
    if sentences := re.findall(r"^neurozoo: (.*)$", text, re.MULTILINE):
        return sentences[-1]
    joined = " ".join(text.split())
    for pattern in LOST:
        if found := pattern.search(joined):
            number = found["signal"]
            how = signal.Signals(int(number)).name if number.isdigit() else number
            return (
                f"Rank {found['rank']} on {found['host'].rstrip(':')} was lost ({how}), so the run ends. Start the "
                "same command again: it continues from the last state."
            )
    if any(words in joined for words in NOT_ENOUGH):
        return "There are fewer places for processes than the run has learners and actors. Ask the scheduler for more."
    last = [line for line in text.splitlines() if line.strip(" -")][-3:]
    return f"The processes of the run ended with status {status}: " + " ".join(last)


def _pass_on(process: "subprocess.Popen[str]", lines: "collections.deque[str]") -> None:
    """Shows what the processes say, but keeps the sentence with which they end, and what the launcher adds to it."""
    assert process.stderr is not None
    is_of_launcher = False  # between two lines of dashes
    for said in process.stderr:
        line = said.replace("\0", "")  # Open MPI ends its own messages with one, where a line of a rank may follow
        lines.append(line.rstrip("\n"))
        if line.startswith("-" * 20):
            is_of_launcher = not is_of_launcher
        elif not is_of_launcher and not line.startswith(("neurozoo: ", "prterun ", "mpirun ", "srun: ")):
            with contextlib.suppress(OSError):  # the terminal may be gone, but the processes go on
                sys.stderr.write(line)
                sys.stderr.flush()


def _die_with_parent() -> None:
    """Ends the launcher if this process is killed; otherwise its processes would train on without an owner."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
