"""The batched engine: plays many episodes in lockstep, with environments in C++ and all networks as one Keras batch."""

import itertools
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from neurozoo.environments.games import check_behaviour
from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import DEFAULT_SLOTS, Episode, EpisodeResult, Evaluator, Trace
from neurozoo.evaluation.array_backends import make_backend
from neurozoo.evaluation.pinned_weights import PinnedWeights
from neurozoo.evaluation.slot_networks import SlotNetworks, memory_needed
from neurozoo.evaluation.world_pool import BEGUN, ENDED, PLAYING, WorldPool
from neurozoo.genomes.genome import Genome
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.networks.chains import Layout


class Usage(NamedTuple):
    """Counters of an evaluator since its start."""

    decisions: int  # steps of all environments
    world_seconds: float  # wall time in which at least one environment was stepped


@dataclass
class _Job:
    """A queued episode."""

    number: int
    episode: Episode
    make: Callable[[], np.ndarray]  # makes its weights
    reference: object  # reference batch of virtual batch norm
    weights: Future | None = None  # the weights on the device, once `make` has been started


@dataclass
class _Half:
    """Half of the slots. While its environments step, the device computes the networks of the other half."""

    first: int  # index of its first slot
    networks: SlotNetworks
    planes: np.ndarray  # the newest plane of each environment
    states: np.ndarray
    rewards: np.ndarray
    playing: dict[int, tuple[_Job, float]] = field(default_factory=dict)  # by slot: episode, start
    step: Future | None = None  # the current step of the environments


class BatchedEvaluator(Evaluator):
    """Plays one episode per slot at the same time, on a GPU if there is one. See `make_evaluator` for the arguments.

    Results equal those of the native engine except for rounding: if two outputs are almost equal, the action may
    differ. They do not depend on the number of threads.

    Episodes only advance during `receive`, which steps the two halves of the slots in turn: threads step the
    environments of one half while the device computes the networks of the other. A thread that finds no environment
    left goes on with the other half, if its outputs are there.

    Attributes:
        announcement: A sentence about the device and its memory.
        device: The device that computes the networks, such as `cuda:0`.
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
        slots: int = DEFAULT_SLOTS,
        behaviour: str = "none",
    ) -> None:
        if slots < 2 or slots % 2:
            raise NeurozooError(f"The number of slots should be even and at least 2, but got {slots}.")
        self._backend = make_backend()
        self.device = self._backend.device
        self._core = core
        self._pinned = PinnedWeights(open_noise_table(noise, verify=False), layout)
        self.layout = layout
        check_behaviour(game, behaviour)
        shape = observation_shape(game, protocol)
        self._repeats_first = shape.repeats_first
        self._plane_shape = (shape.height, shape.width, shape.channels)
        self.announcement = self._check_memory(slots, threads)
        self._pool: dict[str, Any] = {"game": game, "protocol": protocol, "threads": threads, "behaviour": behaviour}
        self._worlds = WorldPool(core, worlds=slots, **self._pool)
        self._halves = [self._make_half(first, slots // 2) for first in (0, slots // 2)]
        self._queue: deque[_Job] = deque()
        self._reference: object = None
        self._tracer: tuple[_Half, WorldPool] | None = None
        self._threads = threads
        self._makers = ThreadPoolExecutor(threads)
        self._steppers = ThreadPoolExecutor(len(self._halves))
        self._decisions, self._world_seconds = 0, 0.0
        self._usage_lock = threading.Lock()
        self._stepping, self._since = 0, 0.0  # halves whose environments are stepped, and when that number changed

    def _check_memory(self, slots: int, threads: int) -> str:
        needed, free = memory_needed(self.layout, slots, waiting=threads + 1), self._backend.free_bytes()
        name = self.layout.network.name
        if needed > free:
            waiting = memory_needed(self.layout, 0, waiting=threads + 1)
            most = max(0, int((free - waiting) / (needed - waiting) * slots)) // 2 * 2
            advice = f"Use at most {most} slots" if most else "Use engine: native"
            raise NeurozooError(
                f"{slots} slots of network {name!r} need {needed / 1e9:.1f} GB, but {free / 1e9:.1f} GB are free on "
                f"{self.device}. {advice}."
            )
        return (
            f"Batched engine: {slots} slots of network {name!r} need about {needed / 1e9:.1f} of {free / 1e9:.1f} GB "
            f"that are free on {self.device}, with Keras on {self._backend.name}"
        )

    def _make_half(self, first: int, slots: int) -> _Half:
        networks = SlotNetworks(self.layout, slots=slots, backend=self._backend, repeats_first=self._repeats_first)
        planes = np.zeros((slots, *self._plane_shape), np.float32)
        return _Half(first, networks, planes, np.zeros(slots, np.uint8), np.zeros(slots))

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the reference batch of virtual batch norm: float32, (batch, height, width, channels)."""
        self._reference = self._backend.array(self.layout.check_reference(observations)[None])

    def pin(self, genomes: Iterable[Genome]) -> None:
        """See `PinnedWeights.pin`."""
        self._pinned.pin(genomes, self._makers)

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number."""
        if self.layout.needs_reference and self._reference is None:
            raise NeurozooError(
                "The network's virtual batch norm needs reference observations, but none have been set."
            )
        makers = {number: self._pinned.maker(episode.genome) for number, episode in episodes.items()}
        self._queue += [_Job(number, episodes[number], make, self._reference) for number, make in makers.items()]

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Plays until episodes finish, for up to `timeout` seconds, and returns their results by number."""
        end = time.monotonic() + timeout
        results: dict[int, EpisodeResult] = {}
        while not results:
            for half in self._halves:
                results |= self._play_on(half)
            if time.monotonic() >= end or not (self._queue or any(half.playing for half in self._halves)):
                break
        if not results:
            time.sleep(max(0.0, end - time.monotonic()))
        return results

    def _play_on(self, half: _Half) -> dict[int, EpisodeResult]:
        """Waits for the environments of a half, computes their networks and starts their next step."""
        results: dict[int, EpisodeResult] = {}
        if half.step is not None:
            half.planes, half.rewards, half.states = half.step.result()
            half.step = None
            results = self._finished(half)
        self._refill(half)
        if half.playing:
            outputs = half.networks.step(half.planes, half.states == BEGUN)
            half.step = self._steppers.submit(self._step, half.first, outputs)
        return results

    def _step(self, first: int, outputs: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        values = np.asarray(outputs)  # waits for the device
        self._count(1)
        try:
            news = self._worlds.advance(first, values)
        finally:
            self._count(-1)
        with self._usage_lock:
            self._decisions += int(np.count_nonzero(news[2] >= PLAYING))
        return news

    @property
    def usage(self) -> Usage:
        """Counters of steps and time up to now."""
        self._count(0)
        return Usage(self._decisions, self._world_seconds)

    def _count(self, change: int) -> None:
        """Counts the time in which environments are stepped; once, if both halves are stepped."""
        with self._usage_lock:
            now = time.perf_counter()
            if self._stepping:
                self._world_seconds += now - self._since
            self._stepping, self._since = self._stepping + change, now

    def _finished(self, half: _Half) -> dict[int, EpisodeResult]:
        ended = np.flatnonzero(half.states == ENDED).tolist()
        if not ended:
            return {}
        outcomes = self._worlds.outcomes([half.first + slot for slot in ended])
        results, now = {}, time.monotonic()
        for slot, (score, sign_score, steps, frames, behaviour) in zip(ended, outcomes, strict=True):
            job, begin = half.playing.pop(slot)
            results[job.number] = EpisodeResult(score, steps, frames, now - begin, sign_score, behaviour)
        return results

    def _refill(self, half: _Half) -> None:
        """Gives free slots to queued episodes, but leaves as many episodes to the other half."""
        playing = sum(len(other.playing) for other in self._halves)
        wanted = -(-(len(self._queue) + playing) // 2) - len(half.playing)
        free = [slot for slot in range(half.networks.slots) if slot not in half.playing]
        jobs = [self._queue.popleft() for _ in range(min(wanted, len(free), len(self._queue)))]
        if not jobs:
            return
        slots = free[: len(jobs)]
        upcoming = [*jobs, *itertools.islice(self._queue, self._threads)]
        for index, (slot, job) in enumerate(zip(slots, jobs, strict=True)):
            for soon in upcoming[index : index + 1 + self._threads]:  # no more, since each needs the memory of a slot
                soon.weights = soon.weights or self._makers.submit(half.networks.on_device, soon.make)
            assert job.weights is not None  # this job is the first of the upcoming ones
            half.networks.load(slot, job.weights.result(), job.reference)
            half.playing[slot] = job, time.monotonic()
            job.weights = None
        self._worlds.start([half.first + slot for slot in slots], [job.episode for job in jobs])

    def parameters(self, genome: Genome) -> np.ndarray:
        """Returns the weights of a pinned genome: float32, shape (parameters,)."""
        return self._pinned[genome]

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome, alone, and records every step (28 kB each)."""
        if self._tracer is None:
            self._tracer = self._make_half(0, 1), WorldPool(self._core, worlds=1, **self._pool | {"threads": 1})
        half, worlds = self._tracer
        half.networks.load(0, half.networks.on_device(lambda: self._pinned[episode.genome]), self._reference)
        worlds.start([0], [episode])
        planes, outputs, rewards = [], [], []
        news = worlds.advance(0, np.zeros((1, self.layout.num_actions), np.float32))
        while news[2][0] != ENDED:
            planes.append(news[0][0])
            outputs.append(np.asarray(half.networks.step(news[0], news[2] == BEGUN)))
            news = worlds.advance(0, outputs[-1])
            rewards.append(news[1][0])
        return Trace(np.stack(planes), np.concatenate(outputs), np.array(rewards, np.float32))

    def close(self) -> None:
        """See `Evaluator`."""
        self._queue.clear()
        self._steppers.shutdown(wait=True, cancel_futures=True)
        self._makers.shutdown(wait=True, cancel_futures=True)
        for worlds in (self._worlds, *(self._tracer or ())[1:]):
            worlds.close()
        self._halves, self._tracer, self._reference = [], None, None
