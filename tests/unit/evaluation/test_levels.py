"""Levels have the same outcome in this process and on a Dask cluster, whatever happens to its workers."""

import contextlib
import signal
from functools import partial

import numpy as np
import psutil
import pytest
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.errors import NeurozooError
from neurozoo.evaluation.levels import DistributedLevels, LocalLevels, play_levels
from neurozoo.randomness import Purpose, generator

DRAW = partial(generator, [1], Purpose.LEVEL_EPISODE, 3)
HOW = Play(agent="wall_follower", num_episodes=3, num_envs=2)


def drawn_levels(count):
    domain = get_level_domain("maze")
    return domain.decode(np.random.default_rng(0).integers(0, 2, (count, domain.solution_size)))


def played(evaluator, levels):
    found = {}
    for outcomes in evaluator.play(levels, DRAW):
        found |= outcomes
    assert set(found) == set(range(len(levels)))
    return [found[number] for number in range(len(levels))]


def as_bytes(outcomes):
    return [
        outcome
        if isinstance(outcome, str)
        else [
            outcome[0].objectives[outcome[1]].tobytes(),
            outcome[0].occupancy[outcome[1]].tobytes(),
            *(values[outcome[1]].tobytes() for values in outcome[0].values.values()),
        ]
        for outcome in outcomes
    ]


@pytest.fixture(scope="module")
def levels():
    return drawn_levels(40)


@pytest.fixture(scope="module")
def alone(levels):
    return as_bytes(played(LocalLevels(get_level_domain("maze"), HOW), levels))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    settings = ClusterSettings.of("local workers=2 least_workers=2")
    evaluator = DistributedLevels("maze", HOW, settings=settings, folder=tmp_path_factory.mktemp("cluster"))
    yield evaluator
    evaluator.close()


def test_outcomes_do_not_depend_on_the_levels_beside(levels, alone):
    assert as_bytes(played(LocalLevels(get_level_domain("maze"), HOW, together=7), levels)) == alone
    assert len({each[1] for each in alone}) > 30  # occupancies: levels differ


@pytest.mark.long(seconds=7)
def test_a_cluster_gives_the_same(cluster, levels, alone):
    assert as_bytes(played(cluster, levels)) == alone


def test_killed_workers_cost_only_time(cluster, levels, alone):
    found, victims = {}, []
    for outcomes in cluster.play(levels, DRAW):
        found |= outcomes
        if found and not victims:
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):  # it has ended since it was listed
                    if "spawn_main" in str(process.cmdline()):
                        process.send_signal(signal.SIGKILL)
                        victims.append(process)
    assert victims
    assert as_bytes(found[number] for number in range(len(levels))) == alone


class _Fragile:
    """A domain whose agent fails in one level."""

    def __init__(self, bad):
        self._domain, self._bad = get_level_domain("maze"), bad

    def evaluate(self, levels, how, rngs):
        if any(np.array_equal(level, self._bad) for level in levels):
            raise ZeroDivisionError("the agent divides by zero")
        return self._domain.evaluate(levels, how, rngs)


def test_a_level_that_fails_does_not_take_others_with_it(levels, alone):
    found = play_levels(_Fragile(levels[5]), levels, HOW, range(40), DRAW)
    assert found[5] == "ZeroDivisionError: the agent divides by zero"
    assert as_bytes(found)[:5] + as_bytes(found)[6:] == alone[:5] + alone[6:]


def test_a_file_that_a_node_lacks_ends_the_run(cluster, levels, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "_how", Play(agent=str(tmp_path / "agent.npz")))
    with pytest.raises(NeurozooError, match=r"On a worker .*agent.npz is missing on this node"):
        played(cluster, levels)
