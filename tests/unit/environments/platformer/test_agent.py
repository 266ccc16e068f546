"""The A* agent decides as its slow twin, and as the original as far as that was measured."""

import numpy as np
import pytest
from neurozoo.environments.platformer.simulator import CORE, JUMP, TIME_OUT, WON, play, replay
from neurozoo.errors import NeurozooError
from neurozoo.native import load_core

from .agent_twin import AgentTwin
from .levels import flat, hilly
from .twin import Twin


@pytest.mark.parametrize(
    "edits",
    [
        "F@12-12/13-13;#@5-5/11-13;-@8-9/14-15;g@11-11/13-13",
        "F@9-9/13-13;#@4-4/0-13",  # which cannot be won: the agent tries everything
        "F@14-14/13-13;k@7-7/13-13;S@5-7/10-10;@@6-6/10-10;%@8-10/11-11;o@9-9/10-10",
    ],
)
def test_the_agent_decides_as_its_slow_twin(edits):
    level, ticks = flat(edits), 24
    native = play(level[None], [[15]]).buttons[:ticks]
    game, agent = Twin([row.tobytes().decode() for row in level]), AgentTwin(15)
    found = []
    while game.status == "running" and len(found) < ticks:
        found.append(agent.act(game))
        game.step(found[-1])
    assert native.tolist() == found


def test_a_flat_level_is_run_through_as_fast_as_can_be():
    games = play(flat()[None], [[450]])
    assert (games.status.item(), games.ticks.item(), games.count("jumps").item()) == (WON, 89, 0)


def test_plans_take_as_many_nodes_as_measured_in_easy_levels():
    # Accepted nodes per two ticks: median 10 to 17, 90th percentile 70 to 200, most 300 to 400.
    levels, budgets = np.stack([hilly(np.random.default_rng(seed)) for seed in range(60)]), np.full((60, 1), 450)
    games = play(levels, budgets)
    *_, nodes = load_core(CORE).play_platformer(levels=levels, budgets=budgets, num_threads=1)
    parts = np.split(nodes, np.cumsum(games.ticks)[:-1])
    plans = [part[: len(part) // 2 * 2].reshape(-1, 2).sum(axis=1) for part in parts]
    accepted = np.concatenate(plans)
    assert 10 <= np.median(accepted) <= 17
    assert 70 <= np.percentile(accepted, 90) <= 200
    assert accepted.max() <= 400
    assert np.mean(games.status == WON) > 0.95


@pytest.mark.parametrize(
    ("edits", "is_won"), [("#@20-20/10-13", True), ("#@20-20/9-13", False), ("-@26-34/14-15", True)]
)
def test_the_agent_gets_over_what_can_be_got_over(edits, is_won):
    games = play(flat(edits)[None], [[450]])
    assert games.status.item() == (WON if is_won else TIME_OUT)
    assert games.count("jumps").item() >= 1


def test_threads_and_neighbours_change_nothing():
    levels = np.stack([hilly(np.random.default_rng(seed)) for seed in range(6)])
    budgets = np.random.default_rng(0).choice([100, 150, 200], size=(6, 3))
    alone = [play(levels[i : i + 1], budgets[i : i + 1]) for i in range(6)]
    together = play(levels, budgets, threads=3)
    for name in ("status", "completion", "counts", "ticks", "nodes", "occupancy", "buttons"):
        np.testing.assert_array_equal(np.concatenate([getattr(each, name) for each in alone]), getattr(together, name))


def test_the_budget_matters_where_it_is_hard_to_get_on():
    games = play(flat("#@20-20/0-13")[None], [[100, 200, 100]])
    assert games.nodes[0, 0] < games.nodes[0, 1]
    assert games.nodes[0, 0] == games.nodes[0, 2]
    assert (games.nodes <= games.ticks * [[100, 200, 100]]).all()


def test_the_reported_decisions_replay_the_game():
    level = hilly(np.random.default_rng(3))
    games = play(level[None], [[300]])
    again = replay(level, games.buttons)
    assert len(again.status) == games.ticks.item() + 1
    assert again.status[-1] == games.status.item()
    np.testing.assert_array_equal(again.counts[-1], games.counts[0, 0])
    # Occupancy: the tile of the feet after every decision, if it is inside.
    expected = np.zeros((16, 56), int)
    for x, y in again.position[1:, :2]:
        if 0 <= int(y / 16) < 16:
            expected[int(y / 16), int(x / 16)] += 1
    np.testing.assert_array_equal(games.occupancy[0], expected)
    assert np.any(games.buttons & JUMP)


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(NeurozooError, match="at least 1 node per tick"):
        play(flat()[None], [[0]])
