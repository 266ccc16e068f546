"""Episodes all over a Dask cluster; the same results as in one process, whoever comes and goes."""

import contextlib
import math
import os
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping

import numpy as np
from distributed import Future, KilledWorker
from distributed.comm import CommClosedError

from neurozoo.clusters.dask_clusters import open_cluster
from neurozoo.clusters.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.evaluation.players import Deck, Part, World, forget, play_parts, same, trace_part
from neurozoo.genomes import Genome

TASK_SECONDS = 1.5  # a task's length: hundreds of times what Dask needs for one
MOST_TASKS_PER_SECOND = 200  # half of what one scheduler can do, see docs/dask.md; with more slots tasks are longer
TASKS_PER_SLOT = 3  # given to Dask at a time, so that it sees that more workers would be welcome
CHECK_SECONDS = 2.0
MEMORY = 0.99  # what is left of the measured seconds of an episode after another one


class DistributedEvaluator:
    """Plays episodes on the workers of a Dask cluster.

    Each worker process has one evaluator of its own, which maps the noise table (once per node, since processes share
    its pages) and holds what the algorithm holds. Tasks are a few numbers per episode; held genomes travel once per
    worker as recipes, or as weights if there is no recipe. Since every episode has its own seed, results do not depend
    on who plays it, in which company or how often: what a lost worker was playing is played again by another.

    Args:
        make: Makes an evaluator on a worker: `make(threads=...)`. It is pickled.
        settings: Which cluster.
        folder: Folder of its own for keys and the workers' logs.

    Attributes:
        announcement: One line about the cluster.

    Raises:
        NeurozooError: The cluster cannot be used.
    """

    def __init__(self, make: Callable[..., Evaluator], *, settings: ClusterSettings, folder: str | os.PathLike) -> None:
        self._stack = contextlib.ExitStack()
        self._cluster = self._stack.enter_context(open_cluster(settings, folder=folder))
        self._client = self._cluster.client
        self.announcement = self._cluster.announcement
        self._world = World(uuid.uuid4().hex, make)
        self._sent_world: Future | None = None
        self._deck = Deck(0, ())
        self._sent_deck: Future | None = None
        self._places: dict[Genome, int] = {}
        self._unsent: deque[Part] = deque()
        self._tasks: dict[tuple[str, int], Future] = {}
        self._arrived: queue.SimpleQueue = queue.SimpleQueue()
        self._count = 0
        self._seconds = self._weight = 0.0  # of episodes, fading sums
        self._slots, self._looked = settings.slots or 1, -math.inf
        self._is_closed = False

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets what virtual batch norm is computed from: float32, (batch, height, width, channels)."""
        self._world = World(uuid.uuid4().hex, self._world.make, np.asarray(observations, np.float32))
        self._sent_world = None

    def hold(self, genomes: Iterable[Genome]) -> None:
        """Sends these genomes' recipes to workers that need them, instead of the ones held before."""
        genomes = tuple(dict.fromkeys(genomes))
        if genomes == self._deck.genomes and self._sent_deck is not None:
            return
        self._deck = Deck(self._deck.key + 1, genomes)
        self._places = {genome: place for place, genome in enumerate(genomes)}
        self._sent_deck = None

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number.

        Raises:
            NeurozooError: A genome is neither held nor a child of a held one, or the cluster is gone.
        """
        self._unsent.extend(self._part(number, episode) for number, episode in episodes.items())
        self._send()

    def _part(self, number: int, episode: Episode) -> Part:
        genome = episode.genome
        base, gene = self._places.get(genome, -1), None
        if base < 0 and genome.mutations and (base := self._places.get(genome.parent, -1)) >= 0:
            gene = tuple(genome.mutations[-1])
        if base < 0:
            gene = genome.initial
            if genome.mutations or not isinstance(gene, int):
                raise NeurozooError("An episode's genome or its parent must be held first.")
        return Part(number, base, gene, episode.noops, episode.seed, episode.max_frames)

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns finished episodes by number; an empty dictionary after `timeout` seconds without any.

        Raises:
            NeurozooError: A worker failed, or the cluster is gone.
        """
        self._check()
        self._send()
        results: dict[int, EpisodeResult] = {}
        with contextlib.suppress(queue.Empty):
            results |= self._take(*self._arrived.get(timeout=timeout))
            while True:
                results |= self._take(*self._arrived.get_nowait())
        self._send()
        return results

    def _take(self, key: tuple[str, int], status: str, outcome: object) -> dict[int, EpisodeResult]:
        if self._tasks.pop(key, None) is None:
            return {}
        if status != "finished":
            raise self._failure(outcome)
        results = {number: EpisodeResult(*facts) for number, *facts in outcome}
        for result in results.values():
            self._seconds = MEMORY * self._seconds + result.seconds
            self._weight = MEMORY * self._weight + 1
        return results

    def _failure(self, error: object) -> NeurozooError:
        if isinstance(error, NeurozooError):
            return NeurozooError(f"On a worker of the Dask cluster: {error}")
        if isinstance(error, KilledWorker):
            return NeurozooError(
                f"{error.allowed_failures + 1} workers were lost, one after the other, with the same episodes. Do they "
                f"have enough memory? What they say is in {self._cluster.folder / 'logs'}. Finished episodes are saved."
            )
        if error is None or isinstance(error, CommClosedError):
            return self._cluster.lost()
        return NeurozooError(f"A worker of the Dask cluster failed: {error!r}. Finished episodes are saved.")

    def _check(self) -> None:
        if self._is_closed:
            raise NeurozooError("The evaluator is closed.")
        self._cluster.check()
        if time.monotonic() - self._looked < CHECK_SECONDS:
            return
        self._looked = time.monotonic()
        self._slots = max(self._cluster.count_slots(), self._cluster.settings.slots, 1)

    def _send(self) -> None:
        """Gives Dask some tasks: long enough to be worth it, and shorter and shorter towards the end."""
        while self._unsent and len(self._tasks) < TASKS_PER_SLOT * self._slots:
            seconds = self._seconds / self._weight if self._weight else math.inf
            size = task_size(len(self._unsent), slots=self._slots, seconds=seconds)
            self._send_task([self._unsent.popleft() for _ in range(size)])

    def _send_task(self, parts: list[Part]) -> None:
        # A key's first part names a group. Dask keeps tasks in its queue, for whoever is free, only while their group
        # is large and depends on few others that are small: hence new groups for each set of genomes.
        group = f"{self._world.key}-{self._deck.key}"
        if self._sent_world is None:
            key = (f"world-{self._world.key}", 0)
            self._sent_world = self._client.submit(same, self._world, key=key)
        if self._sent_deck is None:
            self._sent_deck = self._client.submit(same, self._deck, key=(f"deck-{group}", 0))
        self._count += 1
        key = (f"episodes-{group}", self._count)
        future = self._client.submit(
            play_parts, self._sent_world, self._sent_deck, parts, key=key, pure=False, fifo_timeout="0ms"
        )
        self._tasks[key] = future
        self._client.loop.add_callback(self._watch, key, future)

    async def _watch(self, key: tuple[str, int], future: Future) -> None:
        """Brings a task's result here, in Dask's own thread."""
        try:
            self._arrived.put((key, "finished", await future.result()))
        except BaseException as error:
            is_lost = future.status in ("cancelled", "lost") or self._client.status != "running"
            self._arrived.put((key, "failed", None if is_lost else error))

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a held genome on a worker and records all of it."""
        world, deck = (self._client.submit(same, value, pure=False) for value in (self._world, self._deck))
        return self._client.submit(trace_part, world, deck, self._part(0, episode), pure=False).result()

    def close(self) -> None:
        """Drops what is queued, breaks off what runs, and ends the cluster if it came with the run."""
        if self._is_closed:
            return
        self._is_closed = True
        self._unsent.clear()
        tasks, self._tasks = list(self._tasks.values()), {}
        with contextlib.suppress(Exception):  # a lost cluster has nothing left to be closed
            if self._client.status == "running" and self._cluster.settings.is_address:
                self._client.cancel(tasks)
                self._client.run(forget, self._world.key, on_error="ignore")
        self._stack.close()

    def __enter__(self) -> "DistributedEvaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def task_size(unsent: int, *, slots: int, seconds: float) -> int:
    """Returns how many episodes a task gets: as many as take long enough, and fewer towards the end.

    The last tasks have one episode, so that all workers end at about the same time.

    Args:
        unsent: Episodes that are in no task yet, at least one.
        slots: Episodes that can be played at once.
        seconds: How long one takes; infinite if nobody knows.
    """
    length = max(TASK_SECONDS, slots / MOST_TASKS_PER_SECOND)
    return max(1, min(int(length / max(seconds, 1e-9)), unsent // (2 * slots)))
