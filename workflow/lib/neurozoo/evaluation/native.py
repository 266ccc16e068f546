"""The native engine: plays whole episodes in threads of the op, one episode per thread."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from neurozoo.environments.games import POSITION_SIZES, RAM_BYTES, action_codes, check_behaviour, rom_path
from neurozoo.environments.protocols import START_STATES, Protocol, start_actions
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.native import load_ops
from neurozoo.native.resource import Resource
from neurozoo.networks.chains import Layout
from neurozoo.networks.native_plan import native_plan, plan_scales


class NativeEvaluator(Evaluator):
    """Plays episodes in C++ threads, one in each. Results do not depend on their number.

    For the arguments, see `make_evaluator`.

    Raises:
        NeurozooError: The library, the table or the ROM is missing or does not fit, or the game does not have the
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
        self._ops = load_ops(ops)
        self._pinned: dict[Genome, int] = {}
        self._shared: Genome | None = None  # common ancestor of many genomes, pinned while they are decoded
        self.layout = layout
        self._behaviour = check_behaviour(game, behaviour)
        self._protocol = protocol
        self._evaluator = Resource(
            self._ops.neurozoo_evaluator,
            name="evaluator",
            **world_attributes(game, protocol),
            behaviour=behaviour,
            plan=native_plan(layout).ravel().tolist(),
            plan_scales=plan_scales(layout).ravel().tolist(),
            noise_path=str(Path(noise).resolve()),
            num_threads=threads,
        )

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the reference batch of virtual batch norm: float32, (batch, height, width, channels)."""
        self._evaluator.call(self._ops.neurozoo_reference, observations=np.asarray(observations, np.float32))

    def pin(self, genomes: Iterable[Genome]) -> None:
        """Keeps these genomes' weights in memory (16 MB each for `large`) instead of those that were pinned before.

        A genome that is already pinned costs nothing, a child of one costs one mutation. Others are decoded completely.
        """
        genomes = tuple(dict.fromkeys(genomes))
        if shared := self._shared_ancestor(genomes):
            self._pin((*self._pinned, shared))
            self._shared = shared
        try:
            self._pin(genomes)
        finally:
            self._shared = None

    def _shared_ancestor(self, genomes: tuple[Genome, ...]) -> Genome | None:
        """Finds the common ancestor of all genomes that have to be decoded completely, so that it is decoded once."""
        fresh = [genome for genome in genomes if self._pinned_ancestor(genome)[0] < 0 and genome.mutations]
        if len(fresh) < 2 or len({genome.initial for genome in fresh}) > 1:
            return None
        length = 0
        for genes in zip(*(genome.mutations for genome in fresh), strict=False):
            if len(set(genes)) > 1:
                break
            length += 1
        return Genome(fresh[0].initial, fresh[0].mutations[:length]) if length > 1 else None

    def _pin(self, genomes: tuple[Genome, ...]) -> None:
        bases, initials, rows, starts = [], [], [], [0]
        weights: list[np.ndarray] = []
        mutations: list[Mutation] = []
        for genome in genomes:
            slot, rest = self._pinned_ancestor(genome)
            initial = genome.initial
            bases.append(slot)
            initials.append(initial if isinstance(initial, int) else 0)
            if isinstance(initial, int) or slot >= 0:
                rows.append(-1)
            else:
                if initial.theta.shape != (self.layout.parameter_count,):
                    raise NeurozooError(
                        f"The network has {self.layout.parameter_count:,} parameters, but got weights of shape "
                        f"{initial.theta.shape}."
                    )
                rows.append(len(weights))
                weights.append(initial.theta)
            mutations.extend(rest)
            starts.append(len(mutations))
        self._evaluator.call(
            self._ops.neurozoo_hold,
            bases=np.array(bases, np.int32),
            initials=np.array(initials, np.int64),
            weights=np.array(weights, np.float32).reshape(len(weights), self.layout.parameter_count),
            weight_rows=np.array(rows, np.int32),
            starts=np.array(starts, np.int64),
            indices=np.array([index for index, _ in mutations], np.int64),
            powers=np.array([power for _, power in mutations], np.float32),
        )
        self._pinned = {genome: slot for slot, genome in enumerate(genomes)}

    def _pinned_ancestor(self, genome: Genome) -> tuple[int, tuple[Mutation, ...]]:
        if genome in self._pinned:
            return self._pinned[genome], ()
        if genome.parent in self._pinned:
            return self._pinned[genome.parent], genome.mutations[-1:]
        if self._shared is not None and genome.initial == self._shared.initial:
            length = len(self._shared.mutations)
            if genome.mutations[:length] == self._shared.mutations:
                return self._pinned[self._shared], genome.mutations[length:]
        return -1, genome.mutations

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number."""
        parents, indices, powers = [], [], []
        for episode in episodes.values():
            slot, rest = self._pinned_ancestor(episode.genome)
            if slot < 0 and (rest or not isinstance(episode.genome.initial, int)):
                raise NeurozooError("An episode's genome or its parent must be pinned first.")
            parents.append(slot)
            if slot < 0:
                indices.append(episode.genome.initial)
                powers.append(0.0)
            else:
                indices.append(rest[0].index if rest else -1)
                powers.append(rest[0].power if rest else 0.0)
        self._evaluator.call(
            self._ops.neurozoo_submit,
            ids=np.array(list(episodes), np.int64),
            parents=np.array(parents, np.int32),
            noise_indices=np.array(indices, np.int64),
            powers=np.array(powers, np.float32),
            noops=np.array([episode.noops for episode in episodes.values()], np.int64),
            seeds=np.array([episode.seed for episode in episodes.values()], np.int64),
            max_frames=np.array([episode.max_frames for episode in episodes.values()], np.int64),
        )

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns the results of finished episodes by number; none after `timeout` seconds without any."""
        *columns, behaviours, sizes = self._evaluator.call(self._ops.neurozoo_receive, timeout=timeout)
        numbers, *facts = (column.numpy().tolist() for column in columns)
        parts = shaped_behaviours(behaviours.numpy(), sizes.numpy(), behaviour=self._behaviour, protocol=self._protocol)
        return {
            number: EpisodeResult(score, steps, frames, seconds, sign_score, part)
            for number, score, sign_score, steps, frames, seconds, part in zip(numbers, *facts, parts, strict=True)
        }

    def parameters(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a pinned genome: float32, shape (parameters,)."""
        return self._evaluator.call(self._ops.neurozoo_parameters, slot=self._pinned[genome]).numpy()

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome and records every step (28 kB each)."""
        columns = self._evaluator.call(
            self._ops.neurozoo_trace,
            slot=self._pinned[episode.genome],
            noops=np.int64(episode.noops),
            seed=np.int64(episode.seed),
            max_frames=np.int64(episode.max_frames),
        )
        return Trace(*(column.numpy() for column in columns))

    def close(self) -> None:
        """See `Evaluator`."""
        self._evaluator.close()


def shaped_behaviours(
    data: np.ndarray, sizes: np.ndarray, *, behaviour: str, protocol: Protocol
) -> list[np.ndarray | None]:
    """Splits the bytes of several behaviours into one array per episode; see `EpisodeResult`.

    Args:
        data: uint8, (bytes,), one episode after the other.
        sizes: int64, (episodes,), number of bytes of each.
        behaviour: `none`, `ram` or `final_position`.
        protocol: The protocol of the episodes.
    """
    if behaviour == "none":
        return [None] * len(sizes)
    # Copies, so that the bytes of the whole batch can be freed.
    parts = [part.copy() for part in np.split(data, np.cumsum(sizes)[:-1])] if len(sizes) else []
    if behaviour == "ram":
        return [part.reshape(-1, RAM_BYTES) for part in parts]
    return [part.view(np.float32).reshape(-1, POSITION_SIZES[protocol.world]) for part in parts]


def world_attributes(game: str, protocol: Protocol) -> dict[str, object]:
    """Returns the attributes that tell an op which environment to make."""
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
