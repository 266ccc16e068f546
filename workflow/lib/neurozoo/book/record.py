"""`record.json`: what is known of the results of a claim. Pages are written from it, without the results."""

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from neurozoo.errors import NeurozooError
from neurozoo.files import read_json, sha256_of
from neurozoo.plan.config_sections import Section
from neurozoo.validation import Number, Whole, explain, json_schema

RECORD, FIGURE, HOURS_FIGURE = "record.json", "figure.png", "figure_hours.png"
STATES = "runs"  # the folder of what continues runs, laid out as in the results
REMEDY = "Restore its folder: git checkout. After a merge, take one side whole, and the results of the other again."


class RecordedRun(Section):
    """One run, as it was when its results were taken."""

    algo: str
    game: str
    model: str
    run: Whole
    protocol: str  # name of the protocol; `facts` has what it says
    unit: str  # what its budget counts, `frames` or `evaluations`
    progress: Whole  # how much it had spent; `budget` is what it was trained for
    budget: Whole
    # the own score of what `test_score` is about, from `score_episodes` episodes: of its last report, or of its best
    # agent where that is the result.
    score: Number | None = None
    score_episodes: Whole | None = None
    target: Number | None = None  # the own score at which the run ends before its budget
    test_score: Number | None = None  # its last test score, from `test_episodes` episodes that selected nothing
    test_episodes: Whole | None = None
    seconds: Number | None = None  # wall time of training and tests
    facts: str  # digest of its settings and of how it was played, a key of `Record.facts`
    neurozoo: str | None = None  # version that trained it
    commit: str | None = None  # commit of that version
    machine: str | None = None  # digest of the machine, a key of `Record.machines`; None if it is not known
    fields_: dict[str, Any] = Field(default={}, alias="fields")  # other fields of its last report

    @property
    def name(self) -> str:
        """The run as in paths, such as `ga/pong/large/1`."""
        return f"{self.algo}/{self.game}/{self.model}/{self.run}"

    @property
    def has_reached_target(self) -> bool:
        """Whether it ended at its target."""
        return self.target is not None and self.score is not None and self.score >= self.target


class Record(Section):
    """The results of a claim."""

    claim: str
    configuration: str  # the configuration that planned the runs
    # All runs that were there, also unfinished ones, in the order of the configuration.
    runs: Annotated[list[RecordedRun], Field(min_length=1)]
    # Settings, protocol and rules of tests by their digest; see `records.comparability`.
    facts: dict[str, dict[str, str]]
    # For each game, the processor hours after which scores were compared at equal hours.
    hours: dict[str, Number] = Field(default={})
    # For each game, the frames after which scores were compared at equal frames.
    frames: dict[str, Whole] = Field(default={})
    machines: dict[str, dict[str, Any]] = Field(default={})  # the machines that trained, by their digest
    files: dict[str, str] = Field(default={})  # SHA-256 of the files beside the record, by name


def read_record(folder: str | os.PathLike) -> Record | None:
    """Reads the record in a claim's folder; None if there is none.

    Raises:
        NeurozooError: The record is damaged, or a file beside it is missing or not the one that it names.
    """
    folder = Path(folder)
    path = folder / RECORD
    if not path.exists():
        return None
    try:
        record = Record.model_validate(read_json(path, REMEDY))
    except ValidationError as error:
        problem = next(explain(error, json_schema(Record)))
        raise NeurozooError(f"{path} is damaged: {problem} {REMEDY}") from error
    machines = (None, *record.machines)
    for run in record.runs:
        if run.facts not in record.facts or run.machine not in machines:
            raise NeurozooError(f"{path} is damaged: it lacks the facts or the machine of {run.name}. {REMEDY}")
    for name, digest in record.files.items():
        if Path(name).name != name:
            raise NeurozooError(f"{path} is damaged: {name!r} should be the name of a file beside it. {REMEDY}")
        if not (folder / name).is_file():
            raise NeurozooError(f"{folder / name} is missing, but {RECORD} names it. {REMEDY}")
        if sha256_of(folder / name) != digest:
            raise NeurozooError(f"{folder / name} is not the file that {RECORD} describes: its hash differs. {REMEDY}")
    return record
