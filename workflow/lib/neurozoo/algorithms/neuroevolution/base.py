"""What all algorithms of the family share: `ask` returns episodes to play, `tell` takes their results."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from neurozoo.algorithms.neuroevolution.schedules import EpisodeCutoff, Schedule
from neurozoo.algorithms.neuroevolution.settings import GaSettings, GradientSettings
from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import Genome
from neurozoo.networks.chains import Layout
from neurozoo.randomness import Entropy, Purpose, generator

AnySettings = TypeVar("AnySettings", bound=GaSettings | GradientSettings)


@dataclass(frozen=True)
class Solution:
    """The result of a run so far."""

    genome: Genome
    validation_score: float | None  # the mean score by which it was chosen; None if nothing was chosen
    test_score: float  # mean score of test episodes, which select nothing
    iteration: int  # the generation in which it was found
    frames: int  # that the run had played by then


@dataclass(frozen=True)
class Batch:
    """The episodes of one phase."""

    phase: str  # each occurs once per generation
    parents: tuple[Genome, ...]  # play the episodes, or their children do; the evaluator pins them
    episodes: tuple[Episode, ...]  # in the order in which `tell` takes the results
    is_counted: bool = True  # by the budget and in the seconds of the log; tests are not


class Algorithm(ABC, Generic[AnySettings]):
    """An update rule, without files and evaluators. Equal results lead to equal next generations.

    Genomes in `start` start the run, best first; without any, it starts from random ones.

    Attributes:
        fields: The fields of a report that the text log prints, in order.
        behaviour: What episodes must record: `none`, `ram`, `final_position` or `observation_sums`.
        threads: Threads that an update may use between episodes; results do not depend on it.
        iteration: Finished generations.
        steps: Counted steps so far.
        frames: Counted frames so far.
        best: The result so far; None before the first generation has finished.
        reference: Mean and standard deviation of observations, which networks with statistics need besides weights;
            None for other networks.
    """

    fields: tuple[str, ...] = ()
    behaviour = "none"
    threads = 1
    reference: np.ndarray | None = None

    def __init__(
        self,
        settings: AnySettings,
        *,
        entropy: Entropy,
        layout: Layout,
        noise: np.ndarray,
        protocol: Protocol,
        start: Sequence[Genome] = (),
    ) -> None:
        self.settings: AnySettings = settings
        self._entropy, self._layout, self._noise, self._protocol = entropy, layout, noise, protocol
        self._num_indices = len(noise) - layout.parameter_count + 1  # where a slice of noise may start
        self._schedule = Schedule.from_setting(settings.mutation_power)
        self._cutoff = EpisodeCutoff.from_setting(settings.episode_cutoff_mode)
        self.iteration = self.steps = self.frames = 0
        self.best: Solution | None = None
        self._begin(start)
        self._best_rules = self._rules
        self._start_generation()

    @abstractmethod
    def _begin(self, start: Sequence[Genome]) -> None:
        """Prepares what an algorithm keeps from generation to generation."""

    def _start_generation(self) -> None:
        """Prepares a generation from what the state holds."""
        self._power = self._schedule.value(iteration=self.iteration, steps=self.steps, frames=self.frames)
        self._fields: dict[str, Any] = {}  # of the next report

    @property
    def _rules(self) -> list[int | None]:
        """What scores depend on and may change: the best solution makes way if it was scored by other rules."""
        return [self._cutoff.limit]

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between generations."""
        return self.frames >= self.settings.frames

    def ask(self) -> Batch:
        """Returns the episodes of the current phase; a second call returns the same."""
        raise NotImplementedError  # the asynchronous form has no phases

    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        """Takes the results of the last `ask`, in its order.

        Returns:
            None, or after a generation's last phase its report: the standard keys `frames`, `score`, `score_episodes`,
            `test_score`, `test_episodes` and `Iteration`, and the `fields`, without times.
        """
        raise NotImplementedError

    def _episode(self, genome: Genome, purpose: Purpose, *address: int, seeds_of: Purpose | None = None) -> Episode:
        is_test = (seeds_of or purpose) in (Purpose.TEST_EPISODE, Purpose.INITIAL_EPISODE)
        return draw_episode(
            genome,
            purpose,
            *address,
            entropy=self._entropy,
            protocol=self._protocol,
            cutoff=self.settings.test_cutoff if is_test else self._cutoff.limit,
            seeds_of=seeds_of,
            action_noise=getattr(self.settings, "action_noise", 0.0) if purpose == Purpose.POPULATION_EPISODE else 0.0,
        )

    def _count(self, results: Sequence[EpisodeResult]) -> None:
        self.steps += sum(result.steps for result in results)
        self.frames += sum(result.frames for result in results)

    def _share_at_limit(self, results: Sequence[EpisodeResult]) -> float:
        limit = self._cutoff.limit
        return 0.0 if limit is None or not results else float(np.mean([result.steps >= limit for result in results]))

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""
        return {
            "iteration": self.iteration,
            "steps": self.steps,
            "frames": self.frames,
            "cutoff_limit": self._cutoff.limit,
            "best": self.best and {**vars(self.best), "genome": None},
            "best_rules": self._best_rules,
        }

    @abstractmethod
    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state. A name is never used for another content: `theta-12`, not `theta`."""

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: `state` is something else.
        """
        self.iteration, self.steps, self.frames = state["iteration"], state["steps"], state["frames"]
        self._cutoff = replace(self._cutoff, limit=state["cutoff_limit"])
        self._best_rules = state["best_rules"]
        genome = self._restore(state, arrays)
        self.best = Solution(**{**state["best"], "genome": genome}) if state["best"] else None
        self._start_generation()

    @abstractmethod
    def _restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> Genome | None:
        """Takes over what an algorithm adds to the state; returns the genome of the best solution, if there is one."""


def draw_episode(
    genome: Genome,
    purpose: Purpose,
    *address: int,
    entropy: Entropy,
    protocol: Protocol,
    cutoff: int | None = None,
    seeds_of: Purpose | None = None,
    action_noise: float = 0.0,
) -> Episode:
    """Draws how an episode starts; equal entropies, purposes and addresses give equal starts.

    Args:
        genome: The genome that plays.
        purpose: What the episode is for.
        address: Generation, individual and repetition, as far as they apply.
        entropy: See `run_entropy`.
        protocol: How it is played.
        cutoff: Longest episode, in steps; None for the protocol's own limit.
        seeds_of: Whose range of seeds it has, where purposes have their own; default: that of `purpose`.
        action_noise: Standard deviation of the noise on continuous actions.
    """
    random = generator(entropy, purpose, *address)
    limit = protocol.max_frames if cutoff is None else min(protocol.max_frames, cutoff * protocol.frame_skip)
    noops = protocol.draw_noops(random)
    return Episode(genome, noops, draw_seed(random, seeds_of or purpose, protocol), limit, action_noise)
