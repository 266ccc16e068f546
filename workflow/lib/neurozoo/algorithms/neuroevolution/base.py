"""What algorithms share: those that ask for episodes and are told the results, and those that play by themselves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface
from typing import runtime_checkable

import numpy as np

from neurozoo.algorithms.randomness import MAX_SEED, Purpose, generator
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.games import Protocol
from neurozoo.genomes import Genome


@dataclass(frozen=True)
class Solution:
    """The result of a run so far, with the mean of test episodes that chose nothing.

    Attributes:
        genome: Who it is.
        validation_score: The mean score that it was chosen by; None if nothing was chosen.
        test_score: Mean score of the test episodes.
        iteration: When it was found.
        frames: Frames of the run until then.
    """

    genome: Genome
    validation_score: float | None
    test_score: float
    iteration: int
    frames: int


@dataclass(frozen=True)
class Batch:
    """Episodes that belong together.

    Attributes:
        phase: Name of the phase, once per generation.
        held: Genomes of which, or of whose children, the episodes are.
        episodes: In the order in which `tell` wants the results.
        is_counted: Whether the budget counts their frames, and the log their seconds; tests are not counted.
    """

    phase: str
    held: tuple[Genome, ...]
    episodes: tuple[Episode, ...]
    is_counted: bool = True


class Algorithm(Interface):
    """An update rule. It knows no files and no evaluators; the same results make the same next generation.

    It is made by `Class(settings, run=..., layout=..., noise=..., protocol=...)`.

    Attributes:
        settings: A dataclass with at least `frames`, `num_test_episodes`, `seed`.
        fields: What the text log prints of a report, in order.
        behaviour: What episodes have to be described by: `none`, `ram` or `final_position`.
        threads: What an update may use between episodes; results do not depend on it.
        iteration: Finished generations.
        steps: Counted steps so far.
        frames: Counted frames so far.
        best: The result so far; None before the first generation has finished.
    """

    settings: object
    fields: tuple[str, ...]
    behaviour: str
    threads: int
    iteration: int
    steps: int
    frames: int
    best: Solution | None

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; only asked between generations."""

    def ask(self) -> Batch:
        """Returns the episodes of the present phase; asking twice gives the same."""

    def tell(self, results: Sequence[EpisodeResult]) -> dict[str, object] | None:
        """Takes the results of the last `ask`, in its order; returns the report after a generation's last phase."""

    def get_state(self) -> dict:
        """Returns what the next generation depends on, as plain JSON; only between generations."""

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state. A name stands for one content forever: `theta-12`, not `theta`."""

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned, as if nothing had happened.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: `state` is something else.
        """


@runtime_checkable
class Learner(Interface):
    """An algorithm that plays by itself and learns while it does; its iterations are epochs with a test at the end.

    It has the attributes of an `Algorithm` but `behaviour`, and the same `get_state`, `get_arrays` and `set_state`.

    Attributes:
        progress: Name of the present phase, its finished steps and all of its steps.
    """

    progress: tuple[str, int, int]

    def open(self, game: str, *, folder: Path, remedy: str) -> list[str]:
        """Makes what playing needs, after `set_state` if there is one; returns sentences for the log.

        Args:
            game: Game id.
            folder: For what is too large to be written anew with each state; it may exist from before.
            remedy: What to do about damaged files there.

        Raises:
            NeurozooError: It cannot be played or learned here.
        """

    def close(self) -> None:
        """Gives back what `open` took."""

    def learn(self, watch: Callable[[int, int], None]) -> dict[str, object] | None:
        """Goes on until the state should be saved; returns the report at the end of an epoch.

        Args:
            watch: Is told frames and steps since its last call, several times a second, and may raise to stop; the
                state is whole then.
        """


class Starts:
    """Draws how episodes start.

    Args:
        entropy: The run: its seed and its number.
        protocol: How episodes are played.
    """

    def __init__(self, entropy: tuple[int, ...], protocol: Protocol) -> None:
        self._entropy = entropy
        self._protocol = protocol

    def episode(self, genome: Genome, purpose: Purpose, *address: int, cutoff: int | None = None) -> Episode:
        """Returns an episode; equal addresses start alike.

        Args:
            genome: Who plays.
            purpose: What the episode is for.
            address: Generation, individual, repetition, as far as they apply.
            cutoff: Longest episode in steps; None for the protocol's own limit.
        """
        random = generator(self._entropy, purpose, *address)
        limit = self._protocol.max_frames
        if cutoff is not None:
            limit = min(limit, cutoff * self._protocol.frame_skip)
        noops = int(random.integers(1, self._protocol.max_noops + 1)) if self._protocol.max_noops else 0
        return Episode(genome, noops, int(random.integers(MAX_SEED)), limit)
