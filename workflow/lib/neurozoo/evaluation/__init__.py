"""One protocol of evaluation, several engines: episodes go in, results come out as they finish."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from neurozoo.clusters.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError
from neurozoo.games import Protocol as GameProtocol
from neurozoo.games import check_engine, layout_of
from neurozoo.genomes import Genome
from neurozoo.networks import Layout

DEFAULT_SLOTS = 256  # episodes at once of the batched engine


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
        sign_score: Sum of the signs of the steps' rewards.
        behaviour: What the episode was like, if the evaluator was asked for it: `ram`, uint8 (steps, 128), the memory
            after every step; `final_position`, float32 (rows, coordinates), one row in the hard maze (x, y), one for
            each attempt in the river crossing task (column, row, level).
    """

    score: float
    steps: int
    frames: int
    seconds: float = 0.0
    sign_score: float = 0.0
    behaviour: np.ndarray | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Trace:
    """Everything that happened in one episode, to compare other engines with.

    Attributes:
        planes: float32, (steps, height, width, channels): the newest plane of each observation. The observation of step
            t is the stack of planes t - 3 ... t (where the stack is 4), oldest first, with zeros before the first.
        logits: float32, (steps, outputs), the network's outputs.
        rewards: float32, (steps,).
    """

    planes: np.ndarray
    logits: np.ndarray
    rewards: np.ndarray

    @property
    def actions(self) -> np.ndarray:
        """int64, (steps,), index of the largest output, of equals the first; no meaning for continuous outputs."""
        return self.logits.argmax(axis=1)


class Evaluator(Protocol):
    """Plays episodes. It does not know which algorithm asked."""

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets what virtual batch norm is computed from: float32, (batch, height, width, channels)."""

    def hold(self, genomes: Iterable[Genome]) -> None:
        """Keeps these genomes' weights at hand; where it can, their (children's) episodes begin in this order."""

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes of held genomes, of their children, or of genomes without mutations, by number."""

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns what has finished; waits up to `timeout` seconds for the first result."""

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a held genome and records all of it."""

    def close(self) -> None:
        """Drops what is queued and breaks off what runs."""

    def __enter__(self) -> "Evaluator":
        """Returns itself."""

    def __exit__(self, *_: object) -> None:
        """Closes it."""


def make_evaluator(
    *,
    game: str,
    layout: Layout,
    protocol: GameProtocol,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    threads: int = 1,
    behaviour: str = "none",
    engine: str = "native",
    slots: int = DEFAULT_SLOTS,
    cluster: ClusterSettings | None = None,
    cluster_dir: str | os.PathLike | None = None,
) -> Evaluator:
    """Makes the engine that plays a game; for Gymnasium's environments, which `native` does not know, Python.

    Args:
        game: Game id.
        layout: The network.
        protocol: How episodes are played.
        ops: The op library.
        noise: The noise table.
        threads: Episodes at once, or threads of the batched engine's worlds.
        behaviour: What results describe their episodes by: `none`, `ram` or `final_position`.
        engine: `native` or `batched`.
        slots: Episodes at once of the batched engine, an even number.
        cluster: Workers that play instead of this process; the results are the same.
        cluster_dir: Folder for the cluster's keys and logs.

    Raises:
        NeurozooError: Something is missing or does not fit.
    """
    check_engine(game, protocol, engine)
    if cluster is not None:
        if engine != "native":
            raise NeurozooError(f"A Dask cluster plays with the native engine, but engine: {engine} came; choose one.")
        from neurozoo.evaluation.distributed import DistributedEvaluator

        make = partial(
            make_evaluator,
            game=game,
            layout=layout,
            protocol=protocol,
            ops=Path(ops).resolve(),
            noise=Path(noise).resolve(),
            behaviour=behaviour,
        )
        return DistributedEvaluator(make, settings=cluster, folder=cluster_dir)
    if protocol.world == "gymnasium":
        from neurozoo.evaluation.stepwise import StepwiseEvaluator

        return StepwiseEvaluator(noise=noise, layout=layout, game=game, protocol=protocol, behaviour=behaviour)
    given = {"ops": ops, "noise": noise, "layout": layout, "game": game, "protocol": protocol}
    if engine == "batched":
        from neurozoo.evaluation.batched import BatchedEvaluator

        return BatchedEvaluator(**given, threads=threads, behaviour=behaviour, slots=slots)
    from neurozoo.evaluation.native import NativeEvaluator

    return NativeEvaluator(**given, threads=threads, behaviour=behaviour)


def play(evaluator: Evaluator, episodes: Mapping[int, Episode]) -> dict[int, EpisodeResult]:
    """Submits episodes of held genomes, and waits for all of them."""
    evaluator.submit(episodes)
    results: dict[int, EpisodeResult] = {}
    while len(results) < len(episodes):
        results |= evaluator.receive(timeout=1.0)
    return results


def trace_episode(
    episode: Episode,
    *,
    game: str,
    model: str,
    protocol: GameProtocol,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    reference: np.ndarray | None = None,
) -> Trace:
    """Records one episode of any genome.

    Args:
        episode: Who plays, and how the episode starts and ends.
        game: Game id.
        model: Network name.
        protocol: How the episode is played.
        ops: The op library.
        noise: The noise table.
        reference: Observations that virtual batch norm is computed from.

    Raises:
        NeurozooError: Bad input.
    """
    layout = layout_of(game, model, protocol)
    with make_evaluator(ops=ops, noise=noise, layout=layout, game=game, protocol=protocol) as evaluator:
        if reference is not None:
            evaluator.set_reference(reference)
        evaluator.hold([episode.genome])
        return evaluator.trace(episode)
