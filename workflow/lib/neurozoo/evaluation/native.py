"""Episodes in threads of the native op."""

import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator
from neurozoo.games import Protocol, action_codes, rom_path, start_actions
from neurozoo.genomes import Genome
from neurozoo.native import load_ops
from neurozoo.networks import Layout, get_network

# What TensorFlow puts before and behind an op's own words.
_AROUND_MESSAGE = re.compile(r"^\{\{function_node [^}]*\}\} ?| \[Op:\w+\].*$", re.DOTALL)


@dataclass(frozen=True)
class Trace:
    """Everything that happened in one episode, to compare other engines with.

    Attributes:
        planes: float32, (steps, 84, 84), in [0, 1]: the newest plane of each observation. The observation of step t
            is the stack of planes t - 3 ... t, oldest first, with zeros before the first.
        actions: int32, (steps,), index of the chosen output.
        logits: float32, (steps, actions), the network's outputs.
        rewards: float32, (steps,).
    """

    planes: np.ndarray
    actions: np.ndarray
    logits: np.ndarray
    rewards: np.ndarray


class NativeEvaluator:
    """Plays episodes in `threads` threads; results do not depend on their number. Use as a context manager.

    Args:
        ops: Path of the op library.
        noise: Path of the noise table.
        layout: The network and its number of actions.
        game: Game id.
        protocol: How episodes are played.
        threads: Episodes at once.

    Raises:
        NeurozooError: The library, the table or the ROM is missing or does not fit.
    """

    def __init__(
        self,
        *,
        ops: str | os.PathLike,
        noise: str | os.PathLike,
        layout: Layout,
        game: str,
        protocol: Protocol,
        threads: int = 1,
    ) -> None:
        import tensorflow as tf

        self._tf = tf
        self._ops = load_ops(ops)
        self._held: dict[Genome, int] = {}
        self._num_actions = layout.num_actions
        self._handle = None
        self._handle = self._call(
            self._ops.neurozoo_evaluator,
            rom=str(rom_path(game)),
            actions=list(action_codes(game, protocol.action_set)),
            start_actions=list(start_actions(game, protocol)),
            sticky_probability=protocol.sticky_probability,
            frame_skip=protocol.frame_skip,
            preprocessing=protocol.preprocessing,
            plan=layout.plan()[:, :13].ravel().tolist(),  # of these networks the rest is the same
            scales=[float(placed.scale) for placed in layout.layers],
            noise_path=str(Path(noise).resolve()),
            num_threads=threads,
            shared_name=f"neurozoo-{uuid.uuid4()}",
        )

    def hold(self, genomes: Iterable[Genome]) -> None:
        """Keeps these genomes' weights in memory (16 MB each for `large`) instead of the ones held before.

        What is held already, or is a child of it, costs no or one mutation; everything else is decoded from scratch.

        Raises:
            NeurozooError: A noise index lies outside the table.
        """
        genomes = tuple(dict.fromkeys(genomes))
        bases, initials, starts, mutations = [], [], [0], []
        for genome in genomes:
            slot, rest = self._held_ancestor(genome)
            bases.append(slot)
            initials.append(genome.initial)
            mutations.extend(rest)
            starts.append(len(mutations))
        self._call(
            self._ops.neurozoo_hold,
            handle=self._handle,
            bases=np.array(bases, np.int32),
            initials=np.array(initials, np.int64),
            starts=np.array(starts, np.int64),
            indices=np.array([index for index, _ in mutations], np.int64),
            powers=np.array([power for _, power in mutations], np.float32),
        )
        self._held = {genome: slot for slot, genome in enumerate(genomes)}

    def _held_ancestor(self, genome: Genome) -> tuple[int, tuple]:
        if genome in self._held:
            return self._held[genome], ()
        if genome.parent in self._held:
            return self._held[genome.parent], genome.mutations[-1:]
        return -1, genome.mutations

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number.

        Raises:
            NeurozooError: A genome is neither held nor a child of a held one, or reaches beyond the noise table.
        """
        parents, indices, powers = [], [], []
        for episode in episodes.values():
            slot, rest = self._held_ancestor(episode.genome)
            if slot < 0 and rest:
                raise NeurozooError("An episode's genome or its parent must be held first.")
            parents.append(slot)
            if slot < 0:
                indices.append(episode.genome.initial)
                powers.append(0.0)
            else:
                indices.append(rest[0].index if rest else -1)
                powers.append(rest[0].power if rest else 0.0)
        self._call(
            self._ops.neurozoo_submit,
            handle=self._handle,
            ids=np.array(list(episodes), np.int64),
            parents=np.array(parents, np.int32),
            noise_indices=np.array(indices, np.int64),
            powers=np.array(powers, np.float32),
            noops=np.array([episode.noops for episode in episodes.values()], np.int64),
            seeds=np.array([episode.seed for episode in episodes.values()], np.int64),
            max_frames=np.array([episode.max_frames for episode in episodes.values()], np.int64),
        )

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns finished episodes by number; an empty dictionary after `timeout` seconds without any.

        Raises:
            NeurozooError: A worker failed.
        """
        columns = self._call(self._ops.neurozoo_receive, handle=self._handle, timeout=timeout)
        return {
            number: EpisodeResult(score, steps, frames, seconds)
            for number, score, steps, frames, seconds in zip(*(c.numpy().tolist() for c in columns), strict=True)
        }

    def parameters(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a held genome: float32, shape (parameters,)."""
        return self._call(self._ops.neurozoo_parameters, handle=self._handle, slot=self._held[genome]).numpy()

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a held genome and records all of it: 28 kB a step."""
        columns = self._call(
            self._ops.neurozoo_trace,
            handle=self._handle,
            slot=self._held[episode.genome],
            noops=np.int64(episode.noops),
            seed=np.int64(episode.seed),
            max_frames=np.int64(episode.max_frames),
        )
        return Trace(*(column.numpy() for column in columns))

    def close(self) -> None:
        """Drops what is queued, breaks off what runs (within a step), and frees the memory."""
        if self._handle is not None:
            self._tf.raw_ops.DestroyResourceOp(resource=self._handle, ignore_lookup_error=True)
            self._handle = None

    def __enter__(self) -> "NativeEvaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()

    def _call(self, op, **inputs):
        if "handle" in inputs and inputs["handle"] is None:
            raise NeurozooError("The evaluator is closed.")
        try:
            with self._tf.device("CPU:0"):
                return op(**inputs)
        except self._tf.errors.OpError as error:
            raise NeurozooError(_AROUND_MESSAGE.sub("", error.message)) from error


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
    protocol: Protocol,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
) -> Trace:
    """Records one episode of any genome.

    Args:
        episode: Who plays, and how the episode starts and ends.
        game: Game id.
        model: Network name.
        protocol: How the episode is played.
        ops: The op library.
        noise: The noise table.

    Raises:
        NeurozooError: Bad input.
    """
    layout = get_network(model).layout(len(action_codes(game, protocol.action_set)))
    with NativeEvaluator(ops=ops, noise=noise, layout=layout, game=game, protocol=protocol) as evaluator:
        evaluator.hold([episode.genome])
        return evaluator.trace(episode)
