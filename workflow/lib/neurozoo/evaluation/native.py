"""Episodes in threads of the native op."""

import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Trace
from neurozoo.games import (
    POSITION_SIZES,
    RAM_BYTES,
    START_STATES,
    Protocol,
    action_codes,
    check_behaviour,
    rom_path,
    start_actions,
)
from neurozoo.genomes import Genome, Weights
from neurozoo.native import import_tensorflow, load_ops
from neurozoo.networks import Layout

# What TensorFlow puts before and behind an op's own words.
_AROUND_MESSAGE = re.compile(r"^\{\{function_node [^}]*\}\} ?| \[Op:\w+\].*$", re.DOTALL)


class NativeEvaluator:
    """Plays episodes in `threads` threads; results do not depend on their number. Use as a context manager.

    Args:
        ops: Path of the op library.
        noise: Path of the noise table.
        layout: The network and its number of actions.
        game: Game id.
        protocol: How episodes are played.
        threads: Episodes at once.
        behaviour: What results describe their episodes by: `none`, `ram` or `final_position`.

    Attributes:
        layout: The network.

    Raises:
        NeurozooError: The library, the table or the ROM is missing or does not fit, or the game does not give the
            behaviour.
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
        behaviour: str = "none",
    ) -> None:
        self._tf = import_tensorflow()
        self._ops = load_ops(ops)
        self._held: dict[Genome, int] = {}
        self._shared: Genome | None = None  # a held beginning of many genomes, while these are decoded
        self.layout = layout
        self._behaviour = check_behaviour(game, behaviour)
        self._protocol = protocol
        self._handle = None
        self._handle = self._call(
            self._ops.neurozoo_evaluator,
            **world_attributes(game, protocol),
            behaviour=behaviour,
            plan=layout.plan().ravel().tolist(),
            plan_scales=layout.plan_scales().ravel().tolist(),
            noise_path=str(Path(noise).resolve()),
            num_threads=threads,
            shared_name=f"neurozoo-{uuid.uuid4()}",
        )

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets what virtual batch norm is computed from: float32, (batch, height, width, channels).

        Raises:
            NeurozooError: The observations have another shape.
        """
        self._call(self._ops.neurozoo_reference, handle=self._handle, observations=np.asarray(observations, np.float32))

    def hold(self, genomes: Iterable[Genome]) -> None:
        """Keeps these genomes' weights in memory (16 MB each for `large`) instead of the ones held before.

        What is held already, or is a child of it, costs no or one mutation; everything else is decoded from scratch.

        Raises:
            NeurozooError: A noise index lies outside the table.
        """
        genomes = tuple(dict.fromkeys(genomes))
        if shared := self._shared_ancestor(genomes):
            self._hold((*self._held, shared))
            self._shared = shared
        try:
            self._hold(genomes)
        finally:
            self._shared = None

    def _shared_ancestor(self, genomes: tuple[Genome, ...]) -> Genome | None:
        """Finds what most of the genomes that have to be decoded from scratch begin with, so that it is done once."""
        fresh = [genome for genome in genomes if self._held_ancestor(genome)[0] < 0 and genome.mutations]
        if len(fresh) < 2 or len({genome.initial for genome in fresh}) > 1:
            return None
        length = 0
        for genes in zip(*(genome.mutations for genome in fresh), strict=False):
            if len(set(genes)) > 1:
                break
            length += 1
        return Genome(fresh[0].initial, fresh[0].mutations[:length]) if length > 1 else None

    def _hold(self, genomes: tuple[Genome, ...]) -> None:
        bases, initials, weights, rows, starts, mutations = [], [], [], [], [0], []
        for genome in genomes:
            slot, rest = self._held_ancestor(genome)
            is_noise = isinstance(genome.initial, int)
            bases.append(slot)
            initials.append(genome.initial if is_noise else 0)
            rows.append(-1 if is_noise or slot >= 0 else len(weights))
            if rows[-1] >= 0:
                weights.append(self._checked(genome.initial))
            mutations.extend(rest)
            starts.append(len(mutations))
        self._call(
            self._ops.neurozoo_hold,
            handle=self._handle,
            bases=np.array(bases, np.int32),
            initials=np.array(initials, np.int64),
            weights=np.array(weights, np.float32).reshape(len(weights), self.layout.parameter_count),
            weight_rows=np.array(rows, np.int32),
            starts=np.array(starts, np.int64),
            indices=np.array([index for index, _ in mutations], np.int64),
            powers=np.array([power for _, power in mutations], np.float32),
        )
        self._held = {genome: slot for slot, genome in enumerate(genomes)}

    def _checked(self, weights: Weights) -> np.ndarray:
        count = self.layout.parameter_count
        if weights.theta.shape != (count,):
            raise NeurozooError(
                f"The network has {count:,} parameters, but weights of shape {weights.theta.shape} came."
            )
        return weights.theta

    def _held_ancestor(self, genome: Genome) -> tuple[int, tuple]:
        if genome in self._held:
            return self._held[genome], ()
        if genome.parent in self._held:
            return self._held[genome.parent], genome.mutations[-1:]
        if self._shared is not None and genome.initial == self._shared.initial:
            length = len(self._shared.mutations)
            if genome.mutations[:length] == self._shared.mutations:
                return self._held[self._shared], genome.mutations[length:]
        return -1, genome.mutations

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number.

        Raises:
            NeurozooError: A genome is neither held nor a child of a held one, or reaches beyond the noise table.
        """
        parents, indices, powers = [], [], []
        for episode in episodes.values():
            slot, rest = self._held_ancestor(episode.genome)
            if slot < 0 and (rest or not isinstance(episode.genome.initial, int)):
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
        *columns, behaviours, sizes = self._call(self._ops.neurozoo_receive, handle=self._handle, timeout=timeout)
        numbers, *facts = (column.numpy().tolist() for column in columns)
        parts = shaped_behaviours(behaviours.numpy(), sizes.numpy(), behaviour=self._behaviour, protocol=self._protocol)
        return {
            number: EpisodeResult(score, steps, frames, seconds, sign_score, part)
            for number, score, sign_score, steps, frames, seconds, part in zip(numbers, *facts, parts, strict=True)
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
        return call_op(op, **inputs)


def call_op(op: Callable, **inputs: object):
    """Runs one of the library's ops on the CPU, and says in a sentence what it complains about.

    Args:
        op: A function of the module that `load_ops` returns.
        inputs: Its inputs and attributes.

    Returns:
        What the op returns: one tensor, or a named tuple of them.

    Raises:
        NeurozooError: The op failed.
    """
    import tensorflow as tf

    try:
        with tf.device("CPU:0"):
            return op(**inputs)
    except tf.errors.OpError as error:
        raise NeurozooError(_AROUND_MESSAGE.sub("", error.message)) from error


def shaped_behaviours(
    data: np.ndarray, sizes: np.ndarray, *, behaviour: str, protocol: Protocol
) -> list[np.ndarray | None]:
    """Cuts the bytes of several episodes' behaviours into an array for each, see `EpisodeResult`.

    Args:
        data: uint8, (bytes,), one episode after the other.
        sizes: int64, (episodes,), bytes of each.
        behaviour: `none`, `ram` or `final_position`.
        protocol: Whose world it was.
    """
    if behaviour == "none":
        return [None] * len(sizes)
    # Copies, so that the batch's bytes can go.
    parts = [part.copy() for part in np.split(data, np.cumsum(sizes)[:-1])] if len(sizes) else []
    if behaviour == "ram":
        return [part.reshape(-1, RAM_BYTES) for part in parts]
    return [part.view(np.float32).reshape(-1, POSITION_SIZES[protocol.world]) for part in parts]


def world_attributes(game: str, protocol: Protocol) -> dict[str, object]:
    """Returns the attributes by which an op is told what is played."""
    if protocol.world == "river_crossing":
        return {"world": "river_crossing", "rules": protocol.rules, "observation": protocol.observation}
    if protocol.world != "atari":
        return {"world": protocol.world}
    start_ram = START_STATES[game] if protocol.start_state == "2018" else {}
    return {
        "world": "atari",
        "rom": str(rom_path(game)),
        "actions": list(action_codes(game, protocol.action_set)),
        "start_actions": list(start_actions(game, protocol)),
        "start_ram": [number for cell in start_ram.items() for number in cell],
        "sticky_probability": protocol.sticky_probability,
        "frame_skip": protocol.frame_skip,
        "least_frame_skip": protocol.least_frame_skip or protocol.frame_skip,
        "preprocessing": protocol.preprocessing,
    }
