"""What learners from single steps share: what they are given, what they count, how they are tested and report."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from neurozoo.agents.policies import Policy, PolicyInputs
from neurozoo.algorithms.session import Report
from neurozoo.compute.mpi import ALONE, Alone, Ranks
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.vector import SeedOf, VectorEnvironment
from neurozoo.errors import NeurozooError
from neurozoo.randomness import Entropy, Purpose, generator

RECENT = 100  # training episodes of which `score` is the mean
TEST_ENVIRONMENTS = 8  # at once, at most

Watch = Callable[[int, int], None]  # gets the frames and steps since its last call; may raise to stop


class DamagedStateError(Exception):
    """A part of a state is missing, or has another shape."""


@contextmanager
def restoring() -> Iterator[None]:
    """Tells what a damaged state raises from what an environment raises."""
    try:
        yield
    except (LookupError, ValueError) as error:
        raise DamagedStateError(repr(error)) from error


@dataclass(frozen=True, kw_only=True)
class LearnerTask:
    """What a learner learns.

    Attributes:
        settings: Those of the algorithm.
        entropy: What all random numbers depend on, besides their addresses.
        layout: The network.
        protocol: How episodes are played.
        make_environments: Makes environments from their number and the seeds of their episodes.
        ranks: This process and the others of the run.
    """

    settings: Any
    entropy: Entropy
    layout: Any
    protocol: Protocol
    make_environments: Callable[[int, SeedOf], VectorEnvironment]
    ranks: Ranks | Alone = ALONE

    def seed_of(self, environment: int, episode: int) -> int:
        """Returns the seed of an episode of training in an environment of the run."""
        draws = generator(self.entropy, Purpose.WORLD_EPISODE, environment, episode)
        return draw_seed(draws, Purpose.WORLD_EPISODE, self.protocol)


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


class Learner(ABC):
    """One run of an algorithm that learns from single steps, in epochs.

    Attributes:
        iteration: Finished epochs.
        steps: Steps of training so far.
        reported: The network after the last finished epoch; None before the first.
    """

    settings: Any  # a subclass names their class

    def __init__(self, task: LearnerTask) -> None:
        self._task = task
        self.settings, self._layout, self._protocol = task.settings, task.layout, task.protocol
        self.iteration = self.steps = 0
        self.reported: ReportedNetwork | None = None
        self._updates = 0
        self._recent: deque[float] = deque(maxlen=RECENT)  # scores
        self._test_done: int | None = None  # episodes of the current test, or steps if it has a number of them
        self._saved: tuple[Mapping, Mapping] | None = None
        self._thread = ThreadPoolExecutor(1)

    @property
    def frames(self) -> int:
        """Frames of training so far."""
        return self.steps * self._protocol.frame_skip

    @property
    def is_done(self) -> bool:
        """Whether the last epoch was reported; a state that was saved in its test has spent the budget, too."""
        return self.reported is not None and self.reported.frames == self.frames >= self.settings.frames

    @property
    @abstractmethod
    def progress(self) -> tuple[str, int, int, str]:
        """The phase, how much of it is done, how much it has, and in what unit, such as `steps of train`."""

    @abstractmethod
    def learn(self, watch: Watch) -> Report | None:
        """Learns until the state should be saved, or finishes an epoch and returns its report."""

    @abstractmethod
    def close(self) -> None:
        """Ends the threads and closes the environments."""

    @abstractmethod
    def get_state(self) -> dict:
        """Returns what continuing depends on, except what `get_arrays` returns, as plain JSON."""

    @abstractmethod
    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state, after `get_state`; a name is never used for another content."""

    @abstractmethod
    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned."""

    def _at(self, end: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns those arrays of a state whose names have this end, without it."""
        return {name.removesuffix(end): each for name, each in arrays.items() if name.endswith(end)}

    def _check_finite(self, values: ArrayLike) -> None:
        """Refuses to go on after an update whose losses, norms or errors are infinite or NaN."""
        if not np.isfinite(values).all():
            raise NeurozooError(
                f"The training diverges: after {self._updates:,} updates its loss is not finite. Lower learning_rate "
                f"({self.settings.learning_rate:g}), or make rewards smaller with reward_scale. The state that was "
                "saved before is unchanged."
            )

    def _test(self, policy: Policy, watch: Watch, **how: Any) -> "Test":
        """Tests a policy as the settings say; see `play_test`."""

        def tell(steps: int, done: int) -> None:
            self._test_done = done
            watch(0, steps)

        self._test_done = 0
        test = play_test(self._task, policy, self.iteration, beat=tell, **how)
        self._test_done = None
        return test

    def _report(
        self,
        weights: np.ndarray,
        recent: Sequence[float],
        fields: Mapping,
        *,
        score: float | None,
        episodes: int | None,
    ) -> Report:
        """Reports the epoch that has ended, of which there is a number already, and its test if there was one."""
        self.reported = ReportedNetwork(weights, score, self.iteration, self.frames, episodes or 0)
        return Report(
            iteration=self.iteration,
            progress=self.frames,
            score=float(np.mean(recent)) if recent else None,
            score_episodes=len(recent),
            test_score=score,
            test_episodes=episodes,
            fields=fields,
        )


class Test(NamedTuple):
    """What came of a test.

    Attributes:
        scores: By the numbers of whole episodes, in the order in which they ended.
        steps: Steps of the episodes that count.
        unfinished: The largest return of an episode that was not finished.
    """

    scores: dict[int, float]
    steps: int
    unfinished: float


def play_test(
    task: LearnerTask,
    policy: Policy,
    epoch: int,
    *,
    beat: Callable[[int, int], None],
    steps: int | None = None,
    finishes: bool = False,
    noop_steps: tuple[int, int] | None = None,
    has_planes: bool = False,
) -> Test:
    """Plays whole episodes, `num_test_episodes` of the settings, or a number of steps, in environments of their own.

    Args:
        task: Random numbers depend on its entropy, and on the epoch.
        policy: Chooses the actions.
        epoch: Finished epochs.
        beat: Called after every round with its steps and how much is done: of `steps`, or else episodes.
        steps: Steps of the test instead of a number of episodes.
        finishes: Whether the episode that runs when these are over is played to its end.
        noop_steps: Least and most decisions without action at the start of an episode, which are no steps.
        has_planes: Whether the policy sees (batch, channels, height, width) instead of channels last.
    """
    s, entropy = task.settings, task.entropy
    count = 1 if steps is not None else min(s.num_test_episodes, TEST_ENVIRONMENTS)

    def seed_of(environment: int, episode: int) -> int:
        number = episode * count + environment
        return draw_seed(generator(entropy, Purpose.TEST_EPISODE, epoch, number), Purpose.TEST_EPISODE, task.protocol)

    def wait(environments: np.ndarray) -> None:
        if noop_steps:
            draws = generator(entropy, Purpose.WAIT, epoch, rounds, 0)
            waits[environments] = draws.integers(noop_steps[0], noop_steps[1] + 1, len(environments))

    def goes_on() -> bool:
        return bool(is_open.any()) if steps is None else played < steps or (finishes and lengths[0] > 0)

    environments = task.make_environments(count, seed_of)
    returns, is_open = np.zeros(count), np.ones(count, bool)  # those whose share is done play on, but do not count
    waits, lengths = np.zeros(count, np.int64), np.zeros(count, np.int64)
    actions, rewards, is_first = np.zeros(count, np.int32), np.zeros(count, np.float32), np.ones(count, bool)
    scores: dict[int, float] = {}
    state, rounds, played = policy.initial_state(count), 0, 0
    wait(np.arange(count))
    try:
        while goes_on():
            draws = generator(entropy, Purpose.TEST_EXPLORATION, epoch, rounds)
            stacks = (
                environments.stacks if has_planes else np.ascontiguousarray(np.moveaxis(environments.stacks, 1, -1))
            )
            chosen, _, state = policy.step(PolicyInputs(stacks, actions, rewards, is_first), state, draws)
            chosen[waits > 0] = 0
            environments.send(chosen)
            step = environments.receive()
            rounds += 1
            counts = is_open & (waits == 0)
            played += int(counts.sum())
            lengths += counts
            returns += np.where(counts, step.rewards, 0.0)
            waits = np.maximum(waits - 1, 0)
            is_first = step.is_over | step.is_cut
            if s.test_cutoff is not None:
                is_first |= lengths >= s.test_cutoff
            actions = np.where(is_first, 0, chosen).astype(np.int32)
            rewards = np.where(is_first, 0, step.rewards).astype(np.float32)
            ended = np.flatnonzero(is_first)
            numbers = environments.episodes * count + np.arange(count)
            scores |= {int(numbers[each]): float(returns[each]) for each in ended if is_open[each]}
            if len(ended):
                returns[ended], lengths[ended] = 0.0, 0
                environments.start_episodes(is_first)
                if steps is None:
                    is_open &= ~is_first | (numbers + count < s.num_test_episodes)
                wait(ended)
            beat(int(counts.sum()), len(scores) if steps is None else played)
    finally:
        environments.close()
    return Test(scores, played, float(returns.max()))
