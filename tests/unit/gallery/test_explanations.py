from types import SimpleNamespace

import pytest
from neurozoo.gallery.explanations import (
    best_run,
    share_of_human,
)


def run(game="pong", score=None, *, is_filmed=True, tag="final", unit="frames"):
    score = None if score is None else SimpleNamespace(mean=score)
    movies = (SimpleNamespace(tag=tag),) if is_filmed else ()
    return SimpleNamespace(game=game, score=score, movies=movies, unit=unit)


def test_a_score_is_compared_with_random_play_and_a_human():
    # Pong: -20.7 at random, 14.6 by a human.
    assert share_of_human(run(score=-20.7)) == pytest.approx(0)
    assert share_of_human(run(score=14.6)) == pytest.approx(1)
    assert share_of_human(run("river_crossing", 1.0)) is None
    assert share_of_human(run()) is None


def test_the_page_opens_with_the_best_agent_that_has_a_movie():
    poor, good, unseen = run(score=-20.0), run(score=10.0), run(score=20.0, is_filmed=False)
    river = run("river_crossing", 1000.0)
    assert best_run((poor, good, unseen, river)) is good
    assert best_run((run(is_filmed=False), river)) is river
    assert best_run((run(score=-21.0), lost := run(score=-20.8))) is lost  # both below random play
    poor_river, slow = run("river_crossing", 1.0), run("gym.CartPole-v1", 500.0)
    assert best_run((poor_river, river)) is river
    assert best_run((poor_river, river, slow)) is poor_river  # games that nobody can compare
    assert best_run((untested := run(),)) is untested
    assert best_run(()) is None
    archive = run("maze", unit="evaluations")
    assert best_run((archive,)) is None
    assert best_run((archive, untested)) is untested
    early = run(score=20.0, tag="initial")  # its only movie is not of the agent with this score
    assert best_run((early, poor)) is poor
    assert best_run((early,)) is None
