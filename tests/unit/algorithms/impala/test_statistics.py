"""The rows of games in a report: all of them, or every second, fourth ... if there are too many."""

import json
from dataclasses import asdict

import pytest
from neurozoo.algorithms.impala import statistics
from neurozoo.algorithms.impala.statistics import EpochStatistics


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    monkeypatch.setattr(statistics, "MOST_EPISODES", 8)


def game(number, learner=0):
    return [4 * number, learner, learner, 10 * learner, 1.5, 1.0, 3]


def after(games, learner=0):
    """Statistics after some games, in which nothing else has happened."""
    found = EpochStatistics()
    for number in range(games):
        found.add_episode(game(number, learner))
    return found


def rows(found):
    return found.columns(steps=1, frames=4)["Episodes"]


@pytest.mark.parametrize(("games", "each"), [(0, 1), (8, 1), (9, 2), (16, 2), (17, 4), (1000, 128)])
def test_rows_are_evenly_thinned(games, each):
    assert rows(after(games)) == [[*game(number), each] for number in range(0, games, each)]
    assert len(rows(after(games))) <= 8


def test_rows_of_a_continued_epoch_are_the_same():
    half = after(13)
    continued = EpochStatistics(**json.loads(json.dumps(asdict(half))))
    for each in (half, continued):
        for number in range(13, 40):
            each.add_episode(game(number))
    assert continued == half
    assert rows(continued) == rows(after(40))


@pytest.mark.parametrize(("games", "others"), [(5, 3), (5, 20), (20, 5), (0, 9)])
def test_rows_of_several_learners_are_in_the_order_of_time_and_stand_for_as_many_games(games, others):
    own, other = after(games), after(others, learner=1)
    both = own.with_other(other)
    each = max(own.games_per_episode, other.games_per_episode)
    expected = [game(number) for number in range(0, games, each)] + [game(n, 1) for n in range(0, others, each)]
    assert rows(both) == [[*row, each] for row in sorted(expected, key=lambda row: (row[0], row[1]))]
    assert both.episodes_seen == games + others
