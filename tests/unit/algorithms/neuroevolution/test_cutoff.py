from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.algorithms import ALGORITHMS
from neurozoo.algorithms.neuroevolution.cutoff import EpisodeCutoff
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult


def test_a_number_of_steps_never_changes():
    cutoff = EpisodeCutoff.from_setting(5000)
    assert cutoff.limit == 5000
    assert cutoff.after(1.0) == cutoff


def test_env_default_leaves_the_limit_to_the_protocol():
    cutoff = EpisodeCutoff.from_setting("env_default")
    assert cutoff.limit is None
    assert cutoff.after(1.0).limit is None


def test_an_adaptive_limit_grows_when_more_than_its_share_reached_it():
    cutoff = EpisodeCutoff.from_setting("adaptive:1000,0.5,1.5,2000")
    assert cutoff.limit == 1000
    assert cutoff.after(0.5).limit == 1000  # strictly more, as published
    assert cutoff.after(0.51).limit == 1500
    assert cutoff.after(0.51).after(0.51).limit == 2000  # not 2,250
    assert cutoff.after(0.51).after(0.51).after(1.0).limit == 2000


def test_an_adaptive_limit_without_cap_goes_on_growing():
    cutoff = EpisodeCutoff.from_setting("adaptive:10,0.1,2")
    for _ in range(10):
        cutoff = cutoff.after(0.2)
    assert cutoff.limit == 10 * 2**10


def test_a_limit_that_no_episode_can_reach_stays_a_number():
    cutoff = EpisodeCutoff.from_setting("adaptive:5,0,1e308")
    assert cutoff.after(1.0).after(1.0).limit == 2**31 - 1


def test_a_small_limit_grows_although_it_is_a_whole_number():
    cutoff = EpisodeCutoff.from_setting("adaptive:15,0.5,1.05,5000")
    for _ in range(200):
        cutoff = cutoff.after(1.0)
    assert cutoff.limit == 5000
    still = EpisodeCutoff.from_setting("adaptive:15,0.5,1,5000")
    assert still.after(1.0).limit == 15


def test_a_limit_stays_a_whole_number():
    limit = EpisodeCutoff.from_setting("adaptive:5,0.1,1.5,100").after(0.2).limit
    assert limit == 7
    assert isinstance(limit, int)


@pytest.mark.parametrize(
    "setting",
    [
        0,
        -5,
        2.5,
        True,
        None,
        [5000],
        "5000",
        "env-default",
        "adaptive",
        "adaptive:",
        "adaptive:1000",
        "adaptive:1000,0.5",
        "adaptive:0,0.5,2",
        "adaptive:1000,1.5,2",
        "adaptive:1000,0.5,0.5",
        "adaptive:1000,0.5,2,500",  # a cap below the start
        "adaptive:1000,0.5,2,5000,1",
        "adaptive:inf,0.5,2",
        "adaptive:nan,0.5,2",
        "adaptive:1000,0.5,inf",
        "adaptive:1000,0.5,2,nan",
        "adaptive:a,b,c,d",
    ],
)
def test_what_is_no_limit_is_refused(setting):
    with pytest.raises(
        NeurozooError, match=r"episode_cutoff_mode .* is none of: a number of steps above 0, env_default"
    ):
        EpisodeCutoff.from_setting(setting)


@pytest.mark.parametrize("algo", ALGORITHMS)
@pytest.mark.parametrize(("test_cutoff", "limit"), [(None, 400), (70, 70), (9_999, 400)])
def test_only_tests_have_the_cutoff_of_tests(algo, test_cutoff, limit):
    changes = {"population_size": 4, "num_test_episodes": 2, "episode_cutoff_mode": 30, "test_cutoff": test_cutoff}
    if algo in ("ga", "rs", "ga_ns"):
        changes |= {"selection_threshold": 2, "validation_threshold": 2, "num_validation_episodes": 1}
    settings = resolve_settings(algo, preset="demo", overrides=changes)
    layout = SimpleNamespace(parameter_count=10, initialise=lambda noise: noise.copy(), needs_statistics=False)
    search = ALGORITHMS[algo](
        settings,
        entropy=(settings.seed, 1),
        layout=layout,
        noise=np.ones(100, np.float32),
        protocol=get_protocol("hard_maze"),
    )
    limits = {True: set(), False: set()}
    report = None
    while report is None:
        batch = search.ask()
        limits[batch.is_counted] |= {episode.max_frames for episode in batch.episodes}
        position = np.zeros((1, 2), np.float32)
        report = search.tell([EpisodeResult(float(n), 1, 1, behaviour=position) for n, _ in enumerate(batch.episodes)])
    assert limits == {True: {30}, False: {limit}}
