"""The native engine: plays whole episodes in threads of the core, one episode per thread."""

import os
from collections.abc import Iterable, Mapping
from types import SimpleNamespace

import numpy as np

from neurozoo.environments.games import POSITION_SIZES, RAM_BYTES, action_codes, check_behaviour, rom_path
from neurozoo.environments.protocols import START_STATES, Protocol, start_actions
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.native import load_core
from neurozoo.native.functions import Object
from neurozoo.networks.chains import Layout
from neurozoo.networks.native_plan import native_plan, plan_scales


class NativeEvaluator(Evaluator):
    """Plays episodes in C++ threads, one in each. Results do not depend on their number.

    For the arguments, see `make_evaluator`.
    """

    def __init__(
        self,
        *,
        core: str | os.PathLike,
        noise: str | os.PathLike,
        layout: Layout,
        game: str,
        protocol: Protocol,
        threads: int = 1,
        behaviour: str = "none",
    ) -> None:
        self._native = load_core(core)
        self._pinned: dict[Genome, int] = {}
        self._shared: Genome | None = None  # common ancestor of many genomes, pinned while they are decoded
        self.layout = layout
        self._behaviour = check_behaviour(game, behaviour)
        self._protocol = protocol
        self._evaluator: Object = self._native.make_evaluator(
            world=make_world(self._native, game, protocol),
            behaviour=behaviour,
            plan=native_plan(layout),
            plan_scales=plan_scales(layout),
            noise_path=os.path.realpath(noise),
            num_threads=threads,
        )

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the reference batch of virtual batch norm: float32, (batch, height, width, channels)."""
        self._native.set_reference(evaluator=self._evaluator, observations=observations)

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
        self._native.hold_genomes(
            evaluator=self._evaluator,
            bases=bases,
            initials=initials,
            weights=weights,
            weight_rows=rows,
            starts=starts,
            indices=[index for index, _ in mutations],
            powers=[power for _, power in mutations],
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
        self._native.submit_episodes(
            evaluator=self._evaluator,
            ids=list(episodes),
            parents=parents,
            noise_indices=indices,
            powers=powers,
            **starts_of(episodes.values()),
        )

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns the results of finished episodes by number; none after `timeout` seconds without any."""
        *columns, data, sizes = self._native.receive_episodes(evaluator=self._evaluator, timeout=timeout)
        facts = (column.tolist() for column in columns)
        parts = shaped_behaviours(data, sizes, behaviour=self._behaviour, protocol=self._protocol)
        return {
            number: EpisodeResult(score, steps, frames, seconds, sign_score, part)
            for number, seconds, score, sign_score, steps, frames, part in zip(*facts, parts, strict=True)
        }

    def parameters(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a pinned genome: float32, shape (parameters,)."""
        return self._native.get_parameters(evaluator=self._evaluator, slot=self._pinned[genome])

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome and records every step (28 kB each)."""
        slot = self._pinned[episode.genome]
        return Trace(*self._native.trace_episode(evaluator=self._evaluator, slot=slot, **starts_of([episode])))

    def close(self) -> None:
        """See `Evaluator`."""
        self._evaluator.close()


def shaped_behaviours(
    data: np.ndarray, sizes: np.ndarray, *, behaviour: str, protocol: Protocol
) -> list[np.ndarray | None]:
    """Splits the bytes of several behaviours into one array per episode; see `EpisodeResult`.

    `data` is uint8, (bytes,), one episode after the other; `sizes` is int64, (episodes,), the number of bytes of each.
    """
    if behaviour == "none":
        return [None] * len(sizes)
    # Copies, so that the bytes of the whole batch can be freed.
    parts = [part.copy() for part in np.split(data, np.cumsum(sizes)[:-1])] if len(sizes) else []
    if behaviour == "ram":
        return [part.reshape(-1, RAM_BYTES) for part in parts]
    return [part.view(np.float32).reshape(-1, POSITION_SIZES[protocol.world]) for part in parts]


def starts_of(episodes: Iterable[Episode]) -> dict[str, list[int]]:
    """Returns how episodes start, as functions of the core take it."""
    episodes = list(episodes)
    return {
        "noops": [episode.noops for episode in episodes],
        "seeds": [episode.seed for episode in episodes],
        "max_frames": [episode.max_frames for episode in episodes],
    }


def make_world(native: SimpleNamespace, game: str, protocol: Protocol) -> Object:
    """Tells the core which environment to make."""
    if protocol.world == "river_crossing":
        return native.make_river_crossing(rules=protocol.rules, observation=protocol.observation)
    if protocol.world == "hard_maze":
        return native.make_hard_maze()
    start_ram = START_STATES[game] if protocol.start_state == "2018" else {}
    return native.make_atari_world(
        rom=rom_path(game),
        actions=action_codes(game, protocol.action_set),
        start_actions=start_actions(game, protocol),
        start_ram=list(start_ram.items()),
        sticky_probability=protocol.sticky_probability,
        frame_skip=protocol.frame_skip,
        least_frame_skip=protocol.least_frame_skip or protocol.frame_skip,
        preprocessing=protocol.preprocessing,
    )
