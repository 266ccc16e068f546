"""Training by steps: a learner plays by itself."""

import time
from types import TracebackType

from neurozoo.algorithms.base import Learner
from neurozoo.training.clock import Clock
from neurozoo.training.interruption import Interrupted
from neurozoo.training.watched import POLL, Watched

REPLAY = "replay"  # folder in a run's state


class LearningSession:
    """Lets a learner play, and saves its state on the way; a context manager.

    Args:
        learner: Who plays.
        watched: What it is watched by.
        game: Game id.
    """

    def __init__(self, learner: Learner, watched: Watched, *, game: str) -> None:
        self._learner = learner
        self._watched = watched
        self._game = game
        self._next = 0.0
        self._frames = self._steps = 0
        self._begin = time.monotonic()
        self._all_steps = 0

    def __enter__(self) -> "LearningSession":
        state = self._watched.state
        for sentence in self._learner.open(self._game, folder=state.folder / REPLAY, remedy=state.remedy):
            self._watched.reporter.say(sentence)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._learner.close()

    def advance(self, clock: Clock) -> tuple[dict | None, float, float]:
        """Learns until the state should be saved, or plays the test of an epoch.

        Returns:
            The report at the end of an epoch, else None; seconds of tests, and seconds of play.

        Raises:
            Interrupted: A signal came; the state is saved.
        """
        begin = time.monotonic()
        try:
            report = self._learner.learn(self._watch)
        except Interrupted:
            seconds = time.monotonic() - begin
            clock.add(seconds, uncounted=0.0, playing=seconds)
            self.save(clock)
            raise
        self._tell()
        seconds = time.monotonic() - begin
        return report, 0.0 if report is None else seconds, seconds

    def save(self, clock: Clock) -> None:
        """Writes the state between two reports."""
        self._watched.heartbeat.check_owner()
        self._watched.state.save(self._learner.get_state(), clock.to_state(), self._learner.get_arrays())

    def _watch(self, frames: int, steps: int) -> None:
        self._frames += frames
        self._steps += steps
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + POLL
            self._tell()
            self._watched.interruption.check()

    def _tell(self) -> None:
        frames, steps = self._frames, self._steps
        self._frames = self._steps = 0
        self._all_steps += steps
        phase, done, total = self._learner.progress
        self._watched.heartbeat.beat(frames=frames, has_news=steps > 0, phase=phase, done=done, total=total)
        self._watched.reporter.progress(
            frames=frames,
            steps=self._all_steps,
            seconds=time.monotonic() - self._begin,
            done=done,
            total=total,
            unit=f"steps of {phase}",
        )
