"""The interface of neuroevolution algorithms: `ask` returns episodes to play, `tell` takes their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

import numpy as np

from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.protocols import Protocol
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import Genome
from neurozoo.randomness import Entropy, Purpose, generator


@dataclass(frozen=True)
class Solution:
    """The result of a run so far, with the mean score of test episodes, which select nothing.

    Attributes:
        genome: The genome.
        validation_score: The mean score by which it was chosen; None if nothing was chosen.
        test_score: Mean score of the test episodes.
        iteration: The generation in which it was found.
        frames: Frames that the run had played by then.
    """

    genome: Genome
    validation_score: float | None
    test_score: float
    iteration: int
    frames: int


@dataclass(frozen=True)
class Batch:
    """The episodes of one phase.

    Attributes:
        phase: Name of the phase; each occurs once per generation.
        parents: Genomes that play the episodes, or whose children do; the evaluator pins them.
        episodes: The episodes, in the order in which `tell` takes the results.
        is_counted: Whether the budget counts their frames and the log their seconds; tests are not counted.
    """

    phase: str
    parents: tuple[Genome, ...]
    episodes: tuple[Episode, ...]
    is_counted: bool = True


class Algorithm(Interface):
    """An update rule, without files and evaluators. Equal results lead to equal next generations.

    Objects are made by `Class(settings, entropy=..., layout=..., noise=..., protocol=...)`, and those whose settings
    have a `start_source` with `start=...` for the genomes that start the run.

    Attributes:
        settings: A dataclass with at least `frames`, `num_test_episodes`, `seed`.
        fields: The fields of a report that the text log prints, in order.
        behaviour: The kind of behaviour that episodes must record: `none`, `ram` or `final_position`.
        threads: Threads that an update may use between episodes; results do not depend on it.
        iteration: Finished generations.
        steps: Counted steps so far.
        frames: Counted frames so far.
        best: The result so far; None before the first generation has finished.
        reference: Mean and standard deviation of observations, which networks with statistics need besides weights;
            None for other networks.
    """

    settings: object
    fields: tuple[str, ...]
    behaviour: str
    threads: int
    iteration: int
    steps: int
    frames: int
    best: Solution | None
    reference: np.ndarray | None

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between generations."""

    def ask(self) -> Batch:
        """Returns the episodes of the current phase; a second call returns the same."""

    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        """Takes the results of the last `ask`, in its order; returns a report after a generation's last phase."""

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state. A name is never used for another content: `theta-12`, not `theta`."""

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if there had been no interruption.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: `state` is something else.
        """


class Starts:
    """Draws how episodes start.

    Args:
        entropy: See `run_entropy`.
        protocol: How episodes are played.
        action_noise: Standard deviation of the noise on continuous actions in episodes of the population.
    """

    def __init__(self, entropy: Entropy, protocol: Protocol, *, action_noise: float = 0.0) -> None:
        self._entropy = entropy
        self._protocol = protocol
        self._action_noise = action_noise

    def episode(
        self,
        genome: Genome,
        purpose: Purpose,
        *address: int,
        cutoff: int | None = None,
        seeds_of: Purpose | None = None,
    ) -> Episode:
        """Returns an episode; equal purposes and addresses give equal starts.

        Args:
            genome: The genome that plays.
            purpose: What the episode is for.
            address: Generation, individual and repetition, as far as they apply.
            cutoff: Longest episode, in steps; None for the protocol's own limit.
            seeds_of: Whose range of seeds it has, where purposes have their own; default: that of `purpose`.
        """
        random = generator(self._entropy, purpose, *address)
        limit = self._protocol.max_frames
        if cutoff is not None:
            limit = min(limit, cutoff * self._protocol.frame_skip)
        noops = self._protocol.draw_noops(random)
        noise = self._action_noise if purpose == Purpose.POPULATION_EPISODE else 0.0
        return Episode(genome, noops, draw_seed(random, seeds_of or purpose, self._protocol), limit, noise)
