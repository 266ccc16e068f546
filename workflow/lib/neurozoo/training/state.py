"""Saves what a run needs to continue after any interruption.

`state/` holds these files:

- `state.json` is written when a run begins and after every generation or epoch (deep Q-learning: more often).
- `journal.jsonl` gets a line for each finished episode, so that a kill loses only the episodes in flight; and
  from time to time one with the seconds so far.
- `log.jsonl` collects the reports. The state records its length; whatever was appended later is cut off again. Of a
  field that grows with every report, it holds only the new part.
- `arrays/` holds what is too large for JSON, one file per name. A name stands for one content, so files are added
  before the state names them and removed only after it no longer does. A file that the state does not name is what a
  kill left behind: it is removed before the run continues, which may give its name to another content.

A run that starts anew deletes nothing: the state before moves to `superseded/1` (or 2, 3, ...) with the folders in
`KEPT`, and the results of the run, with all that was made of them, to `superseded/1/result`. What Snakemake has deleted
before the training started comes from `.result/`, see `records.kept_result`.
"""

import base64
import io
import json
import math
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

import numpy as np

from neurozoo.agents.tags import SNAPSHOTS, TAGS
from neurozoo.errors import NeurozooError, explained
from neurozoo.evaluation import EpisodeResult
from neurozoo.files import PLAIN_NAME, open_file, open_to_append, parse_json, read_json, write_json, written_whole
from neurozoo.files.npz import DAMAGE
from neurozoo.folders import delete, find, move, open_descriptor
from neurozoo.records.format import FORMAT, KEY, check_format
from neurozoo.records.genome_changes import as_changes
from neurozoo.records.kept_result import drop_kept_result, kept_files
from neurozoo.records.population_files import FOLDER as POPULATION
from neurozoo.records.run_config import ARCHITECTURE
from neurozoo.records.run_log import read_last_complete, read_last_record
from neurozoo.records.run_result import OF_TRAINING
from neurozoo.training.clock import Clock

SUPERSEDED = "superseded"
KEPT = (SNAPSHOTS, TAGS, POPULATION)  # folders in which a training keeps what it passed
# What was made of a result, and would be taken for that of a new run.
_MADE_OF_IT = (
    "metrics.csv", "evaluation.json", "test.json", "corrected.json", "robustness.csv", "robustness.json", "frozen",
    "rollout.npz", "rollout.parquet", "rollouts", "generations", "filters", "causal.*", "probes.*", "sparse_*", "*.mp4",
    "*.webp", "*.poster.png", "lineage.*", "phases.csv", "phases.png", "episodes.csv", "heatmap.png", "archive.html",
    "population.html", "play.html", "what_if", "tensorboard",
)  # fmt: skip


class RunState:
    """The folder `state/` of one run. Only one process may use it at a time.

    Args:
        run_dir: Folder of the run.
        identity: A state is continued only if its identity is the same; plain JSON.
        budget: Total budget of the run. It may grow. If it shrinks to less than what is spent, the run starts anew.
    """

    def __init__(self, run_dir: str | os.PathLike, *, identity: Mapping, budget: int) -> None:
        self.folder = Path(run_dir) / "state"
        self.log = self.folder / "log.jsonl"
        self.text_log = self.folder / "train.log"
        self._journal_path = self.folder / "journal.jsonl"
        self._state_path = self.folder / "state.json"
        self._array_folder = self.folder / "arrays"
        self._identity = as_saved(identity)
        self._budget = budget
        self.superseded: Path | None = None
        self.why_superseded = ""
        self.saved: dict | None = None
        is_new = not self._state_path.exists()
        if not is_new:
            found = self._read()
            algorithm = found["algorithm"]
            went_further = algorithm is not None and budget < found["budget"] and found["progress"] >= budget
            if different := _differences(found["identity"], self._identity):
                what = "network has" if ARCHITECTURE in different else "settings have"
                self.why_superseded = f"The {what} changed"
            elif went_further:
                spent = f"the run has spent {found['progress']:,}, so it starts anew"
                self.why_superseded = f"The budget is now {budget:,}, but {spent}"
            if self.why_superseded:
                self._move_state_aside()
                is_new = True
            elif algorithm is not None:
                self.saved = found
        self._cut_log()
        self._last_report: Mapping | None = None  # complete; read before the first new one is written
        self._remove_arrays()
        if is_new:  # before the first episode, so that its result is never used with other settings
            self._move_files_aside()  # they belong to the run before
            self.save(None, Clock().to_state())

    def _read(self) -> dict:
        found = read_json(self._state_path, self.remedy)
        check_format(found, self._state_path, self.remedy)
        if missing := {"identity", "budget", "progress", "algorithm", "elapsed", "log_bytes", "arrays"} - set(found):
            raise NeurozooError(f"{self._state_path} lacks {', '.join(sorted(missing))}. {self.remedy}")
        algorithm, elapsed, length = found["algorithm"], found["elapsed"], found["log_bytes"]
        is_sound = (
            (isinstance(found["budget"], int) and isinstance(found["progress"], int))
            and (isinstance(length, int) and length >= 0)
            and Clock.is_state(elapsed)
            and _are_names(found["arrays"])
            and isinstance(algorithm, dict | NoneType)
            and isinstance(found["identity"], dict)
        )
        if not is_sound:
            raise NeurozooError(f"{self._state_path} is damaged: it holds values of the wrong kind. {self.remedy}")
        if (size := self._log_size()) < length:
            raise NeurozooError(
                f"{self.log} should have at least {length:,} bytes, but has {size:,}: reports are lost. "
                f"Restore the file if you can. If not: {self.remedy}"
            )
        return found

    @property
    def elapsed(self) -> dict | None:
        """The seconds so far, as `Clock.to_state` returned them; None for a run that has none.

        A kill between state and journal leaves a journal that is older than the state.
        """
        saved = self.saved["elapsed"] if self.saved else None
        kept = [found for found in self._journalled() if Clock.is_state(found)]
        if saved is not None and kept and kept[-1]["total"] < saved["total"]:
            return saved
        return kept[-1] if kept else saved

    def keep_elapsed(self, elapsed: Mapping) -> None:
        """Writes the seconds so far to the journal: a generation whose episodes it holds has taken time, too."""
        self._append_to_journal([dict(elapsed)])

    def last_report(self) -> dict | None:
        """Returns the last report of the saved state; None before the first one."""
        return read_last_record(self.log)

    @property
    def remedy(self) -> str:
        """What the user can do about a damaged state."""
        return f"Delete {self.folder} to train this run from the start."

    # Days of training are never deleted because a setting has changed: old files move to `superseded/`.

    def _move_state_aside(self) -> None:
        self.superseded = next_superseded(self.folder.parent)
        move(self.folder, self.superseded)

    def _move_files_aside(self) -> None:
        """Moves the files of the run before; if no training has left any, others stay, because they are the user's."""
        run_dir, folder = self.folder.parent, self.superseded or next_superseded(self.folder.parent)
        of_run = any((run_dir / name).exists() for name in (*OF_TRAINING, *KEPT)) or kept_files(run_dir)
        if self.superseded is None and not of_run:
            return
        result = folder / "result"
        # Last what a training leaves, so that after a kill the next start finds the rest.
        for place, patterns in ((result, _MADE_OF_IT), (folder, KEPT), (result, OF_TRAINING)):
            for path in find(run_dir, *patterns):
                move(path, place / path.name)
        for path in kept_files(run_dir):
            if not (result / path.name).exists():
                move(path, result / path.name)
        drop_kept_result(run_dir)
        self.superseded = folder
        self.why_superseded = self.why_superseded or "There is no state to continue from"

    def _log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def _cut_log(self) -> None:
        length = self.saved["log_bytes"] if self.saved else 0
        if self._log_size() > length:
            with open(self.log, "rb+", opener=open_descriptor) as file:
                file.truncate(length)

    def _remove_arrays(self) -> None:
        """Deletes arrays that the journal names and the state does not need; what else lies beside them is not ours."""
        records = [line["arrays"] for line in self._journalled() if isinstance(line, dict) and "arrays" in line]
        named = {name for record in records for name in record} if all(map(_are_names, records)) else set()
        for name in sorted(named - set(self.saved["arrays"] if self.saved else ())):
            delete(self._array_path(name))

    def _array_path(self, name: str) -> Path:
        return self._array_folder / f"{name}.npy"

    def finished_episodes(self, generation: int, phase: str) -> dict[int, EpisodeResult]:
        """Returns the journalled results of one phase by their numbers; a line that a kill cut off does not count."""
        results = {}
        for line in self._journalled():
            try:
                at, in_phase, number, score, sign_score, steps, frames, *packed = line
                are_numbers = all(isinstance(each, int | float) for each in (number, score, sign_score, steps, frames))
                if (at, in_phase) == (generation, phase) and are_numbers:
                    behaviour = _unpacked(*packed) if packed else None
                    results[number] = EpisodeResult(score, steps, frames, sign_score=sign_score, behaviour=behaviour)
            except (ValueError, TypeError, OverflowError, MemoryError, zlib.error):
                continue
        return results

    def journal(self, generation: int, phase: str, results: Mapping[int, EpisodeResult]) -> None:
        """Writes finished episodes to the journal; from then on they survive a kill of the process."""
        self._append_to_journal(
            [generation, phase, n, r.score, r.sign_score, r.steps, r.frames, *_packed(r.behaviour)]
            for n, r in results.items()
        )

    def _journalled(self) -> Iterator[Any]:
        """Reads the journal; a line that a kill cut off is left out."""
        if not self._journal_path.exists():
            return
        with open_file(self._journal_path) as file:
            lines = file.read().splitlines()
        for line in lines:
            try:
                yield parse_json(line)
            except ValueError:
                continue

    def _append_to_journal(self, records: Iterable[Any]) -> None:
        lines = [json.dumps(record) + "\n" for record in records]
        try:
            # Opened anew each time: what a full disk refuses must not stay in a buffer and be refused again.
            with open(self._journal_path, "ab+", opener=open_descriptor) as file:
                if _ends_within_a_line(file):  # a line that a kill cut off must not swallow the next one
                    lines.insert(0, "\n")
                file.write("".join(lines).encode())
        except OSError as error:
            raise explained(error, self._journal_path) from error

    def report(self, record: Mapping) -> None:
        """Appends a report to the log, which holds what is new in it; it counts only once `save` has been called."""
        if self._last_report is None:
            self._last_report = read_last_complete(self.log)
        try:
            with open_to_append(self.log) as file:
                head = {KEY: FORMAT} if self._last_report is None else {}
                file.write(json.dumps(head | as_changes(record, self._last_report), allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise explained(error, self.log) from error
        self._last_report = record

    def arrays(self) -> dict[str, np.ndarray]:
        """Reads the arrays of the saved state; none for a new run."""
        found = {}
        for name in self.saved["arrays"] if self.saved else ():
            path = self._array_path(name)
            try:
                with open_file(path) as file:
                    found[name] = np.load(file, allow_pickle=False)
            except (OSError, *DAMAGE) as error:
                raise NeurozooError(f"{path} is missing or damaged ({error}). {self.remedy}") from error
        return found

    def save(
        self, algorithm: Mapping | None, elapsed: Mapping, arrays: Mapping[str, np.ndarray] = {}, *, progress: int = 0
    ) -> None:
        """Writes the state and empties the journal. If the disk is full, the previous state is unchanged.

        `algorithm` is the session's state, None for a run that has just begun; `elapsed` are the seconds so far, as
        returned by `Clock.to_state`; `progress` is how much of the budget is spent.
        """
        state: dict[str, Any] = {
            KEY: FORMAT,
            "identity": self._identity,
            "budget": self._budget,
            "progress": progress,
            "elapsed": dict(elapsed),
            "log_bytes": self._log_size(),
            "algorithm": algorithm and dict(algorithm),
            "arrays": sorted(arrays),
        }
        before, now = set(self.saved["arrays"] if self.saved else ()), set(state["arrays"])
        if before != now:  # so that none is forgotten after a kill
            self._append_to_journal([{"arrays": sorted(before | now)}])
        for name, array in arrays.items():
            path = self._array_path(name)
            if not path.exists():
                # Through a buffer, because NumPy's own error for a full disk does not name the reason.
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                with written_whole(path) as temporary, open(temporary, "wb") as file:
                    file.write(buffer.getbuffer())
        write_json(self._state_path, state)
        if algorithm is not None:
            self.saved = state
            for name in sorted(before - now):
                delete(self._array_path(name))
        delete(self._journal_path)


def next_superseded(run_dir: Path) -> Path:
    """Returns the folder for what is superseded next: the first of `superseded/1`, 2 and so on that is not there."""
    number = 1
    while (found := run_dir / SUPERSEDED / str(number)).exists():
        number += 1
    return found


def as_saved(identity: Mapping) -> dict[str, Any]:
    """Returns an identity as it is read from a state."""
    return json.loads(json.dumps(dict(identity)))


def _differences(before: Mapping[str, object], now: Mapping[str, object]) -> set[str]:
    """Returns the names of the values in which two identities differ."""
    return {name for name in {*before, *now} if name not in before or name not in now or before[name] != now[name]}


def read_state_identity(run_dir: str | os.PathLike) -> dict[str, Any] | None:
    """Returns the identity in a run's state; None if there is no state, or a damaged one."""
    try:
        found = read_json(Path(run_dir, "state", "state.json"), "")
    except NeurozooError:
        return None
    identity = found.get("identity")
    return identity if isinstance(identity, dict) else None


def read_spent(run_dir: str | os.PathLike) -> int:
    """Returns how much of its budget the saved state of a run has spent; there has to be one."""
    path = Path(run_dir, "state", "state.json")
    remedy = f"Delete {path.parent} to train this run from the start."
    found = read_json(path, remedy)
    check_format(found, path, remedy)
    try:
        return int(found["progress"])
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise NeurozooError(f"{path} is damaged: it does not say how much is spent. {remedy}") from error


def _are_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(n, str) and re.fullmatch(PLAIN_NAME, n) for n in names)


def _ends_within_a_line(file: BinaryIO) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _packed(behaviour: np.ndarray | None) -> list:
    """Returns a behaviour as JSON, compressed: RAM hardly changes from step to step."""
    if behaviour is None:
        return []
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(behaviour).data, 1)).decode()
    return [behaviour.dtype.str, list(behaviour.shape), data]


def _unpacked(dtype: str, shape: list[int], data: str) -> np.ndarray:
    size = np.dtype(dtype).itemsize * math.prod(shape)
    numbers = zlib.decompressobj().decompress(base64.b64decode(data), max(size, 1))  # no more than it says
    return np.frombuffer(numbers, np.dtype(dtype)).reshape(shape)
