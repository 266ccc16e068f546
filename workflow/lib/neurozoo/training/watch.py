"""Receives the progress, times and finished episodes of a session, and passes them on."""

import time
from collections.abc import Mapping
from dataclasses import replace

from neurozoo.compute.interruption import Interruption
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult
from neurozoo.training.backup import Backup, TakenOver
from neurozoo.training.clock import Clock
from neurozoo.training.heartbeat import Heartbeat
from neurozoo.training.reporting import RunReporter
from neurozoo.training.state import RunState

PERIOD = 0.2  # seconds between two updates of heartbeat and progress bar, and between two checks for signals
TIME_PERIOD = 2.0  # seconds between two entries of the time in the journal, at least


class TrainingWatch:
    """Passes a session's progress to heartbeat and log, a few times a second. See `algorithms.session.Watch`."""

    def __init__(
        self,
        state: RunState,
        reporter: RunReporter,
        heartbeat: Heartbeat,
        interruption: Interruption,
        backup: Backup | None,
        clock: Clock,
    ) -> None:
        self.state, self.reporter, self.heartbeat, self.backup, self.clock = state, reporter, heartbeat, backup, clock
        self._interruption = interruption
        self._amount = 0
        self._has_news = False
        self._phase: tuple[str, int, int, str] | None = None
        self._stepped_phase: str | None = None
        self._phase_steps = 0
        self._phase_begin = time.monotonic()
        self._next = 0.0
        self._untimed = self._playing = 0.0
        self._begun = (time.monotonic(), time.process_time())
        self._told = self._begun[0]  # when `spent` was called last
        self._next_time = 0.0

    def advanced(
        self,
        amount: int,
        *,
        steps: int,
        phase: str,
        done: int,
        total: int,
        unit: str = "episodes",
        is_news: bool = True,
    ) -> None:
        """Adds up progress, and passes it on from time to time.

        Raises:
            Interrupted: A signal came.
            NeurozooError: Another training has taken the run over.
        """
        if steps and phase != self._stepped_phase:  # a phase without steps shows the rate of the one before
            self._stepped_phase, self._phase_steps, self._phase_begin = phase, 0, time.monotonic()
        self._phase = (phase, done, total, unit)
        self._amount += amount
        self._phase_steps += steps
        self._has_news |= is_news
        if time.monotonic() >= self._next or (is_news and done == total):
            self._next = time.monotonic() + PERIOD
            self.flush()
            if self.backup and self.backup.is_due:
                self.back_up()
            self._interruption.check()

    def flush(self) -> None:
        """Passes on the progress since the last call."""
        if self._phase is None:
            return
        phase, done, total, unit = self._phase
        amount, self._amount = self._amount, 0
        has_news, self._has_news = self._has_news, False
        self.heartbeat.beat(progress=amount, has_news=has_news, phase=phase, done=done, total=total)
        seconds = time.monotonic() - self._phase_begin
        self.reporter.progress(amount, steps=self._phase_steps, seconds=seconds, done=done, total=total, unit=unit)

    def back_up(self) -> None:
        """Makes a backup. Storage that does not answer ends no training: the log says so, and the next one tries again.

        Raises:
            TakenOver: Another training continues the run.
        """
        try:
            if self.backup:
                self.backup.keep()
        except TakenOver:
            raise
        except NeurozooError as error:
            self.reporter.say(f"No backup was made, the training goes on. {error}")

    def spent(self, *, untimed: float = 0.0, playing: float = 0.0) -> None:
        """Adds up seconds of tests and of playing."""
        self._untimed += untimed
        self._playing += playing
        self._told = time.monotonic()

    def begin(self) -> None:
        """Begins to count time."""
        self._begun = (time.monotonic(), time.process_time())
        self._told = self._begun[0]

    def count(self) -> None:
        """Adds the time since `begin` to the clock, on the wall and of the processor. Call it once after each."""
        seconds, processor = self._since_begin()
        self.clock.add(seconds, untimed=self._untimed, playing=self._playing, processor=processor)
        self._untimed = self._playing = 0.0

    def _since_begin(self) -> tuple[float, float]:
        return time.monotonic() - self._begun[0], time.process_time() - self._begun[1]

    def finished_episodes(self, generation: int, phase: str) -> dict[int, EpisodeResult]:
        """Returns the results that were journalled before an interruption."""
        return self.state.finished_episodes(generation, phase)

    def journal(
        self, generation: int, phase: str, results: Mapping[int, EpisodeResult], *, is_counted: bool = True
    ) -> None:
        """Writes results to the journal, so that a kill loses only the episodes in flight; and the time every 2 s."""
        self.state.journal(generation, phase, results)
        if time.monotonic() >= self._next_time:
            self._next_time = time.monotonic() + TIME_PERIOD
            clock = replace(self.clock, now=replace(self.clock.now))
            playing = time.monotonic() - self._told
            untimed = self._untimed + (0.0 if is_counted else playing)
            seconds, processor = self._since_begin()
            clock.add(seconds, untimed=untimed, playing=self._playing + playing, processor=processor)
            self.state.keep_elapsed(clock.to_state())
