"""The stepwise engine: plays episodes in Python, one at a time. Gymnasium environments and mazes need it."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import numpy as np

from neurozoo.environments import make_world
from neurozoo.environments.games import check_behaviour
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.evaluation.pinned_weights import PinnedWeights
from neurozoo.genomes.genome import Genome
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.chains import Layout
from neurozoo.networks.numpy_networks import plain_network
from neurozoo.randomness import Purpose, generator

SUMS = "observation_sums"  # a behaviour of Gymnasium's environments, from which statistics are computed


class StepwiseEvaluator(Evaluator):
    """Plays episodes of any game in this process. Sums are rounded in another order than in the native core.

    For the arguments, see `make_evaluator`. Networks have dense layers, and convolutions that are not normalised; the
    behaviour may also be `observation_sums`.
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
        self._pinned = PinnedWeights(open_noise_table(noise, verify=False), layout)
        self._layout = layout
        self._behaviour = behaviour if behaviour == SUMS else check_behaviour(game, behaviour)
        self._reference: np.ndarray | None = None
        self._world = make_world(game, protocol)
        self._queue: deque[tuple[int, Episode, Callable[[], np.ndarray]]] = deque()

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the mean and the standard deviation by which a network with statistics scales its observations."""
        self._reference = self._layout.check_reference(observations)

    def pin(self, genomes: Iterable[Genome]) -> None:
        """See `PinnedWeights.pin`."""
        self._pinned.pin(genomes)

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number."""
        self._queue += [(number, episode, self._pinned.maker(episode.genome)) for number, episode in episodes.items()]

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Plays queued episodes for about `timeout` seconds, at least one."""
        end = time.monotonic() + timeout
        results: dict[int, EpisodeResult] = {}
        while self._queue and (not results or time.monotonic() < end):
            number, episode, make = self._queue.popleft()
            results[number] = self._play(episode, make())
        return results

    def parameters(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a pinned genome: float32, shape (parameters,)."""
        return self._pinned[genome]

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome and records every step."""
        seen: list[tuple] = []
        self._play(episode, self._pinned[episode.genome], seen)
        planes, outputs, rewards = zip(*seen, strict=True)
        return Trace(np.stack(planes), np.stack(outputs), np.array(rewards, np.float32))

    def _play(self, episode: Episode, theta: np.ndarray, seen: list[tuple] | None = None) -> EpisodeResult:
        """Plays an episode, and adds plane, outputs and reward of each step to `seen`."""
        begin = time.monotonic()
        world, run = self._world, self._network(theta)
        world.protocol = replace(world.protocol, max_frames=episode.max_frames)
        observation = world.reset(noops=episode.noops, seed=episode.seed)
        random = generator((episode.seed,), Purpose.ACTION_NOISE) if episode.action_noise else None
        score, sign_score, ram = 0.0, 0.0, []
        sums = np.zeros((2, observation.size))
        while not world.is_done:
            plane, outputs = world.plane, run(observation)
            if self._behaviour == SUMS:
                numbers = observation.reshape(-1).astype(np.float64)
                sums += (numbers, numbers * numbers)
            action = outputs
            if random is not None:
                action = outputs + np.float32(episode.action_noise) * random.standard_normal(len(outputs), np.float32)
            observation, reward, _ = world.act(action)
            score += reward
            sign_score += float(np.sign(reward))
            if self._behaviour == "ram":
                ram.append(world.ram)
            if seen is not None:
                seen.append((plane, outputs, reward))
        behaviour = self._described(ram, sums)
        return EpisodeResult(score, world.steps, world.frames, time.monotonic() - begin, sign_score, behaviour)

    def _described(self, ram: list[np.ndarray], sums: np.ndarray) -> np.ndarray | None:
        if self._behaviour == SUMS:
            return sums
        if self._behaviour == "ram":
            return np.stack(ram)
        return self._world.final_positions if self._behaviour == "final_position" else None

    def _network(self, theta: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        network, reference = plain_network(self._layout, theta), self._reference
        if not self._layout.needs_statistics:
            return network
        if reference is None:
            raise NeurozooError(
                f"The network {self._layout.network.name!r} needs the mean and standard deviation of observations, but "
                "none have been set."
            )
        return lambda observation: network(self._layout.normalise(observation, reference))

    def close(self) -> None:
        """Drops queued episodes and closes the environment."""
        self._queue.clear()
        self._world.close()
