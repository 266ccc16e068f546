#!/usr/bin/env python3
"""Submits one of Snakemake's job scripts to Grid Engine and prints the job's id.

A job of an earlier Snakemake (killed, or its terminal closed) that still makes the same files is taken over instead
of being submitted twice: two trainings must never write into one folder.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # without a traceback

import hashlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from pathlib import Path

from jobs import FOLDER, Listed, exit_code, listed, qstat, read_record, record, site, write

# What a job inherits. Not all (-V): everybody on the cluster can read a job's variables, and some hold passwords. The
# script sets them, since a job's shell is a login shell, whose profile sets PATH anew.
VARIABLES = re.compile(
    r"PATH|LD_LIBRARY_PATH|LANG|LC_\w+|VIRTUAL_ENV|XDG_CACHE_HOME|MPLCONFIGDIR|(CONDA|CUDA|KERAS|TF|XLA|JAX)_\w+"
)

UNREACHABLE = re.compile("commlib|unable to (contact|send|connect)|can't connect")


def read_properties(script: str) -> dict:
    """Reads what Snakemake says about the job in its script: rule, threads, resources, outputs and so on."""
    return json.loads(re.search(r"^# properties = (.*)$", script, re.MULTILINE).group(1))


def name_of(properties: dict) -> str:
    """Names the job in the queue after its rule and its wildcards."""
    parts = [properties.get("rule") or properties.get("groupid") or "group"]
    parts += (properties.get("wildcards") or {}).values()
    return re.sub(r"[^\w.-]", "_", ".".join(map(str, parts)))


def log_of(properties: dict) -> str:
    """Returns where Grid Engine puts what the job prints: beside the rule's own log, by the job's number."""
    logs = properties.get("log")
    stem = Path(logs[0]).with_suffix("") if logs else Path(properties["output"][0]).parent / name_of(properties)
    return f"{stem}.sge-$JOB_ID.log"


def qsub_options(properties: dict, names: dict) -> list[str]:
    """Translates threads and resources.

    Args:
        properties: As returned by `read_properties`.
        names: As returned by `site`.

    Returns:
        Options of qsub.

    Raises:
        ValueError: The GPUs do not divide among the slots, where the cluster counts them per slot.
    """
    resources, threads = properties.get("resources", {}), int(properties.get("threads", 1))
    environment = names["parallel_environment"]
    if resources.get("mpi"):
        environment = names.get("mpi_environment", environment)
    threads = max(threads, int(resources.get("tasks", 1)))
    options = ["-pe", environment, str(threads)] if threads > 1 else []
    limits = []
    if "runtime" in resources:
        limits.append(f"h_rt={seconds_of(properties)}")
    if "mem_mb" in resources and names["memory"]:
        shares = threads if names["memory_per"] == "slot" else 1
        limits.append(f"{names['memory']}={math.ceil(int(resources['mem_mb']) / shares)}M")
    if gpus := int(resources.get("gpu", 0)):
        shares = threads if names["gpu_per"] == "slot" else 1
        if gpus % shares:
            raise ValueError(
                f"{name_of(properties)}: {gpus} GPUs do not divide among {threads} slots, but {names['gpu']!r} counts "
                "per slot here (profiles/sge/config.yaml). Ask for as many GPUs as threads, or for a multiple."
            )
        limits.append(f"{names['gpu']}={gpus // shares}")
    if limits:
        options += ["-l", ",".join(limits)]
    return [*options, *map(str, names["options"])]


def seconds_of(properties: dict) -> int:
    """Returns the time limit of a job; 0 if it has none."""
    return int(float(properties.get("resources", {}).get("runtime", 0)) * 60)


def wrapped(script: str, token: str, *, warn_after: int = 0) -> str:
    """Puts a job script into one that notes down how it ended, which Grid Engine forgets.

    Warning signals are for the program inside, not for the shells and the Snakemake around it. To exit with 99 asks
    Grid Engine to start the same job again, which happens only if the program wants it; 100 would keep the job in the
    queue for ever.

    The script itself warns of the time limit, since Grid Engine 8.1.9 warns (s_rt) only the first time that a job is
    started: after that it kills the job at that time. To wait, it reads from a pipe that nobody writes to: that leaves
    no `sleep` behind when the job ends earlier.

    Args:
        script: Snakemake's job script.
        token: Name of the job's notes.
        warn_after: Seconds after which all processes of the job get SIGUSR1; 0 for never.
    """
    inherited = sorted(name for name in os.environ if VARIABLES.fullmatch(name))
    exports = "\n".join(f"export {name}={shlex.quote(os.environ[name])}" for name in inherited)
    timer = f"( read -rt {warn_after} <> <(:); kill -USR1 -- -$$ ) & timer=$!" if warn_after else "timer="
    return f"""#!/bin/bash
trap '' USR1 USR2 XCPU
{exports}
export NEUROZOO_AGAIN="$PWD/{FOLDER}/{token}.again"
{timer}
(
{script}
)
code=$?
[ -z "$timer" ] || kill $timer
if [ $code -ne 0 ] && [ -s "$NEUROZOO_AGAIN" ]; then rm "$NEUROZOO_AGAIN"; exit 99; fi
echo $code > {FOLDER}/.{token}.exit && mv {FOLDER}/.{token}.exit {FOLDER}/{token}.exit
[ $code -ne 99 ] && [ $code -ne 100 ] || code=1
exit $code
"""


def digest(value: object) -> str:
    """Names a value by a hash of its JSON text."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def taken_over(claim: Path, recipe: str) -> str | None:
    """Returns the living job that already makes these files; one that makes them from another recipe is ended first."""
    try:
        earlier = json.loads(claim.read_text())
    except (OSError, ValueError):
        return None
    job, facts = earlier["job"], read_record(earlier["job"])
    if facts is None or exit_code(facts["token"]) is not None or (found := look_up(job)) is None:
        return None
    if earlier["recipe"] == recipe and "d" not in found.state:
        print(f"Job {job} of an earlier Snakemake is still making these files; it is taken over.", file=sys.stderr)
        return job
    subprocess.run(["qdel", job], capture_output=True)
    for _ in range(60):
        found = look_up(job)
        if found is None or "u" in found.queue_state:  # its node learns of the qdel before it does anything else
            return None
        time.sleep(1)
    sys.exit(f"Job {job} makes the same files and cannot be ended. End it first: qdel {job}")


def look_up(job: str) -> Listed | None:
    """Asks Grid Engine about a job now; None if it does not know it."""
    if (listing := qstat(age=0)) is None:
        sys.exit("Grid Engine does not answer (qstat failed). Start again when it does; nothing was submitted.")
    return listed(listing, job)


def submitted(command: list[str], script: str) -> str:
    """Runs qsub and returns the job's id; a master that is restarted meanwhile is waited for."""
    if shutil.which(command[0]) is None:
        sys.exit(
            f"--profile sge submits jobs with {command[0]}, but this machine has none in its PATH. Start Snakemake on "
            "a submit host of the cluster (source its settings.sh), or take --profile local."
        )
    start = time.monotonic()
    while True:
        run = subprocess.run(command, input=script, capture_output=True, text=True)
        if not run.returncode and (answer := re.search(r"^\d+", run.stdout, re.MULTILINE)):
            return answer.group()
        if not UNREACHABLE.search(run.stderr) or time.monotonic() - start > site()["patience"]:
            sys.exit(f"Grid Engine refused the job: {run.stdout}{run.stderr}\nThe command was: {' '.join(command)}")
        print(f"Grid Engine does not answer; trying again: {run.stderr.strip()}", file=sys.stderr)
        time.sleep(10)


def main() -> str:
    """Submits the job script whose path is the last argument; returns the job's id."""
    script = Path(sys.argv[-1]).read_text()
    properties = read_properties(script)
    claim = FOLDER / f"{digest(properties.get('output') or properties.get('jobid'))}.claim"
    recipe = digest([properties.get(key) for key in ("rule", "input", "output", "params", "threads")])
    if job := taken_over(claim, recipe):
        return job
    token, name, log = uuid.uuid4().hex[:12], name_of(properties), log_of(properties)
    FOLDER.mkdir(parents=True, exist_ok=True)
    Path(log).parent.mkdir(parents=True, exist_ok=True)
    command = ["qsub", "-terse", "-S", "/bin/bash", "-cwd", "-r", "n", "-w", "e", "-j", "y"]
    command += ["-o", log, "-N", name]
    names = site()
    limit = seconds_of(properties)
    warn_after = limit - names["warning"] if limit > 2 * names["warning"] else 0
    try:
        command += qsub_options(properties, names)
    except ValueError as error:
        sys.exit(str(error))
    job = submitted(command, wrapped(script, token, warn_after=warn_after))
    facts = {"token": token, "time": time.time(), "name": name, "log": log.replace("$JOB_ID", job)}
    write(record(job), json.dumps({**facts, "output": properties.get("output")}))
    write(claim, json.dumps({"job": job, "recipe": recipe}))
    return job


if __name__ == "__main__":
    # After Ctrl-C, Snakemake never learns of a job that qsub has begun to take: the child deletes it.
    parent = os.getpid()
    if child := os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os.setsid()
    job = main()
    if os.getppid() == parent:
        print(job)
    else:
        subprocess.run(["qdel", job], capture_output=True)
