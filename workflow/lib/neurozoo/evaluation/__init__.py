"""One protocol of evaluation, several engines: episodes go in, results come out as they finish."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from neurozoo.genomes import Genome


@dataclass(frozen=True)
class Episode:
    """One game to be played.

    Attributes:
        genome: Who plays.
        noops: Single frames without action at the start.
        seed: Decides which actions stick; no effect without sticky actions.
        max_frames: Frames after the start at which the episode is broken off.
    """

    genome: Genome
    noops: int
    seed: int
    max_frames: int


@dataclass(frozen=True)
class EpisodeResult:
    """What came of an episode.

    Attributes:
        score: Sum of the raw rewards.
        steps: Decisions.
        frames: Emulator frames after the start.
        seconds: Wall time in its thread.
        sign_score: Sum of the signs of the rewards; None if the evaluator does not count it.
        behaviour: What the episode was like, if the evaluator was asked for it: `ram`, uint8 (steps, 128), the memory
            after every step; `final_position`, float32 (rows, coordinates), one row in the hard maze (x, y), one for
            each attempt in the river crossing task (column, row, level).
    """

    score: float
    steps: int
    frames: int
    seconds: float = 0.0
    sign_score: float | None = None
    behaviour: np.ndarray | None = field(default=None, compare=False)


class Evaluator(Protocol):
    """Plays episodes. It does not know which algorithm asked."""

    def hold(self, genomes: Iterable[Genome]) -> None:
        """Keeps these genomes' weights at hand, so that episodes of them and of their children start at once."""

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes of held genomes, of their children, or of genomes without mutations, by number."""

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns what has finished; waits up to `timeout` seconds for the first result."""

    def close(self) -> None:
        """Drops what is queued and breaks off what runs."""
