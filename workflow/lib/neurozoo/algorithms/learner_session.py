"""What the sessions of step-by-step learners share: a learner plays, learns, and stops often enough to be saved."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Protocol as Interface
from typing import Self

import numpy as np

from neurozoo.algorithms.results import NetworkResult
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.environments.game_networks import AnyLayout
from neurozoo.environments.protocols import Protocol
from neurozoo.native import CORE, usable_core
from neurozoo.native.build import ALE_VERSION


@dataclass(frozen=True)
class ReportedNetwork:
    """The network after an epoch.

    Attributes:
        weights: float32, shape (parameters,).
        score: Mean score of the epoch's test; None if there was none.
        iteration: Finished epochs.
        frames: Frames of training by then.
        episodes: Number of whole episodes of the test.
    """

    weights: np.ndarray
    score: float | None
    iteration: int
    frames: int
    episodes: int

    @property
    def array_name(self) -> str:
        """The name of its weights among the arrays of a state."""
        return f"reported-{self.iteration}"

    def to_json(self) -> list:
        """Returns everything but the weights as plain JSON."""
        return [self.score, self.iteration, self.frames, self.episodes]

    @classmethod
    def from_json(cls, value: Sequence, arrays: Mapping[str, np.ndarray]) -> Self:
        """Reads what `to_json` returned."""
        score, iteration, frames, episodes = value
        return cls(arrays[f"reported-{iteration}"], score, iteration, frames, episodes)


class Learner(Interface):
    """One run of an algorithm that learns from single steps, in epochs.

    Attributes:
        iteration: Finished epochs.
        reported: The network after the last finished epoch; None before the first.
    """

    iteration: int
    reported: ReportedNetwork | None

    @property
    def frames(self) -> int:
        """Frames of training so far."""

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between epochs."""

    @property
    def progress(self) -> tuple[str, int, int, str]:
        """The phase, how much of it is done, how much it has, and in what unit, such as `steps of train`."""

    def learn(self, watch: Callable[[int, int], None]) -> Report | None:
        """Learns until the state should be saved, or finishes an epoch and returns its report.

        Args:
            watch: Gets the frames and the steps since its last call; may raise to stop.
        """

    def get_state(self) -> dict:
        """Returns the state, except what `get_arrays` returns, as plain JSON."""

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state; a name is never used for another content."""

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""

    def close(self) -> None:
        """Ends the threads and closes the environments."""


class LearnerSession:
    """Runs a learner. A subclass makes it, and opens it in `__enter__`.

    See `neurozoo.algorithms.session.Session`.

    Args:
        action_rule: How outputs of the trained network become actions, see `Checkpoint`.
    """

    identity: Mapping[str, object] = {}

    def __init__(self, learner: Learner, layout: AnyLayout, protocol: Protocol, *, action_rule: str = "greedy") -> None:
        self._learner, self._layout, self._protocol, self._action_rule = learner, layout, protocol, action_rule
        self.announcements = [f"Number of parameters: {layout.parameter_count}"]

    @property
    def iteration(self) -> int:
        """Finished epochs."""
        return self._learner.iteration

    @property
    def progress(self) -> int:
        """Frames of training so far."""
        return self._learner.frames

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between epochs."""
        return self._learner.is_done

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._learner.close()

    def advance(self, watch: Watch) -> Report | None:
        """Learns until the state should be saved, or finishes an epoch and returns its report."""

        def tell(frames: int, steps: int) -> None:
            phase, done, total, unit = self._learner.progress
            watch.advanced(frames, steps=steps, phase=phase, done=done, total=total, unit=unit, is_news=steps > 0)

        begin = time.monotonic()
        try:
            report = self._learner.learn(tell)
        finally:
            watch.spent(playing=time.monotonic() - begin)
        if report is not None:
            watch.spent(untimed=time.monotonic() - begin)
        return report

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns the learner's state, which is complete after every step of the environments."""
        return self._learner.get_state(), self._learner.get_arrays()

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues after the step in which the state was saved."""
        self._learner.set_state(state, arrays)
        self.announcements = []

    def result(self) -> NetworkResult:
        """Returns the network after the last finished epoch."""
        reported = self._learner.reported
        assert reported is not None  # there has been a report
        return NetworkResult(
            weights=reported.weights,
            protocol=self._protocol,
            num_actions=self._layout.num_actions,
            action_rule=self._action_rule,
            test_score=reported.score,
            test_episodes=reported.episodes,
            iteration=reported.iteration,
            frames=reported.frames,
        )


def find_core(given: Path | None, protocol: Protocol) -> tuple[Path | None, list[str]]:
    """Returns the native core if it can play the games, and sentences for the log if it should but cannot.

    It plays as ale-py of the version that it is built with; if another one is installed, that one plays.
    """
    if protocol.world != "atari":
        return None, []
    core, reason = usable_core(given)
    if core and (installed := metadata.version("ale-py")) != ALE_VERSION:
        core, reason = None, f"The core is built with version {ALE_VERSION} of it, but {installed} is installed."
    said = [f"ale-py plays the games, which takes twice the time of the core. {reason}"] if reason else []
    return core, said


def find_network_core(context: RunContext) -> tuple[Path | None, list[str]]:
    """Returns the core library if it computes the network, and a sentence for the log if Keras does instead."""
    if context.settings.computes_natively(context.model):
        return context.core or Path(CORE), []
    if context.settings.engine != "native":
        return None, []
    return None, [
        "Keras computes the network: the core learns convolutions, dense layers, layer normalisation and ReLU, in "
        "float32 and in one process."
    ]
