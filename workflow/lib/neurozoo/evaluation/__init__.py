"""The evaluator interface: submit episodes, receive results as they finish. `make_evaluator` chooses the engine."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import Protocol as GameProtocol
from neurozoo.environments.protocols import check_engine
from neurozoo.errors import NeurozooError, needing
from neurozoo.genomes.genome import Genome
from neurozoo.networks.chains import Layout

DEFAULT_SLOTS = 256  # number of episodes that the batched engine plays at once


@dataclass(frozen=True)
class Episode:
    """An episode to play."""

    genome: Genome
    noops: int  # single-frame no-ops at the start
    seed: int  # of the environment: sticky actions, random frame skips, random worlds
    max_frames: int  # after the start; then the episode is truncated
    action_noise: float = 0.0  # standard deviation of noise on continuous actions (only in Gymnasium's environments)


@dataclass(frozen=True)
class EpisodeResult:
    """The result of an episode.

    Attributes:
        behaviour: Description of the episode, if the evaluator records one. `ram`: uint8, (steps, 128), the memory
            after every step. `final_position`: float32, (rows, coordinates): one row (x, y) in the hard maze, one row
            (column, row, level) per attempt in the river crossing task. `observation_sums` (only in Gymnasium's
            environments): float64, (2, numbers), the sums of all observations and of their squares.
    """

    score: float  # sum of the raw rewards
    steps: int
    frames: int  # of the emulator, after the start
    seconds: float = 0.0  # wall time
    sign_score: float = 0.0  # sum of the signs of the steps' rewards
    behaviour: np.ndarray | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Trace:
    """A complete record of one episode, to compare engines step by step.

    Attributes:
        planes: float32, (steps, height, width, channels): the newest plane of each observation. With a stack of 4, the
            observation of step t has the planes t - 3 ... t, oldest first; zeros stand before the first plane.
        logits: float32, (steps, outputs), the network's outputs.
        rewards: float32, (steps,).
    """

    planes: np.ndarray
    logits: np.ndarray
    rewards: np.ndarray

    @property
    def actions(self) -> np.ndarray:
        """int64, (steps,): index of the largest output, of equal ones the first. Meaningless for continuous outputs."""
        return self.logits.argmax(axis=1)


class Evaluator(Protocol):
    """Plays episodes, for any algorithm. Use as a context manager."""

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the reference batch of virtual batch norm: float32, (batch, height, width, channels)."""

    def pin(self, genomes: Iterable[Genome]) -> None:
        """Keeps these genomes' weights in memory while episodes of them and of their children are played.

        They replace the genomes that were pinned before. If possible, episodes start in the order of their genomes or
        parents here.
        """

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number. Their genomes are pinned, children of pinned ones, or have no mutations."""

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns the results of finished episodes. Waits up to `timeout` seconds for the first one."""

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome and records every step."""

    def close(self) -> None:
        """Drops queued episodes, stops running ones within a step, and frees the memory."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def make_evaluator(
    *,
    game: str,
    layout: Layout,
    protocol: GameProtocol,
    core: str | os.PathLike | None,
    noise: str | os.PathLike,
    threads: int = 1,
    behaviour: str = "none",
    engine: str = "native",
    slots: int = DEFAULT_SLOTS,
    cluster: ClusterSettings | None = None,
    cluster_dir: str | os.PathLike | None = None,
) -> Evaluator:
    """Makes the evaluator of a game. What the core does not play, or all if there is none, gets a slow one in Python.

    Results describe their episodes by the `behaviour` `none`, `ram` or `final_position`. The engine `native` plays one
    episode per thread, and `batched` an even number of `slots` at once, whose environments the threads step. With a
    `cluster`, Dask workers play instead of this process, with the same results; `cluster_dir` is for its keys and logs.
    """
    check_engine(game, protocol, engine)
    if engine == "batched" and layout.network.is_modular:
        raise NeurozooError(f"The batched engine does not compute {layout.network.name!r}. Set engine to native.")
    given: dict[str, Any] = {"game": game, "layout": layout, "protocol": protocol, "behaviour": behaviour}
    if cluster is not None:
        if engine != "native":
            raise NeurozooError(
                f"A Dask cluster needs the native engine, but got engine: {engine}. Set engine to native."
            )
        with needing("cluster", "A Dask cluster"):
            from neurozoo.evaluation.distributed import DistributedEvaluator

        assert core is not None, "a Dask cluster needs the core"
        assert cluster_dir is not None, "a Dask cluster needs a folder for its keys and logs"
        make = partial(make_evaluator, core=Path(core).resolve(), noise=Path(noise).resolve(), **given)
        return DistributedEvaluator(make, settings=cluster, folder=cluster_dir)
    if core is None or protocol.is_stepwise:
        from neurozoo.evaluation.stepwise import StepwiseEvaluator

        return StepwiseEvaluator(noise=noise, **given)
    given |= {"core": core, "noise": noise}
    if engine == "batched":
        from neurozoo.evaluation.batched import BatchedEvaluator

        return BatchedEvaluator(**given, threads=threads, slots=slots)
    from neurozoo.evaluation.native import NativeEvaluator

    return NativeEvaluator(**given, threads=threads)


def play(evaluator: Evaluator, episodes: Mapping[int, Episode]) -> dict[int, EpisodeResult]:
    """Submits episodes and waits for all results. Genomes or their parents have to be pinned before."""
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
    core: str | os.PathLike | None,
    noise: str | os.PathLike,
    reference: np.ndarray | None = None,
) -> Trace:
    """Records one episode of any genome; see `make_evaluator` and `Evaluator.set_reference`.

    Without a core, NumPy computes the network, which must be one that `is_plain`.
    """
    given: dict[str, Any] = {"noise": noise, "layout": layout_of(game, model, protocol), "protocol": protocol}
    with make_evaluator(game=game, core=core, **given) as evaluator:
        if reference is not None:
            evaluator.set_reference(reference)
        evaluator.pin([episode.genome])
        return evaluator.trace(episode)
