"""The stepwise engine: plays episodes in Python, one at a time. Gymnasium environments and mazes need it."""

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from neurozoo.environments import World, make_world
from neurozoo.environments.games import check_behaviour
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Trace
from neurozoo.genomes.genome import Genome, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.description import Layout
from neurozoo.networks.numpy_networks import dense_network, plain_network
from neurozoo.randomness import Purpose, generator

SUMS = "observation_sums"  # a behaviour of Gymnasium's environments, from which statistics are computed


class StepwiseEvaluator:
    """Plays episodes of any game in this process. Sums are rounded in another order than in the native op.

    Args:
        noise: Path of the noise table.
        layout: The network: dense layers, and convolutions that are not normalised.
        game: Game id.
        protocol: How episodes are played.
        behaviour: How results describe their episodes: `none`, `ram`, `final_position` or `observation_sums`.

    Raises:
        NeurozooError: The table is missing, or the game does not have the behaviour.
    """

    def __init__(
        self,
        *,
        noise: str | os.PathLike,
        layout: Layout,
        game: str,
        protocol: Protocol,
        behaviour: str = "none",
    ) -> None:
        self._noise = open_noise_table(noise, verify=False)
        self._layout = layout
        self._behaviour = behaviour if behaviour == SUMS else check_behaviour(game, behaviour)
        self._reference: np.ndarray | None = None
        self._world = make_world(game, protocol)
        self._pinned: dict[Genome, np.ndarray] = {}
        self._queue: list[tuple[int, Episode]] = []

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the mean and the standard deviation by which a network with statistics scales its observations."""
        self._reference = self._layout.check_reference(observations)

    def pin(self, genomes: Iterable[Genome]) -> None:
        """Keeps these genomes' weights in memory instead of those that were pinned before.

        Raises:
            NeurozooError: A noise index lies outside the table.
        """
        self._pinned = {genome: self._weights(genome) for genome in dict.fromkeys(genomes)}

    def _weights(self, genome: Genome) -> np.ndarray:
        if genome in self._pinned:
            return self._pinned[genome]
        if genome.parent in self._pinned:
            (index, power), count = genome.mutations[-1], self._layout.parameter_count
            return self._pinned[genome.parent] + np.float32(power) * self._noise[index : index + count]
        return decode(genome, noise=self._noise, layout=self._layout)

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number.

        Raises:
            NeurozooError: Neither the genome nor its parent is pinned.
        """
        for episode in episodes.values():
            genome = episode.genome
            if genome not in self._pinned and genome.parent not in self._pinned and genome.mutations:
                raise NeurozooError("An episode's genome or its parent must be pinned first.")
        self._queue += episodes.items()

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Plays queued episodes for about `timeout` seconds, at least one."""
        end = time.monotonic() + timeout
        results: dict[int, EpisodeResult] = {}
        while self._queue and (not results or time.monotonic() < end):
            number, episode = self._queue.pop(0)
            results[number] = self._play(episode)
        return results

    def parameters(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a pinned genome: float32, shape (parameters,)."""
        return self._pinned[genome]

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome and records every step."""
        planes, outputs, rewards = [], [], []

        def watch(plane: np.ndarray, values: np.ndarray, reward: float) -> None:
            planes.append(plane)
            outputs.append(values)
            rewards.append(reward)

        self._play(episode, watch)
        return Trace(np.stack(planes), np.stack(outputs), np.array(rewards, np.float32))

    def _play(self, episode: Episode, watch=None) -> EpisodeResult:
        begin = time.monotonic()
        world, run = self._world, self._network(self._weights(episode.genome))
        world.protocol = replace(world.protocol, max_frames=episode.max_frames)
        observation = world.reset(noops=episode.noops, seed=episode.seed)
        random = generator((episode.seed,), Purpose.ACTION_NOISE) if episode.action_noise else None
        score, sign_score, ram = 0.0, 0.0, []
        sums = np.zeros((2, observation.size))
        while not world.is_done:
            plane, outputs = world.plane, run(observation)
            if self._behaviour == SUMS:
                seen = observation.reshape(-1).astype(np.float64)
                sums += (seen, seen * seen)
            action = outputs
            if random is not None:
                action = outputs + np.float32(episode.action_noise) * random.standard_normal(len(outputs), np.float32)
            observation, reward, _ = world.act(action)
            score += reward
            sign_score += float(np.sign(reward))
            if self._behaviour == "ram":
                ram.append(world.ram)
            if watch is not None:
                watch(plane, outputs, reward)
        return EpisodeResult(
            score, world.steps, world.frames, time.monotonic() - begin, sign_score, self._described(world, ram, sums)
        )

    def _described(self, world: World, ram: list[np.ndarray], sums: np.ndarray) -> np.ndarray | None:
        if self._behaviour == SUMS:
            return sums
        if self._behaviour == "ram":
            return np.stack(ram)
        return world.final_positions if self._behaviour == "final_position" else None

    def _network(self, theta: np.ndarray):
        if self._layout.needs_statistics and self._reference is None:
            raise NeurozooError(
                f"The network {self._layout.network.name!r} needs the mean and standard deviation of observations, but "
                "none have been set."
            )
        if any(layer.kind == "conv" for layer in self._layout.network.layers):
            return plain_network(self._layout, theta)
        network = dense_network(self._layout, theta)

        def run(observation: np.ndarray) -> np.ndarray:
            if self._reference is not None:
                observation = self._layout.normalise(observation, self._reference)
            return network(observation.reshape(-1))

        return run

    def close(self) -> None:
        """Drops queued episodes and closes the environment."""
        self._queue.clear()
        self._world.close()

    def __enter__(self) -> "StepwiseEvaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
