"""The states of all runs of a configuration at one moment."""

import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.errors import NeurozooError
from neurozoo.files.yaml import read_yaml
from neurozoo.folders import guard
from neurozoo.plan.changes import changed_settings, in_words
from neurozoo.plan.configuration import check_config
from neurozoo.plan.named_files import check_workdir
from neurozoo.plan.planned_runs import PlannedRun, planned_runs, run_settings
from neurozoo.records.run_config import config_of_run, read_run_settings
from neurozoo.records.run_log import UNITS
from neurozoo.status.run_files import last_lines, read_run_files
from neurozoo.status.run_state import STATES, RunStatus, State, status_of
from neurozoo.status.workflow_files import WorkflowFiles

TAIL = 10  # lines shown of a failed run's log
TRAINING_RULES = {"network": "train", "archive": "train_archive"}  # by the kind of the result


@dataclass(frozen=True)
class Overview:
    """The states of all runs at one moment."""

    time: float  # seconds since 1970
    runs: tuple[RunStatus, ...]  # in the order of the configuration

    def count(self, state: State) -> int:
        """Returns the number of runs in a state."""
        return sum(run.state == state for run in self.runs)

    def speed(self, unit: str) -> float:
        """Returns how many frames or evaluations per second all running runs make together."""
        running = [run for run in self.runs if run.state == "running" and run.unit == unit]
        return sum(run.progress_per_second or 0.0 for run in running)

    @property
    def remaining(self) -> float | None:
        """Seconds until the last of the running runs ends; None if none runs."""
        return max((run.remaining for run in self.runs if run.remaining is not None), default=None)

    def to_json(self) -> dict:
        """Returns everything as plain JSON, with the last lines of the logs of failed and stalled runs."""
        return {
            "time": self.time,
            "states": {state: self.count(state) for state in STATES},
            **{f"{unit}_per_second": self.speed(unit) for unit in UNITS},
            "remaining": self.remaining,
            "runs": [_run_to_json(run) for run in self.runs],
        }


def _run_to_json(status: RunStatus) -> dict:
    facts = asdict(status)
    progress = {status.unit: facts.pop("progress"), f"{status.unit}_per_second": facts.pop("progress_per_second")}
    facts = {**facts.pop("run"), **facts, **progress, "log": status.log and str(status.log)}
    return facts | {"log_tail": last_lines(status.log, TAIL) if status.log else []}


def read_config(config_files: Sequence[str | os.PathLike], *, workdir: str | os.PathLike = ".") -> dict:
    """Reads and checks a configuration, as Snakemake does.

    Args:
        config_files: The files of `snakemake --configfile`; a later file replaces values of an earlier one.
        workdir: The folder in which Snakemake was started; relative paths of the configuration start there.
    """
    check_workdir(workdir)
    config: dict = {}
    for path in config_files:
        remedy = "Name the file with --configfile, and the folder in which Snakemake was started with --directory."
        _update(config, read_yaml(Path(workdir, path), remedy))
    names = ", ".join(map(str, config_files))
    return check_config(config, source=names)


def read_overview(config_files: Sequence[str | os.PathLike], *, workdir: str | os.PathLike = ".") -> Overview:
    """Reads the files of all runs of a configuration; see `read_config`.

    It asks no scheduler, so it works on any machine that can read the files.
    """
    config = read_config(config_files, workdir=workdir)
    guard(Path(workdir, config["pathvars"]["results"]))
    workflows = {kind: WorkflowFiles(Path(workdir), rule=rule) for kind, rule in TRAINING_RULES.items()}
    now = time.time()
    statuses = []
    for run in planned_runs(config):
        workflow = workflows[ALGORITHMS[run.algo].result]
        files = read_run_files(run, results=config["pathvars"]["results"], workdir=Path(workdir), workflow=workflow)
        unit = ALGORITHMS[run.algo].budget_unit
        budget = run_settings(config, **vars(run))[unit]
        status = status_of(run, files, budget=budget, unit=unit, now=now)
        if status.state in ("done", "waiting"):
            changes = _about_changes(run, config, Path(workdir, config["pathvars"]["results"]))
            status = replace(status, note=status.note or changes)
        statuses.append(status)
    return Overview(now, tuple(statuses))


def _about_changes(run: PlannedRun, config: Mapping, results: Path) -> str:
    """Says that a run had other settings than are planned; nothing if it had the same, or none are known."""
    path = config_of_run(results / "runs" / run.name)
    try:
        facts = path.stat()
        recorded = _read_settings(path, facts.st_mtime_ns, facts.st_size)
        found = changed_settings(config, recorded, **vars(run))
    except (NeurozooError, OSError):
        return ""
    budget = ALGORITHMS[run.algo].budget_unit
    changes = [change for change in found if not (change.name == budget and change.is_growth)]  # then, the run goes on
    return f"its settings have changed since: {in_words(changes)}" if changes else ""


@functools.lru_cache(maxsize=10_000)
def _read_settings(path: Path, _changed: int, _size: int) -> dict:
    """Reads a run's settings, whose time and size say whether they have to be read again."""
    return read_run_settings(path)


def _update(config: dict, later: Mapping) -> None:
    """Merges as Snakemake does: mappings are merged, everything else is replaced."""
    for key, value in later.items():
        if isinstance(value, Mapping):
            own = config.setdefault(key, {})
            if isinstance(own, dict):
                _update(own, value)
                continue
        config[key] = value
