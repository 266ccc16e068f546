#!/usr/bin/env python3
"""Submits one of Snakemake's job scripts to Grid Engine and prints the job's id.

A job of an earlier Snakemake (killed, or its terminal closed) that still makes the same files is taken over instead
of being submitted twice: two trainings must never write into one folder.
"""

import hashlib
import json
import math
import re
import subprocess
import sys
import time
import tomllib
import uuid
from pathlib import Path

from jobs import FOLDER, exit_code, read_record, record, write


def read_properties(script: str) -> dict:
    """Reads what Snakemake says about the job in its script: rule, threads, resources, outputs and so on."""
    return json.loads(re.search(r"^# properties = (.*)$", script, re.MULTILINE).group(1))


def name_of(properties: dict) -> str:
    """Names the job in the queue after its rule and its wildcards."""
    parts = [properties.get("rule") or properties.get("groupid") or "group"]
    parts += (properties.get("wildcards") or {}).values()
    return re.sub(r"[^\w.-]", "_", ".".join(map(str, parts)))


def qsub_options(properties: dict, site: dict) -> list[str]:
    """Translates threads and resources.

    Args:
        properties: As returned by `read_properties`.
        site: The contents of site.toml.

    Returns:
        Options of qsub.

    Raises:
        ValueError: The GPUs do not divide among the slots, where the cluster counts them per slot.
    """
    resources, threads = properties.get("resources", {}), int(properties.get("threads", 1))
    options = ["-pe", site["parallel_environment"], str(threads)] if threads > 1 else []
    limits = []
    if "runtime" in resources:
        seconds = int(float(resources["runtime"]) * 60)
        limits.append(f"h_rt={seconds}")
        if seconds > 2 * site["warning"]:
            limits.append(f"s_rt={seconds - site['warning']}")
    if "mem_mb" in resources and site["memory"]:
        shares = threads if site["memory_per_slot"] else 1
        limits.append(f"{site['memory']}={math.ceil(int(resources['mem_mb']) / shares)}M")
    if gpus := int(resources.get("gpu", 0)):
        shares = threads if site["gpu_per_slot"] else 1
        if gpus % shares:
            raise ValueError(
                f"{name_of(properties)}: {gpus} GPUs do not divide among {threads} slots, but {site['gpu']!r} counts "
                "per slot here (site.toml). Ask for as many GPUs as threads, or for a multiple."
            )
        limits.append(f"{site['gpu']}={gpus // shares}")
    if limits:
        options += ["-l", ",".join(limits)]
    if site["queue"]:
        options += ["-q", site["queue"]]
    return [*options, *site["options"]]


def wrapped(script: str, token: str) -> str:
    """Puts a job script into one that notes down how it ended, which Grid Engine forgets.

    The warning signals are for the program inside, not for the shells and the Snakemake around it. Exit codes 99 and
    100 would tell Grid Engine to start the job again, or to keep it in the queue for ever.
    """
    return f"""#!/bin/bash
trap '' USR1 USR2
(
{script}
)
code=$?
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
    if facts is None or exit_code(facts["token"]) is not None or not is_alive(job):
        return None
    if earlier["recipe"] == recipe:
        print(f"Job {job} of an earlier Snakemake is still making these files; it is taken over.", file=sys.stderr)
        return job
    subprocess.run(["qdel", job], capture_output=True)
    for _ in range(60):
        if not is_alive(job):
            return None
        time.sleep(1)
    sys.exit(f"Job {job} makes the same files from other settings and cannot be ended. End it first: qdel {job}")


def is_alive(job: str) -> bool:
    """Asks Grid Engine whether it knows a job."""
    return subprocess.run(["qstat", "-j", job], capture_output=True).returncode == 0


def main() -> None:
    """Submits the job script whose path is the last argument."""
    script = Path(sys.argv[-1]).read_text()
    properties = read_properties(script)
    site = tomllib.loads((Path(__file__).resolve().parent / "site.toml").read_text())
    claim = FOLDER / f"{digest(properties.get('output') or properties.get('jobid'))}.claim"
    recipe = digest([properties.get(key) for key in ("rule", "input", "output", "params", "threads")])
    if job := taken_over(claim, recipe):
        print(job)
        return
    token, log = uuid.uuid4().hex[:12], FOLDER.resolve() / "logs"
    log.mkdir(parents=True, exist_ok=True)
    command = ["qsub", "-terse", "-S", "/bin/bash", "-cwd", "-V", "-r", "n", "-w", "e", "-j", "y", "-o"]
    command += [f"{log}/$JOB_NAME.$JOB_ID.log", "-N", name_of(properties)]
    try:
        command += qsub_options(properties, site)
    except ValueError as error:
        sys.exit(str(error))
    run = subprocess.run(command, input=wrapped(script, token), capture_output=True, text=True)
    answer = re.search(r"^\d+", run.stdout, re.MULTILINE)
    if run.returncode or not answer:
        sys.exit(f"Grid Engine refused the job: {run.stdout}{run.stderr}\nThe command was: {' '.join(command)}")
    job = answer.group()
    write(
        record(job), json.dumps({"token": token, "time": time.time(), "log": f"{log}/{name_of(properties)}.{job}.log"})
    )
    write(claim, json.dumps({"job": job, "recipe": recipe}))
    print(job)


if __name__ == "__main__":
    main()
