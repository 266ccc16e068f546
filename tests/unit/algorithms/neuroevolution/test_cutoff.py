from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.neuroevolution.schedules import EpisodeCutoff
from neurozoo.algorithms.neuroevolution.session import ALGORITHMS
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult


@pytest.mark.parametrize(
    ("setting", "shares", "limits"),
    [
        (5000, [1.0], [5000, 5000]),
        ("env_default", [1.0], [None, None]),
        # Strictly more than a half, as published; 2,000 is the cap.
        ("adaptive:1000,0.5,1.5,2000", [0.5, 0.51, 0.51, 1.0], [1000, 1000, 1500, 2000, 2000]),
        ("adaptive:5,0.1,1.5", [0.2, 0.2], [5, 7, 10]),
        ("adaptive:15,0.5,1.05,5000", [1.0] * 200, [15, *range(16, 41)]),  # a small limit grows, too
        ("adaptive:15,0.5,1,5000", [1.0], [15, 15]),
        ("adaptive:5,0,1e308", [1.0, 1.0], [5, 2**31 - 1, 2**31 - 1]),  # it stays a number
    ],
)
def test_a_limit_grows_when_more_than_its_share_reached_it(setting, shares, limits):
    cutoff = EpisodeCutoff.from_setting(setting)
    found = [cutoff.limit]
    for share in shares:
        cutoff = cutoff.after(share)
        found.append(cutoff.limit)
    assert found[: len(limits)] == limits


@pytest.mark.parametrize(
    "setting",
    [
        "5000",
        "adaptive:1000,0.5",
        "adaptive:0,0.5,2",
        "adaptive:1000,1.5,2",
        "adaptive:1000,0.5,0.5",
        "adaptive:1000,0.5,2,500",  # a cap below the start
        "adaptive:1000,0.5,2,5000,1",
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
        changes |= {"selection_threshold": 2 * (algo != "rs"), "validation_threshold": 2, "num_validation_episodes": 1}
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
