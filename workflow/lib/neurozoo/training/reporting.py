"""What a run tells people: a text log in the published layout, and as much of it as they want on the terminal."""

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal

from tqdm import tqdm

from neurozoo.files import explained, written_whole
from neurozoo.genomes import Genome
from neurozoo.tabular import format_table, stamped

Terminal = Literal["bar", "lines", "log"]

ELITE_SEEDS = "TruncatedPopulationEliteSeeds"
PROGRESS_PERIOD = 5.0  # seconds between lines about progress


class RunReporter:
    """Writes a run's text log, twice: in `state/`, where it survives, and where the user looks for it.

    Args:
        kept: The log in the state's folder, which is continued.
        shown: The log in the run's folder, which Snakemake deletes when a job starts.
        budget: Frames of the run.
        frames: Frames so far.
        title: What the progress bar is called.
        fields: What the log prints of a report, in order.
        terminal: What standard error gets: a progress `bar`, `lines` (one per generation), or the whole `log`. Where
            it is no terminal, a bar becomes lines.
    """

    def __init__(
        self,
        *,
        kept: Path,
        shown: Path,
        budget: int,
        frames: int,
        title: str,
        fields: tuple[str, ...],
        terminal: Terminal,
    ) -> None:
        if kept.exists():
            publish(kept, shown)
        else:
            shown.unlink(missing_ok=True)
        self._files = [open(path, "a", encoding="utf-8") for path in (kept, shown)]  # noqa: SIM115
        self._title = title
        self._fields = fields
        self._echoes_log = terminal == "log"
        shows_bar = terminal == "bar" and sys.stderr.isatty()
        self._echoes_lines = terminal != "log" and not shows_bar
        self._bar = tqdm(
            total=budget,
            initial=min(frames, budget),
            desc=title,
            unit="frame",
            unit_scale=True,
            disable=not shows_bar,
            dynamic_ncols=True,
        )
        self._next_progress = time.monotonic() + PROGRESS_PERIOD

    def say(self, message: str) -> None:
        """Writes one message with the date before it."""
        self._write(stamped(message, now=datetime.now()))

    def report(self, record: Mapping) -> None:
        """Writes the published table of a generation, and its genome if it has one."""
        self._write(format_table({name: self._printed(record, name) for name in self._fields}, now=datetime.now()))
        if ELITE_SEEDS in record:
            self.say(f"Current elite: {record_genome(record)}")
        score = "none yet" if record["score"] is None else f"{record['score']:.4g}"
        summary = f"generation {record['Iteration']}, score {score}"
        self._bar.set_postfix_str(summary)
        if self._echoes_lines:
            share = min(record["frames"] / self._bar.total, 1.0)
            print(f"{self._title}: {share:4.0%}, {summary}", file=sys.stderr, flush=True)

    @staticmethod
    def _printed(record: Mapping, name: str) -> object:
        return record_genome(record) if name == ELITE_SEEDS else record[name]

    def progress(
        self, *, frames: int, steps: int, seconds: float, done: int, total: int, unit: str = "episodes"
    ) -> None:
        """Moves the bar, or writes a line every few seconds.

        Args:
            frames: Emulator frames since the last call.
            steps: Steps of this batch so far.
            seconds: Wall time of this batch so far.
            done: Finished episodes of this batch.
            total: Episodes of this batch.
            unit: What is finished, where it is not episodes.
        """
        self._bar.update(min(frames, self._bar.total - self._bar.n))
        if time.monotonic() >= self._next_progress:
            self._next_progress = time.monotonic() + PROGRESS_PERIOD
            rate = steps / max(seconds, 1e-9)
            self.say(f"Num timesteps: {steps} per second: {rate:.0f} num {unit} finished: {done}/{total}")

    def _write(self, text: str) -> None:
        for file in self._files:
            try:
                file.write(text)
                file.flush()
            except OSError as error:
                raise explained(error, file.name) from error
        if self._echoes_log:
            print(text, end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Closes bar and files."""
        self._bar.close()
        for file in self._files:
            with contextlib.suppress(OSError):
                file.close()


def record_genome(record: Mapping) -> str:
    """Returns a record's elite as the original prints it, such as `(1, (2, 0.002))`."""
    return Genome.from_json(record[ELITE_SEEDS]).to_text()


def publish(kept: str | os.PathLike, shown: Path) -> None:
    """Copies a file that was collected in `state/` to where others look for it, whole or not at all."""
    with written_whole(shown) as temporary:
        shutil.copyfile(kept, temporary)
