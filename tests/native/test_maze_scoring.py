"""Solved rates of agents in random mazes."""

import numpy as np
import pytest
from neurozoo.agents.maze_scoring import score_in_mazes
from neurozoo.environments.mazes.agents import WallFollower
from neurozoo.environments.mazes.recurrent_agent import layout
from neurozoo.environments.mazes.simulator import play
from neurozoo.errors import NeurozooError


def test_the_wall_follower_solves_what_is_published(core):
    scores = score_in_mazes("wall_follower", core=core, walls=[0.0, 0.1, 0.5], mazes=300)
    empty, open_mazes, dense = scores
    # From a corner of an empty maze it follows the outer wall to the other corner, or turns in circles away from it.
    corner, opposite = np.zeros(4, int), np.full(4, 255)
    walks = play(WallFollower(), np.zeros((4, 16, 16), bool), corner, opposite, np.arange(4), np.random.default_rng(0))
    assert walks.is_solved.sum() == 3
    assert empty.optimal_length == 30
    assert empty.solved == pytest.approx(0.75, abs=0.03)
    assert empty.length == pytest.approx(walks.lengths.mean(), rel=0.1)
    # Section 13.1 of the description of DSAGE: 0.795 and 0.960, of 200 mazes or so.
    assert open_mazes.solved_low - 0.03 < 0.795 < open_mazes.solved_high + 0.03
    assert dense.solved_low - 0.02 < 0.960 < dense.solved_high + 0.02
    assert [each.is_enough for each in scores] == [None, False, dense.solved >= 0.95]
    assert all(each.solved_low <= each.solved <= each.solved_high for each in scores)


def test_threads_do_not_change_the_scores_of_a_trained_agent(core, tmp_path):
    path = tmp_path / "agent.npz"
    network = layout(3)
    np.savez(path, **network.split(network.draw(np.random.default_rng(0), "orthogonal")))
    given = {"core": core, "walls": [0.65], "mazes": 12, "episodes": 4}
    one = score_in_mazes(str(path), **given)
    assert score_in_mazes(str(path), threads=2, **given) == one
    assert score_in_mazes(str(path), seed=1, **given) != one
    assert 0 < one[0].solved <= 1  # random walks find near goals
    assert 1 < one[0].optimal_length < one[0].length


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"mazes": 1}, "mazes should be at least 2, .* but they are 1, 10, 1 and 0"),
        ({"walls": [0.5, 1.0]}, "probability of a wall should be from 0 to 0.9, but is 1.0"),
        ({"agent": "a_star"}, "'a_star' cannot be sent into levels of 'maze'"),
        ({"agent": "nowhere.npz"}, r"nowhere\.npz is missing"),
    ],
)
def test_slips_get_a_sentence(given, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        score_in_mazes(given.pop("agent", "wall_follower"), core="missing.so", **given)
