"""The tasks of a Dask worker. All tasks of a run share one evaluator per process."""

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from distributed import get_worker

from neurozoo.evaluation import Episode, EpisodeResult, Evaluator, Trace
from neurozoo.genomes.genome import Genome

MOST_EVALUATORS = 4  # per worker process; one more closes the evaluator that has been idle longest
RECEIVE_SECONDS = 1.0


@dataclass(frozen=True)
class EvaluationJob:
    """How to make the evaluator of a run."""

    key: str  # unique name of the run
    make: Callable[..., Evaluator]  # make(threads=...)


@dataclass(frozen=True)
class Parents:
    """The genomes to pin while episodes of them and of their children are played."""

    key: int  # within the run; another one if the genomes change, or the reference that belongs to them
    genomes: tuple[Genome, ...]


@dataclass(frozen=True)
class Part:
    """An episode as a few numbers, relative to the parents."""

    number: int
    base: int  # index of a parent; -1 for none
    # The mutation of the parent, or None for the parent itself. Without a parent, the noise index of initial weights.
    gene: tuple[int, float] | int | None
    noops: int  # this and the others as in `Episode`
    seed: int
    max_frames: int
    action_noise: float = 0.0

    def episode(self, parents: Parents) -> Episode:
        """Returns the episode."""
        if isinstance(self.gene, int):
            genome = Genome(self.gene)
        else:
            parent = parents.genomes[self.base]
            genome = parent if self.gene is None else parent.mutated(*self.gene)
        return Episode(genome, self.noops, self.seed, self.max_frames, self.action_noise)


class SharedEvaluator:
    """Lets the tasks of several threads share one evaluator, so that its threads are never idle.

    One waiting thread receives the results for all. Other genomes are pinned, and another reference is set, only when
    no episode of the old ones runs, so that any evaluator works.
    """

    def __init__(self, job: EvaluationJob, threads: int) -> None:
        self._evaluator = job.make(threads=threads)
        self._numbers = itertools.count()
        self._change = threading.Condition()
        self._parents: int | None = None
        self._reference: np.ndarray | None = None
        self._open: set[int] = set()
        self._done: dict[int, EpisodeResult] = {}
        self._is_receiving = False
        self.users = 0  # tasks
        self.used = time.monotonic()  # for the last time

    def play(
        self, parents: Parents, reference: np.ndarray | None, episodes: dict[int, Episode]
    ) -> dict[int, EpisodeResult]:
        """Plays episodes and waits for all of them."""
        with self._change:
            self._pin(parents, reference)
            own = {next(self._numbers): number for number in episodes}
            self._evaluator.submit(dict(zip(own, episodes.values(), strict=True)))
            self._open.update(own)
        try:
            while not self._are_done(own):
                self._receive()
        except BaseException:
            with self._change:  # tasks with other parents must not wait for these episodes
                self._open.difference_update(own)
                self._change.notify_all()
            raise
        with self._change:
            return {number: self._done.pop(place) for place, number in own.items()}

    def trace(self, parents: Parents, reference: np.ndarray | None, episode: Episode) -> Trace:
        """Plays one episode of one of the parents and records every step."""
        with self._change:
            self._pin(parents, reference)
            return self._evaluator.trace(episode)

    def _pin(self, parents: Parents, reference: np.ndarray | None) -> None:
        while self._parents != parents.key and self._open:
            self._change.wait()
        if self._parents != parents.key:
            if reference is not None and reference is not self._reference:
                self._evaluator.set_reference(reference)
                self._reference = reference
            self._evaluator.pin(parents.genomes)
            self._parents = parents.key

    def _are_done(self, places: Iterable[int]) -> bool:
        """Waits until all are done (True), or until it is this thread's turn to receive (False)."""
        with self._change:
            while self._is_receiving and not all(place in self._done for place in places):
                self._change.wait()
            done = all(place in self._done for place in places)
            if not done:
                self._is_receiving = True
            return done

    def _receive(self) -> None:
        news: dict[int, EpisodeResult] = {}
        try:
            news = self._evaluator.receive(timeout=RECEIVE_SECONDS)
        finally:
            with self._change:
                self._is_receiving = False
                self._done |= news
                self._open.difference_update(news)
                self._change.notify_all()

    def close(self) -> None:
        """Stops running episodes."""
        self._evaluator.close()


_evaluators: dict[tuple[str, str], SharedEvaluator] = {}
_lock = threading.Lock()


def play_parts(
    job: EvaluationJob, parents: Parents, reference: np.ndarray | None, parts: Sequence[Part]
) -> list[tuple]:
    """Plays a few episodes. Runs as a Dask task.

    Returns the number, score, steps, frames, seconds, sign score and behaviour of each episode.
    """
    with _evaluator_of(job) as evaluator:
        results = evaluator.play(parents, reference, {part.number: part.episode(parents) for part in parts})
    return [(number, r.score, r.steps, r.frames, r.seconds, r.sign_score, r.behaviour) for number, r in results.items()]


def trace_part(job: EvaluationJob, parents: Parents, reference: np.ndarray | None, part: Part) -> Trace:
    """Plays one episode of one of the parents and records every step. Runs as a Dask task."""
    with _evaluator_of(job) as evaluator:
        return evaluator.trace(parents, reference, part.episode(parents))


@contextlib.contextmanager
def _evaluator_of(job: EvaluationJob) -> Iterator[SharedEvaluator]:
    """Yields the evaluator of a run. If its use fails, it is closed, because its state is unknown."""
    worker = get_worker()
    key = (worker.id, job.key)
    with _lock:
        if key not in _evaluators:
            _make_room(worker.id)
            _evaluators[key] = SharedEvaluator(job, worker.state.nthreads)
        evaluator = _evaluators[key]
        evaluator.users += 1
    try:
        yield evaluator
    except BaseException:
        _drop(key, evaluator)
        raise
    finally:
        with _lock:
            evaluator.users -= 1
            evaluator.used = time.monotonic()


def _make_room(worker: str) -> None:
    """Closes evaluators that no task uses, those idle longest first, until one more is allowed."""
    own = {key: evaluator for key, evaluator in _evaluators.items() if key[0] == worker}
    idle = sorted((evaluator.used, key) for key, evaluator in own.items() if not evaluator.users)
    for _, key in idle[: max(0, len(own) - MOST_EVALUATORS + 1)]:
        _evaluators.pop(key).close()


def _drop(key: tuple[str, str], evaluator: SharedEvaluator) -> None:
    """Closes an evaluator; another task may have made the next one meanwhile, which stays."""
    with _lock:
        if _evaluators.get(key) is evaluator:
            del _evaluators[key]
    evaluator.close()


def forget(job_key: str) -> None:
    """Stops the episodes of a run in this process and frees its memory."""
    for key, evaluator in list(_evaluators.items()):
        if key[1] == job_key:
            _drop(key, evaluator)


def same(value: object) -> object:
    """Returns its argument. Dask can repeat this task if the worker with the value is lost."""
    return value
