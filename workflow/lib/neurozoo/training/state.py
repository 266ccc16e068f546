"""What a run needs to continue after any interruption.

`state/` holds three files. `state.json` is written whole after every generation. `journal.jsonl` gets a line for each
episode as it finishes, so that a kill loses only the episodes in flight. `log.jsonl` collects the reports; the state
knows its length, and what was appended after the state was written is cut off again.
"""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.files import explained, read_json, write_json

SUPERSEDED = "superseded"


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
        self._identity = dict(identity)
        self.superseded_by_settings: Path | None = None
        self.saved: dict | None = None
        if self._state_path.exists():
            self.saved = read_json(self._state_path, f"Delete {self.folder} to train this run from the start.")
            if missing := {"identity", "budget", "algorithm", "elapsed", "log_bytes"} - set(self.saved):
                raise NeurozooError(
                    f"{self._state_path} lacks {', '.join(sorted(missing))}. "
                    f"Delete {self.folder} to train this run from the start."
                )
            went_further = budget < self.saved["budget"] and self.saved["algorithm"]["frames"] >= budget
            if self.saved["identity"] != self._identity or went_further:
                self._set_aside()
        self._budget = budget
        self.folder.mkdir(parents=True, exist_ok=True)
        self._cut_log()
        self._journal = open(self._journal_path, "a+", encoding="utf-8")  # noqa: SIM115

    def _set_aside(self) -> None:
        # A result of days is never deleted because a setting changed: it moves out of the way.
        shelf = self.folder.parent / SUPERSEDED
        shelf.mkdir(exist_ok=True)
        number = 1 + sum(1 for _ in shelf.iterdir())
        self.superseded_by_settings = shelf / str(number)
        shutil.move(self.folder, self.superseded_by_settings)
        self.saved = None

    def _cut_log(self) -> None:
        length = self.saved["log_bytes"] if self.saved else 0
        size = self.log.stat().st_size if self.log.exists() else 0
        if size < length:
            raise NeurozooError(
                f"{self.log} should have at least {length:,} bytes, but has {size:,}: reports are lost. "
                f"Bring it back, or delete {self.folder} to train this run from the start."
            )
        if size > length:
            os.truncate(self.log, length)

    def finished_episodes(self, generation: int, phase: str) -> dict[int, EpisodeResult]:
        """Returns the journalled results of one batch; a line that a kill cut off does not count."""
        results = {}
        self._journal.seek(0)
        for line in self._journal:
            try:
                at, in_phase, number, score, steps, frames = json.loads(line)
            except ValueError:
                continue
            if (at, in_phase) == (generation, phase):
                results[number] = EpisodeResult(score, steps, frames)
        return results

    def journal(self, generation: int, phase: str, results: Mapping[int, EpisodeResult]) -> None:
        """Notes finished episodes; they survive a kill of the process from here on.

        Raises:
            NeurozooError: The disk is full.
        """
        lines = [
            json.dumps([generation, phase, number, result.score, result.steps, result.frames]) + "\n"
            for number, result in results.items()
        ]
        try:
            # A line that a kill cut off must not swallow the next one.
            self._journal.write("".join(["\n", *lines]) if self._journal_is_ragged() else "".join(lines))
            self._journal.flush()
        except OSError as error:
            raise explained(error, self._journal_path) from error

    def _journal_is_ragged(self) -> bool:
        size = self._journal_path.stat().st_size
        if size == 0:
            return False
        with open(self._journal_path, "rb") as file:
            file.seek(size - 1)
            return file.read(1) != b"\n"

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

    def save(self, algorithm: Mapping, elapsed: Mapping) -> None:
        """Writes the state after a generation and empties the journal.

        Args:
            algorithm: The algorithm's own state.
            elapsed: Seconds so far, by kind.

        Raises:
            NeurozooError: The disk is full; the state before is untouched.
        """
        state = {
            "identity": self._identity,
            "budget": self._budget,
            "elapsed": dict(elapsed),
            "log_bytes": self.log.stat().st_size,
            "algorithm": dict(algorithm),
        }
        write_json(self._state_path, state)
        self.saved = state
        self._journal.truncate(0)

    def close(self) -> None:
        """Closes the journal."""
        self._journal.close()
