"""What the sessions of step-by-step learners share: a learner plays, learns, and stops often enough to be saved."""

import time
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.learner import DamagedStateError, Learner, LearnerTask
from neurozoo.algorithms.results import NetworkResult
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.environments.game_networks import AnyLayout
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.vector import SeedOf, VectorEnvironment
from neurozoo.environments.vector_environments import make_vector_environment
from neurozoo.errors import NeurozooError
from neurozoo.native import CORE, usable_core
from neurozoo.native.build import ALE_VERSION
from neurozoo.native.processor import bfloat16_units


class LearnerSession:
    """Runs a learner. See `neurozoo.algorithms.session.Session`. A subclass opens the learner in `_open`.

    Args:
        context: Of the run.
        learner: The class of the learner.
        layout_of: Returns the network of a game, a `{model}` and a protocol.
        action_rule: How outputs of the trained network become actions, see `Checkpoint`.

    Raises:
        NeurozooError: Game, protocol, engine and network do not fit together.
    """

    identity: Mapping[str, object] = {}
    keras_computes_losses = True  # also of networks that the core computes
    _learner: Any
    _core: Path | None = None  # that plays; until the session is entered, or follows

    def __init__(
        self,
        context: RunContext,
        learner: type[Learner],
        layout_of: Callable[[str, str, Protocol], AnyLayout],
        *,
        action_rule: str = "greedy",
    ) -> None:
        self._context, self._action_rule = context, action_rule
        self._protocol = context.settings.game_protocol(context.game)
        self._layout = layout_of(context.game, context.model, self._protocol)
        self._task = LearnerTask(
            settings=context.settings,
            entropy=context.entropy,
            layout=self._layout,
            protocol=self._protocol,
            make_environments=self._make_environments,
            ranks=context.ranks,
        )
        self._learner = learner(self._task)
        self.announcements = [f"Number of parameters: {self._layout.parameter_count}"]

    def _make_environments(self, count: int, seed_of: SeedOf) -> VectorEnvironment:
        return make_vector_environment(
            self._context.game,
            self._protocol,
            count=count,
            threads=self._context.threads,
            seed_of=seed_of,
            curriculum=self._context.settings.curriculum(self._protocol.frame_skip),
            core=self._core,
        )

    def __enter__(self) -> Self:
        self._core, said = find_core(self._context.core, self._protocol)
        network_core, more = find_network_core(self._context)
        if network_core is None or self.keras_computes_losses:
            keep_to_threads(self._context.threads)
        self.announcements += said + more
        try:
            self.announcements += self._open(network_core)
        except DamagedStateError as error:
            raise NeurozooError(f"The state is damaged ({error}). {self._context.remedy}") from error
        return self

    def _open(self, network_core: Path | None) -> list[str]:
        """Opens the learner with the core that computes its network; returns sentences for the log."""
        raise NotImplementedError

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
        return {**self._learner.get_state(), "bfloat16": self._bfloat16()}, self._learner.get_arrays()

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues after the step in which the state was saved."""
        self._learner.set_state(state, arrays)
        self.announcements = []
        began, here = state.get("bfloat16"), self._bfloat16()
        if began and here and began != here:
            self.announcements.append(
                f"This run has learned in bfloat16 with {began}, and goes on with {here}: it will learn as well, but "
                "not get the same bytes as without an interruption."
            )

    def _bfloat16(self) -> str | None:
        """Returns what decides the last bits of an update in bfloat16; None if the run learns in float32."""
        return None if self._context.settings.dtype == "float32" else bfloat16_units()

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
    sentence = context.settings.about_keras(context.model)
    return None, [sentence] if sentence else []
