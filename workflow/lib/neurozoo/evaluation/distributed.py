"""Plays episodes on a Dask cluster. The results equal those of one process, even if workers come and go."""

import contextlib
import math
import os
import queue
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from distributed import Future, KilledWorker
from distributed.comm import CommClosedError

from neurozoo.compute.dask_clusters import open_cluster
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.evaluation.dask_worker import EvaluationJob, Parents, Part, forget, play_parts, same, trace_part
from neurozoo.genomes.genome import Genome

TASK_SECONDS = 1.5  # length of a task: hundreds of times Dask's overhead
MOST_TASKS_PER_SECOND = 200  # half of what one scheduler can do, see docs/dask.md; with more slots, tasks are longer
TASKS_PER_SLOT = 3  # given to Dask at a time, so that its adaptive scaling asks for more workers
CHECK_SECONDS = 2.0
MEMORY = 0.99  # decay per episode of the moving average of episode seconds


class DistributedEvaluator:
    """Plays episodes on the workers of a Dask cluster.

    Each worker process has its own evaluator, which maps the noise table (the processes of a node share its pages) and
    pins the same genomes. A task has a few numbers per episode. Pinned genomes travel once per worker, as mutations or,
    if they have none, as weights. Every episode has its own seed, so results do not depend on the worker: another
    worker repeats the tasks of a lost one.

    Args:
        make: Makes an evaluator on a worker: `make(threads=...)`. It is pickled.
        settings: Settings of the cluster.
        folder: Folder for keys and the workers' logs, which nothing else uses.

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
        self._job = EvaluationJob(uuid.uuid4().hex, make)
        self._sent_job: Future | None = None
        self._parents = Parents(0, ())
        self._sent_parents: Future | None = None
        self._places: dict[Genome, int] = {}
        self._unsent: deque[Part] = deque()
        self._tasks: dict[tuple[str, int], Future] = {}
        self._arrived: queue.SimpleQueue = queue.SimpleQueue()
        self._count = 0
        self._seconds = self._weight = 0.0  # decaying sums, for the average length of an episode
        self._slots, self._looked = settings.slots or 1, -math.inf
        self._is_closed = False

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the reference batch of virtual batch norm: float32, (batch, height, width, channels)."""
        self._job = EvaluationJob(uuid.uuid4().hex, self._job.make, np.asarray(observations, np.float32))
        self._sent_job = None

    def pin(self, genomes: Iterable[Genome]) -> None:
        """Lets workers pin these genomes instead of those that were pinned before, when they need them."""
        genomes = tuple(dict.fromkeys(genomes))
        if genomes == self._parents.genomes and self._sent_parents is not None:
            return
        self._parents = Parents(self._parents.key + 1, genomes)
        self._places = {genome: place for place, genome in enumerate(genomes)}
        self._sent_parents = None

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number.

        Raises:
            NeurozooError: Neither the genome nor its parent is pinned, or the cluster is gone.
        """
        self._unsent.extend(self._part(number, episode) for number, episode in episodes.items())
        self._send()

    def _part(self, number: int, episode: Episode) -> Part:
        genome = episode.genome
        base, parent = self._places.get(genome, -1), genome.parent
        gene: tuple[int, float] | int | None = None
        if base < 0 and parent is not None and (base := self._places.get(parent, -1)) >= 0:
            index, power = genome.mutations[-1]
            gene = (index, power)
        if base < 0:
            if genome.mutations or not isinstance(genome.initial, int):
                raise NeurozooError("An episode's genome or its parent must be pinned first.")
            gene = genome.initial
        return Part(number, base, gene, episode.noops, episode.seed, episode.max_frames, episode.action_noise)

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Returns the results of finished episodes by number; none after `timeout` seconds without any.

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

    def _take(self, key: tuple[str, int], status: str, outcome: Any) -> dict[int, EpisodeResult]:
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
                f"have enough memory? Their logs are in {self._cluster.folder / 'logs'}. Finished episodes are saved."
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
        """Gives tasks to Dask: long ones at first, shorter and shorter ones towards the end."""
        while self._unsent and len(self._tasks) < TASKS_PER_SLOT * self._slots:
            seconds = self._seconds / self._weight if self._weight else math.inf
            size = task_size(len(self._unsent), slots=self._slots, seconds=seconds)
            self._send_task([self._unsent.popleft() for _ in range(size)])

    def _send_task(self, parts: list[Part]) -> None:
        # The first part of a key names a group. Dask queues tasks for any free worker only if their group is large and
        # depends on a few small ones. Hence a new group for each set of genomes.
        group = f"{self._job.key}-{self._parents.key}"
        if self._sent_job is None:
            key = (f"job-{self._job.key}", 0)
            self._sent_job = self._client.submit(same, self._job, key=key)
        if self._sent_parents is None:
            self._sent_parents = self._client.submit(same, self._parents, key=(f"parents-{group}", 0))
        self._count += 1
        key = (f"episodes-{group}", self._count)
        future = self._client.submit(
            play_parts, self._sent_job, self._sent_parents, parts, key=key, pure=False, fifo_timeout="0ms"
        )
        self._tasks[key] = future
        assert self._client.loop is not None  # the client has started
        self._client.loop.add_callback(self._watch, key, future)

    async def _watch(self, key: tuple[str, int], future: Future) -> None:
        """Waits for a task's result, in Dask's own thread, and queues it for `receive`."""
        try:
            self._arrived.put((key, "finished", await future.result()))
        except BaseException as error:
            is_lost = future.status in ("cancelled", "lost") or self._client.status != "running"
            self._arrived.put((key, "failed", None if is_lost else error))

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome on a worker and records every step."""
        job, parents = (self._client.submit(same, value, pure=False) for value in (self._job, self._parents))
        return self._client.submit(trace_part, job, parents, self._part(0, episode), pure=False).result()

    def close(self) -> None:
        """Drops queued episodes, stops running ones, and ends the cluster if the run started it."""
        if self._is_closed:
            return
        self._is_closed = True
        self._unsent.clear()
        tasks, self._tasks = list(self._tasks.values()), {}
        with contextlib.suppress(Exception):  # a lost cluster has nothing left to close
            if self._client.status == "running" and self._cluster.settings.is_address:
                self._client.cancel(tasks)
                self._client.run(forget, self._job.key, on_error="ignore")
        self._stack.close()

    def __enter__(self) -> "DistributedEvaluator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def task_size(unsent: int, *, slots: int, seconds: float) -> int:
    """Returns the number of episodes of the next task.

    Tasks should be long enough to be efficient. Towards the end they get shorter, down to one episode, so that all
    workers finish at about the same time.

    Args:
        unsent: Number of episodes that are not in a task yet, at least 1.
        slots: Number of episodes that the cluster plays at once.
        seconds: Average length of an episode; infinite if unknown.
    """
    length = max(TASK_SECONDS, slots / MOST_TASKS_PER_SECOND)
    return max(1, min(int(length / max(seconds, 1e-9)), unsent // (2 * slots)))
