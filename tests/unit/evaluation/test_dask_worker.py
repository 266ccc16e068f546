"""The tasks of one worker process share an evaluator."""

import threading
import time
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, dask_worker
from neurozoo.evaluation.dask_worker import EvaluationJob, Parents, Part, SharedEvaluator, play_parts
from neurozoo.genomes.genome import Genome

OLD, NEW = Parents(1, (Genome(1),)), Parents(2, (Genome(2),))


@dataclass
class SlowEvaluator:
    """Scores an episode with its seed plus 1000 times the number of the pinned genome."""

    threads: int
    pinned: tuple = ()
    queue: list = field(default_factory=list)
    pins: int = 0
    references: list = field(default_factory=list)  # with the number of pins before

    def set_reference(self, observations):
        assert not self.queue, "the reference was exchanged while episodes of the old one were being played"
        self.references.append((self.pins, observations))

    def pin(self, genomes):
        assert not self.queue, "genomes were exchanged while episodes of the old ones were being played"
        self.pinned, self.pins = tuple(genomes), self.pins + 1

    def submit(self, episodes):
        self.queue += episodes.items()

    def receive(self, *, timeout):
        time.sleep(0.01)
        if not self.queue:
            return {}
        number, episode = self.queue.pop(0)
        if episode.seed == 13:
            raise NeurozooError("thirteen")
        return {number: EpisodeResult(episode.seed + 1000 * self.pinned[0].initial, 1, 4)}

    def close(self):
        self.queue.clear()


def episodes(seeds):
    return {seed: Episode(Genome(1), 0, seed, 100) for seed in seeds}


def played(shared, requests):
    """Plays several requests at once, each in a thread."""
    results = [None] * len(requests)

    def play(place, parents, seeds):
        results[place] = shared.play(parents, None, episodes(seeds))

    threads = [threading.Thread(target=play, args=(n, *request)) for n, request in enumerate(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=600)
        assert not thread.is_alive()
    return results


def test_every_task_gets_its_own_results_although_all_share_one_evaluator():
    shared = SharedEvaluator(EvaluationJob("run", SlowEvaluator), threads=4)
    requests = [(OLD, range(start, start + 5)) for start in (0, 20, 40, 60)]
    for (_, seeds), results in zip(requests, played(shared, requests), strict=True):
        assert {number: result.score for number, result in results.items()} == {seed: seed + 1000 for seed in seeds}
    assert shared._evaluator.pins == 1


def test_genomes_are_exchanged_only_between_episodes():
    shared = SharedEvaluator(EvaluationJob("run", SlowEvaluator), threads=4)
    requests = [(parents, range(start, start + 4)) for start, parents in enumerate([OLD, NEW, OLD, NEW, NEW])]
    for (parents, seeds), results in zip(requests, played(shared, requests), strict=True):
        assert {n: r.score for n, r in results.items()} == {seed: seed + 1000 * parents.key for seed in seeds}


def test_an_error_of_the_evaluator_reaches_the_task():
    shared = SharedEvaluator(EvaluationJob("run", SlowEvaluator), threads=1)
    with pytest.raises(NeurozooError, match="thirteen"):
        shared.play(OLD, None, episodes([12, 13, 14]))


def test_a_task_with_other_genomes_goes_on_after_an_error():
    """It waits for the episodes of the task that has failed, which nobody receives any more."""
    shared = SharedEvaluator(EvaluationJob("run", SlowEvaluator), threads=2)
    with pytest.raises(NeurozooError, match="thirteen"):
        shared.play(OLD, None, episodes([13]))
    ((result,),) = (found.values() for found in played(shared, [(NEW, [7])]))
    assert result.score == 2007


@pytest.fixture
def worker(monkeypatch):
    """A worker that knows no runs yet."""
    monkeypatch.setattr(dask_worker, "_evaluators", {})
    found = SimpleNamespace(id="worker", state=SimpleNamespace(nthreads=1))
    monkeypatch.setattr(dask_worker, "get_worker", lambda: found)
    return found


def play_in_run(name, seed=1):
    return play_parts(EvaluationJob(name, SlowEvaluator), OLD, None, [Part(0, 0, None, 0, seed, 100)])


def runs_of(worker):
    return [run for _, run in dask_worker._evaluators]


def test_a_worker_closes_the_evaluator_that_has_been_idle_longest(worker):
    for name in ("a", "b", "c", "d", "a", "e"):
        play_in_run(name)
    assert runs_of(worker) == ["a", "c", "d", "e"]


def test_a_worker_closes_no_evaluator_that_plays(worker, monkeypatch, wait_until):
    may_end = threading.Event()
    receive = SlowEvaluator.receive

    def receive_at_the_end(self, *, timeout):
        return receive(self, timeout=timeout) if self.queue[0][1].seed != 5 or may_end.is_set() else {}

    monkeypatch.setattr(SlowEvaluator, "receive", receive_at_the_end)
    found = []
    thread = threading.Thread(target=lambda: found.append(play_in_run("a", seed=5)))
    thread.start()
    wait_until(lambda: runs_of(worker) == ["a"], what="the episode did not begin")
    for name in ("b", "c", "d", "e", "f"):
        play_in_run(name)
    assert runs_of(worker) == ["a", "d", "e", "f"]
    may_end.set()
    thread.join(timeout=600)
    assert found[0][0][1] == 1005


def test_a_failed_task_closes_its_own_evaluator_and_not_the_next_one(worker):
    with pytest.raises(NeurozooError, match="thirteen"):
        play_in_run("a", seed=13)
    assert runs_of(worker) == []
    play_in_run("a")
    ((key, latest),) = dask_worker._evaluators.items()
    dask_worker._drop(key, SharedEvaluator(EvaluationJob("a", SlowEvaluator), threads=1))
    assert dask_worker._evaluators == {key: latest}


def test_another_reference_is_set_in_the_same_evaluator_before_its_genomes_are_pinned():
    shared = SharedEvaluator(EvaluationJob("run", SlowEvaluator), threads=1)
    first, second = np.zeros(2, np.float32), np.ones(2, np.float32)
    for key, reference in ((1, first), (2, first), (3, second)):
        shared.play(Parents(key, (Genome(1),)), reference, episodes([1]))
    assert [(count, values.tolist()) for count, values in shared._evaluator.references] == [(0, [0, 0]), (2, [1, 1])]


@pytest.mark.parametrize(
    ("base", "gene", "genome"), [(0, None, Genome(1)), (0, (7, 0.5), Genome(1).mutated(7, 0.5)), (-1, 9, Genome(9))]
)
def test_a_part_names_a_parent_or_its_child_or_initial_weights(base, gene, genome):
    assert Part(3, base, gene, 2, 5, 100).episode(OLD) == Episode(genome, 2, 5, 100)
