"""Asynchronous runs: killed, continued and repeated, with results that arrive in any order."""

import json
import signal

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution import session
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import make_evaluator
from neurozoo.records.lineage import read_lineage, write_lineage
from neurozoo.records.run_log import parse_log, read_log
from neurozoo.training import make_context, resume, train
from neurozoo.training.state import RunState
from training_processes import PATIENCE, assert_same_results, reports

SETTINGS = {
    "population_size": 12,
    "selection_threshold": 3,
    "validation_threshold": 2,
    "num_validation_episodes": 2,
    "num_test_episodes": 2,
    "test_cutoff": 40,
    "mutation_power": 0.1,
    "episode_cutoff_mode": 40,
    "snapshot_frames": 300,
    "frames": 1_500,
    "selection": "asynchronous",
    "episodes_in_flight": 5,
}
GAME = {"algo": "ga", "game": "gym.CartPole-v1", "model": "simple", "run": 1}  # in Python, without TensorFlow


class Killed(BaseException):
    """Stands in for kill -9: nothing catches it, so nothing is saved."""


class Shuffled:
    """Lets results arrive in another order than that of the episodes, as several workers do."""

    def __init__(self, evaluator, seed):
        self._evaluator, self._random, self._open, self._done = evaluator, np.random.default_rng(seed), 0, {}

    def __getattr__(self, name):
        return getattr(self._evaluator, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._evaluator.close()

    def submit(self, episodes):
        self._open += len(episodes)
        self._evaluator.submit(episodes)

    def receive(self, *, timeout):
        while len(self._done) < self._open:
            self._done |= self._evaluator.receive(timeout=timeout)
        count = self._random.integers(1, len(self._done) + 1)
        chosen = self._random.permutation(sorted(self._done))[:count].tolist()
        self._open -= count
        return {number: self._done.pop(number) for number in chosen}


@pytest.fixture
def trained(monkeypatch, small_noise_table, tmp_path):
    """Trains a run: `trained(folder, order=seed or None, killed_at=..., **settings)`."""

    def run(folder, *, order=None, killed_at=None, **changes):
        with monkeypatch.context() as patch:
            if order is not None:
                patch.setattr(session, "make_evaluator", lambda **options: Shuffled(make_evaluator(**options), order))
            if killed_at is not None:
                patch.setattr(RunState, "journal", killing(RunState.journal, at=killed_at))
            run_dir = tmp_path / folder
            files = {"core": tmp_path / "none.so", "noise": small_noise_table, "run_dir": run_dir}
            train(make_context(**GAME, **files, settings=SETTINGS | changes), terminal="lines")
        return run_dir

    return run


def killing(journal, *, at):
    count = 0

    def wrapped(self, *arguments):
        nonlocal count
        count += 1
        journal(self, *arguments)
        if count == at:
            raise Killed

    return wrapped


def arrivals(run_dir):
    return [number for record in read_log(run_dir / "log.jsonl") for number in record["Arrivals"]]


def test_with_one_thread_episodes_arrive_in_their_order_and_a_killed_run_ends_the_same(trained):
    whole = trained("whole")
    order = arrivals(whole)
    assert order == list(range(len(order)))
    assert len(reports(whole)) >= 3
    for killed_at in (1, 30, 50):
        with pytest.raises(Killed):
            trained(f"killed-{killed_at}", killed_at=killed_at)
        assert_same_results(trained(f"killed-{killed_at}"), whole)


def test_a_killed_run_keeps_the_order_of_its_journal_and_is_repeated_to_the_byte(trained, tmp_path):
    with pytest.raises(Killed):
        trained("killed", order=1, killed_at=40)
    lines = (tmp_path / "killed" / "state" / "journal.jsonl").read_text().splitlines()
    journalled = [json.loads(line)[2] for line in lines]
    with pytest.raises(Killed):
        trained("killed", order=2, killed_at=9)
    killed = trained("killed", order=3)
    order = arrivals(killed)
    assert order != sorted(order)
    assert journalled
    assert any(order[place : place + len(journalled)] == journalled for place in range(len(order)))
    for name, seed in (("one thread", None), ("many threads", 4)):
        assert_same_results(trained(name, order=seed, repeat_arrivals=str(killed)), killed)
    assert reports(trained("another order", order=5)) != reports(killed)


def test_a_larger_budget_continues_the_run(trained, small_noise_table, tmp_path):
    whole, run_dir = trained("whole", frames=2_000), trained("continued", frames=1_000)
    resume(run_dir, budget=2_000, core=tmp_path / "none.so", noise=small_noise_table, terminal="lines")
    assert_same_results(run_dir, whole)


def test_tables_and_lineages_are_made_from_its_log(trained, tmp_path):
    log = trained("run", order=6) / "log.jsonl"
    parse_log(log, tmp_path / "metrics.csv", identity={**GAME, "protocol": "gym"})
    header, *rows = (tmp_path / "metrics.csv").read_text().splitlines()
    assert "PopulationEpCount" in header
    assert "Arrivals" not in header
    assert len(rows) == len(read_log(log))
    write_lineage(log, tmp_path / "lineage.parquet")
    lineage = read_lineage(tmp_path / "lineage.parquet")
    born = set(zip(lineage.generation, lineage.individual, strict=True))
    parents = lineage.dropna(subset=["parent_generation"])
    assert set(zip(parents.parent_generation, parents.parent_individual, strict=True)) <= born


def test_its_parents_start_another_run(trained, tmp_path):
    run_dir = trained("first", frames=500)
    loaded = trained("second", frames=500, load_population=str(run_dir))
    first_born = [row for row in read_log(loaded / "log.jsonl")[0]["Lineage"] if row[1] < SETTINGS["population_size"]]
    assert {tuple(row[2:4]) for row in first_born} <= {(0, 0), (0, 1), (0, 2)}
    assert first_born
    (elite,) = (row for row in read_log(run_dir / "log.jsonl")[-1]["Lineage"] if row[8])
    state = json.loads((run_dir / "state" / "state.json").read_text())["algorithm"]
    assert elite[:2] in state["parent_births"]
    assert len(state["parent_births"]) == 3


def test_a_run_cannot_repeat_another_order_than_it_has_had(trained):
    first, other = trained("first", order=1), trained("other", order=2)
    trained("first", repeat_arrivals=str(first))
    log = (first / "log.jsonl").read_bytes()
    with pytest.raises(NeurozooError, match=r"result \d+ of this run was of episode \d+, but in .*other it is of"):
        trained("first", repeat_arrivals=str(other))
    assert (first / "log.jsonl").read_bytes() == log


def test_what_cannot_be_repeated_is_explained(trained, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(NeurozooError, match=r"empty has no log\.jsonl"):
        trained("run", repeat_arrivals=str(tmp_path / "empty"))
    closed = trained("closed", selection="generations", episodes_in_flight=None, frames=500)
    with pytest.raises(NeurozooError, match="does not say in which order episodes arrived"):
        trained("run", repeat_arrivals=str(closed))
    wide = trained("wide", order=7, episodes_in_flight=12, frames=500)
    with pytest.raises(NeurozooError, match="which is not in flight here"):
        trained("run", repeat_arrivals=str(wide))


def test_a_journal_of_another_order_is_refused(trained, tmp_path):
    with pytest.raises(Killed):
        trained("run", killed_at=10)
    journal = tmp_path / "run" / "state" / "journal.jsonl"
    journal.write_text(journal.read_text() + journal.read_text().splitlines()[0].replace(", 0,", ", 999,", 1) + "\n")
    with pytest.raises(NeurozooError, match="result of episode 999, which was not in flight"):
        trained("run")


def test_a_dask_cluster_is_refused(small_noise_table, tmp_path):
    files = {"core": tmp_path / "none.so", "noise": small_noise_table, "run_dir": tmp_path / "run"}
    with pytest.raises(NeurozooError, match="too often for a Dask cluster"):
        train(make_context(**GAME, **files, settings=SETTINGS, distributed="local workers=1"), terminal="lines")
    assert not (tmp_path / "run").exists()


def test_threads_that_have_nothing_to_do_are_announced(small_noise_table, tmp_path):
    files = {"core": tmp_path / "none.so", "noise": small_noise_table, "run_dir": tmp_path / "run"}
    for threads, is_said in ((5, False), (6, True)):
        context = make_context(**GAME, **files, settings=SETTINGS, threads=threads)
        said = " ".join(get_algorithm("ga").open_session(context).announcements)
        assert ("Only 5 episodes are in flight" in said) == is_said


@pytest.mark.long(seconds=40)
def test_the_core_with_two_threads_is_killed_and_its_run_repeated(runner, tmp_path):
    settings = {"selection": "asynchronous", "episodes_in_flight": 4}
    whole, killed, repeated = (tmp_path / name for name in ("whole", "killed", "repeated"))
    runner.finish(whole, settings=settings)
    for crash in ("after a line of the journal", "after a report and before the state"):
        process = runner.start(killed, settings=settings, crash=crash)
        process.join(timeout=PATIENCE)
        assert process.exitcode == -signal.SIGKILL, runner.said()
    runner.finish(killed, settings=settings)
    assert_same_results(killed, whole)
    threaded = tmp_path / "threaded"
    runner.finish(threaded, settings=settings, threads=3)
    runner.finish(repeated, settings=settings | {"repeat_arrivals": str(threaded)}, threads=2)
    assert_same_results(repeated, threaded)
