"""Plays episodes on a Dask cluster. The results equal those of one process, even if workers come and go."""

import os
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
from distributed import Future

from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.evaluation.dask_tasks import DaskTasks
from neurozoo.evaluation.dask_worker import EvaluationJob, Parents, Part, forget, play_parts, same, trace_part
from neurozoo.genomes.genome import Genome


class DistributedEvaluator(Evaluator):
    """Plays episodes on the workers of a Dask cluster.

    Each worker process has its own evaluator, which maps the noise table (the processes of a node share its pages) and
    pins the same genomes. A task has a few numbers per episode. Pinned genomes travel once per worker, as mutations or,
    if they have none, as weights. Every episode has its own seed, so results do not depend on the worker: another
    worker repeats the tasks of a lost one.

    `make(threads=...)`, which is pickled, makes an evaluator on a worker. `folder` is for keys and logs only.
    """

    def __init__(self, make: Callable[..., Evaluator], *, settings: ClusterSettings, folder: str | os.PathLike) -> None:
        self._tasks = DaskTasks(settings, folder=folder)
        self._client = self._tasks.client
        self.announcement = self._tasks.announcement
        self._job = EvaluationJob(uuid.uuid4().hex, make)
        self._sent_job: Future | None = None
        self._parents = Parents(0, ())
        self._sent_parents: Future | None = None
        self._reference: np.ndarray | None = None
        self._sent_reference: Future | None = None
        self._places: dict[Genome, int] = {}
        self._unsent: deque[Part] = deque()

    def set_reference(self, observations: np.ndarray) -> None:
        """Sets the reference batch. Workers take it between two episodes; one that they have is not sent again."""
        assert not self._unsent  # receive all results first
        reference = np.asarray(observations, np.float32)
        if self._reference is None or not np.array_equal(reference, self._reference):
            self._reference = reference
            self._parents = Parents(self._parents.key + 1, self._parents.genomes)
            self._sent_reference = self._sent_parents = None

    def pin(self, genomes: Iterable[Genome]) -> None:
        """Lets workers pin these genomes instead of those that were pinned before, when they need them."""
        assert not self._unsent, "episodes are numbered by the genomes pinned now; receive all results first"
        genomes = tuple(dict.fromkeys(genomes))
        if genomes == self._parents.genomes and self._sent_parents is not None:
            return
        self._parents = Parents(self._parents.key + 1, genomes)
        self._places = {genome: place for place, genome in enumerate(genomes)}
        self._sent_parents = None

    def submit(self, episodes: Mapping[int, Episode]) -> None:
        """Queues episodes by number."""
        self._unsent.extend(self._part(number, episode) for number, episode in episodes.items())
        self._tasks.hand_out(self._unsent, self._send_task)

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
        """Returns the results of finished episodes by number; none after `timeout` seconds without any."""
        self._tasks.check()
        self._tasks.hand_out(self._unsent, self._send_task)
        results: dict[int, EpisodeResult] = {}
        for outcome in self._tasks.receive(timeout=timeout):
            results |= {number: EpisodeResult(*facts) for number, *facts in outcome}
        for result in results.values():
            self._tasks.took(result.seconds)
        self._tasks.hand_out(self._unsent, self._send_task)
        return results

    def _send_task(self, parts: list[Part]) -> None:
        group = f"{self._job.key}-{self._parents.key}"  # a new one for each set of genomes
        if self._sent_job is None:
            self._sent_job = self._tasks.share(self._job, name=f"job-{self._job.key}")
        if self._sent_parents is None:
            self._sent_parents = self._tasks.share(self._parents, name=f"parents-{group}")
        if self._sent_reference is None and self._reference is not None:
            self._sent_reference = self._tasks.share(self._reference, name=f"reference-{group}")
        shared = (self._sent_job, self._sent_parents, self._sent_reference)
        self._tasks.send(play_parts, *shared, parts, group=f"episodes-{group}")

    def trace(self, episode: Episode) -> Trace:
        """Plays one episode of a pinned genome on a worker and records every step."""
        values = (self._job, self._parents, self._reference)
        shared = [self._client.submit(same, value, pure=False) for value in values]
        return self._client.submit(trace_part, *shared, self._part(0, episode), pure=False).result()

    def close(self) -> None:
        """Drops queued episodes, stops running ones, and ends the cluster if the run started it."""
        self._unsent.clear()
        self._tasks.close(at_end=partial(forget, self._job.key))
