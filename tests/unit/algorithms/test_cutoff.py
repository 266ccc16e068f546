import pytest
from neurozoo.algorithms.cutoff import EpisodeCutoff
from neurozoo.errors import NeurozooError


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
