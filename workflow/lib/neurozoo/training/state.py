"""What a run needs to continue after any interruption.

`state/` holds these files. `state.json` is written whole when a run begins and after every generation. `journal.jsonl`
gets a line for each episode as it finishes, so that a kill loses only the episodes in flight. `log.jsonl` collects the
reports; the state knows its length, and what was appended after the state was written is cut off again. `arrays/`
holds what is too large for JSON, one file for each name; a name stands for one content, so that files are only added
before the state names them and only removed after it no longer does.
"""

import base64
import io
import json
import os
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.files import explained, read_json, write_json, written_whole
from neurozoo.tags import TAGS

SUPERSEDED = "superseded"
SNAPSHOTS = "snapshots"


class RunState:
    """The folder `state/` of one run. Only one process may use it at a time.

    Args:
        run_dir: Folder of the run.
        identity: What the state must have been made with to be continued, as plain JSON.
        budget: Frames that the run shall have; a state may be continued to a larger budget, not to a smaller one.

    Raises:
        NeurozooError: The state is damaged.
    """

    def __init__(self, run_dir: str | os.PathLike, *, identity: Mapping, budget: int) -> None:
        self.folder = Path(run_dir) / "state"
        self.log = self.folder / "log.jsonl"
        self.text_log = self.folder / "train.log"
        self._journal_path = self.folder / "journal.jsonl"
        self._state_path = self.folder / "state.json"
        self._array_folder = self.folder / "arrays"
        self._identity = json.loads(json.dumps(dict(identity)))  # as it will be read again
        self._budget = budget
        self.superseded_by_settings: Path | None = None
        self.saved: dict | None = None
        is_new = not self._state_path.exists()
        if not is_new:
            found = self._read()
            algorithm = found["algorithm"]
            went_further = algorithm is not None and budget < found["budget"] and algorithm["frames"] >= budget
            if found["identity"] != self._identity or went_further:
                self._set_aside()
                is_new = True
            elif algorithm is not None:
                self.saved = found
        self._cut_log()
        if is_new:  # before the first episode, so that none is ever taken for one of other settings
            self._set_kept_aside()  # it is of a run that is no more
            self.save(None, {"counted": 0.0, "total": 0.0})

    def _read(self) -> dict:
        found = read_json(self._state_path, self.remedy)
        if missing := {"identity", "budget", "algorithm", "elapsed", "log_bytes", "arrays"} - set(found):
            raise NeurozooError(f"{self._state_path} lacks {', '.join(sorted(missing))}. {self.remedy}")
        algorithm, elapsed, length = found["algorithm"], found["elapsed"], found["log_bytes"]
        is_sound = (
            isinstance(found["budget"], int)
            and (isinstance(length, int) and length >= 0)
            and (isinstance(elapsed, dict) and {type(elapsed.get(kind)) for kind in ("counted", "total")} == {float})
            and (isinstance(found["arrays"], list) and all(isinstance(name, str) for name in found["arrays"]))
            and (algorithm is None or (isinstance(algorithm, dict) and isinstance(algorithm.get("frames"), int)))
        )
        if not is_sound:
            raise NeurozooError(f"{self._state_path} is damaged: it holds values of the wrong kind. {self.remedy}")
        if (size := self._log_size()) < length:
            raise NeurozooError(
                f"{self.log} should have at least {length:,} bytes, but has {size:,}: reports are lost. "
                f"Bring it back. Or else: {self.remedy}"
            )
        return found

    @property
    def remedy(self) -> str:
        """What to do about a damaged state."""
        return f"Delete {self.folder} to train this run from the start."

    # A result of days is never deleted because a setting changed: it moves out of the way.

    def _set_aside(self) -> None:
        self.superseded_by_settings = self._free_shelf()
        self.superseded_by_settings.parent.mkdir(exist_ok=True)
        shutil.move(self.folder, self.superseded_by_settings)

    def _set_kept_aside(self) -> None:
        kept = [name for name in (SNAPSHOTS, TAGS) if (self.folder.parent / name).exists()]
        if kept:
            shelf = self.superseded_by_settings or self._free_shelf()
            shelf.mkdir(parents=True, exist_ok=True)
            for name in kept:
                shutil.move(self.folder.parent / name, shelf / name)

    def _free_shelf(self) -> Path:
        shelves = self.folder.parent / SUPERSEDED
        number = 1
        while (shelves / str(number)).exists():
            number += 1
        return shelves / str(number)

    def _log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def _cut_log(self) -> None:
        length = self.saved["log_bytes"] if self.saved else 0
        if self._log_size() > length:
            os.truncate(self.log, length)

    def finished_episodes(self, generation: int, phase: str) -> dict[int, EpisodeResult]:
        """Returns the journalled results of one batch; a line that a kill cut off does not count."""
        if not self._journal_path.exists():
            return {}
        results = {}
        for line in self._journal_path.read_bytes().splitlines():
            try:
                at, in_phase, number, score, sign_score, steps, frames, *packed = json.loads(line)
                if (at, in_phase) == (generation, phase):
                    behaviour = _unpacked(*packed) if packed else None
                    results[number] = EpisodeResult(score, steps, frames, sign_score=sign_score, behaviour=behaviour)
            except (ValueError, TypeError, zlib.error):
                continue
        return results

    def journal(self, generation: int, phase: str, results: Mapping[int, EpisodeResult]) -> None:
        """Notes finished episodes; they survive a kill of the process from here on.

        Raises:
            NeurozooError: The disk is full.
        """
        lines = [
            json.dumps([generation, phase, n, r.score, r.sign_score, r.steps, r.frames, *_packed(r.behaviour)]) + "\n"
            for n, r in results.items()
        ]
        try:
            # Opened anew each time: what a full disk refuses must not wait in a buffer to be refused again.
            with open(self._journal_path, "ab+") as file:
                if _is_ragged(file):  # a line that a kill cut off must not swallow the next one
                    lines.insert(0, "\n")
                file.write("".join(lines).encode())
        except OSError as error:
            raise explained(error, self._journal_path) from error

    def report(self, record: Mapping) -> None:
        """Appends a report to the log; it counts once `save` has been called.

        Raises:
            NeurozooError: The disk is full.
        """
        try:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(json.dumps(record, allow_nan=False) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise explained(error, self.log) from error

    def arrays(self) -> dict[str, np.ndarray]:
        """Reads the arrays of the saved state.

        Raises:
            NeurozooError: One is missing or damaged.
        """
        found = {}
        for name in self.saved["arrays"]:
            path = self._array_folder / f"{name}.npy"
            try:
                found[name] = np.load(path, allow_pickle=False)
            except (OSError, ValueError, EOFError) as error:
                raise NeurozooError(f"{path} is missing or damaged ({error}). {self.remedy}") from error
        return found

    def save(self, algorithm: Mapping | None, elapsed: Mapping, arrays: Mapping[str, np.ndarray] | None = None) -> None:
        """Writes the state after a generation and empties the journal.

        Args:
            algorithm: The algorithm's own state; None before the first generation has been finished.
            elapsed: Seconds so far, by kind.
            arrays: What the algorithm's `get_arrays` returned.

        Raises:
            NeurozooError: The disk is full; the state before is untouched.
        """
        state = {
            "identity": self._identity,
            "budget": self._budget,
            "elapsed": dict(elapsed),
            "log_bytes": self._log_size(),
            "algorithm": algorithm and dict(algorithm),
            "arrays": sorted(arrays or ()),
        }
        for name, array in (arrays or {}).items():
            path = self._array_folder / f"{name}.npy"
            if not path.exists():
                # Not straight to the file, where NumPy's error for a full disk does not say that it is one.
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                with written_whole(path) as temporary, open(temporary, "wb") as file:
                    file.write(buffer.getbuffer())
        write_json(self._state_path, state)
        for path in self._array_folder.glob("*.npy"):
            if path.stem not in state["arrays"]:
                path.unlink()
        if algorithm is not None:
            self.saved = state
        self._journal_path.unlink(missing_ok=True)


def _is_ragged(file: BinaryIO) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _packed(behaviour: np.ndarray | None) -> list:
    """Writes a behaviour as JSON; RAM hardly changes from step to step, so that little is left of it."""
    if behaviour is None:
        return []
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(behaviour), 1)).decode()
    return [behaviour.dtype.str, list(behaviour.shape), data]


def _unpacked(dtype: str, shape: list[int], data: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(data)), np.dtype(dtype)).reshape(shape)
