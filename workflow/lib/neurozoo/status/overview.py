"""All runs of a configuration at one moment."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from neurozoo.configuration import check_config, planned_runs, run_settings
from neurozoo.errors import NeurozooError
from neurozoo.status.evidence import gather, last_lines
from neurozoo.status.judgement import STATES, RunStatus, State, status_of
from neurozoo.status.workflow_files import WorkflowFiles

SCHEMA = Path(__file__).parents[3] / "schemas" / "config.schema.yaml"
TAIL = 10  # lines of a failed run's log


@dataclass(frozen=True)
class Overview:
    """All runs at one moment.

    Attributes:
        time: Seconds since 1970.
        runs: In the order of the configuration.
    """

    time: float
    runs: tuple[RunStatus, ...]

    def count(self, state: State) -> int:
        """Returns how many runs are in a state."""
        return sum(run.state == state for run in self.runs)

    @property
    def frames_per_second(self) -> float:
        """Speed of all running runs together."""
        return sum(run.frames_per_second or 0.0 for run in self.runs if run.state == "running")

    @property
    def remaining(self) -> float | None:
        """Seconds until the last of the running runs ends; None if none runs."""
        return max((run.remaining for run in self.runs if run.remaining is not None), default=None)

    def to_json(self) -> dict:
        """Returns everything as plain JSON, with the last lines of the logs of failed runs."""
        return {
            "time": self.time,
            "states": {state: self.count(state) for state in STATES},
            "frames_per_second": self.frames_per_second,
            "remaining": self.remaining,
            "runs": [_run_to_json(run) for run in self.runs],
        }


def _run_to_json(status: RunStatus) -> dict:
    facts = asdict(status)
    facts = {**facts.pop("run"), **facts, "log": status.log and str(status.log)}
    return facts | {"log_tail": last_lines(status.log, TAIL) if status.log else []}


def read_overview(config_files: Sequence[str | os.PathLike], *, workdir: str | os.PathLike = ".") -> Overview:
    """Looks at the files of all runs; no scheduler is asked, so that it works on any machine that sees them.

    Args:
        config_files: What `snakemake --configfile` is given; a later file replaces values of an earlier one.
        workdir: Where Snakemake was started; relative paths of the configuration start there.

    Raises:
        NeurozooError: A configuration is missing or wrong.
    """
    config: dict = {}
    for path in config_files:
        _update(config, _read_yaml(Path(workdir, path)))
    names = ", ".join(map(str, config_files))
    config = check_config(config, yaml.safe_load(SCHEMA.read_text(encoding="utf-8")), source=names)
    workflow = WorkflowFiles(Path(workdir), rule="train")
    now = time.time()
    statuses = []
    for run in planned_runs(config):
        evidence = gather(run, results=config["pathvars"]["results"], workdir=Path(workdir), workflow=workflow)
        budget = run_settings(config, **vars(run))["frames"]
        statuses.append(status_of(run, evidence, budget=budget, now=now))
    return Overview(now, tuple(statuses))


def _read_yaml(path: Path) -> Mapping:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NeurozooError(
            f"The configuration {path} cannot be read ({error.strerror}). Name it with --configfile, and the folder in "
            "which Snakemake was started with --directory."
        ) from error
    except yaml.YAMLError as error:
        raise NeurozooError(f"The configuration {path} is not YAML: {error}") from error
    if not isinstance(content, Mapping):
        raise NeurozooError(f"The configuration {path} should be a mapping of keys to values, but is {content!r}.")
    return content


def _update(config: dict, later: Mapping) -> None:
    """Merges as Snakemake does: mappings into each other, everything else replaced."""
    for key, value in later.items():
        if isinstance(value, Mapping):
            own = config.setdefault(key, {})
            if isinstance(own, dict):
                _update(own, value)
                continue
        config[key] = value
