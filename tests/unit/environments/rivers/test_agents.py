import json

import numpy as np
import pytest
from neurozoo.environments.river_world import view
from neurozoo.environments.rivers.agents import SHUNTING, read_river_agent
from neurozoo.environments.rivers.simulator import play
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.modular import STEPS

from tests.unit.environments.rivers.river_levels import drawn
from tests.unit.networks.modular_twin import crossing_weights, modular_network, run_modular


@pytest.fixture
def write_agent(tmp_path):
    """Writes the checkpoint of a run: `write_agent(model, theta)`."""

    def write(model, theta, game="river_crossing", num_actions=18):
        about = {"game": game, "model": model, "num_actions": num_actions}
        path = tmp_path / "checkpoint.npz"
        np.savez(path, theta=np.asarray(theta, np.float32), about=np.array(json.dumps(about)))
        return path

    return write


@pytest.mark.parametrize("model", ["modular", "modular_evolved", "modular_movement", "modular_rgb_evolved_movement"])
def test_a_modular_agent_does_what_its_network_says(write_agent, model):
    layout = get_network(model).layout(18)
    theta = 0.5 * np.random.default_rng(3).standard_normal(layout.parameter_count)
    theta[:44] = crossing_weights() if "rgb" not in model else theta[:44]
    run, (games, worlds) = modular_network(layout, theta.astype(np.float32)), drawn(2, 3)
    walks = play(read_river_agent(write_agent(model, theta)), worlds)
    seen = 0
    for number, game in enumerate(games):
        for step in range(min(walks.steps[number], 25)):
            game.step(int(run(view(game, "objects")).argmax()))
            if not game.is_over:
                assert walks.cells[number, step] == 20 * game.row + game.column
                assert walks.carries[number, step] == game.carries
            seen += 1
        assert walks.is_solved[number] == bool(game.levels_solved) or not game.is_over
    assert seen > 3


def test_where_the_core_sees_no_difference_the_first_direction_counts(write_agent):
    layout = get_network("modular").layout(18)
    around = np.array([-1, 6e-11, 1e-10, 3e-10, 1.8e-9, 0, 0, 0, 0], np.float32)
    seen = np.zeros((20, 20, 3), np.float32)
    seen[10, 5, 2] = 1
    for height, (columns, rows) in zip(around, STEPS, strict=True):
        seen[10 + rows, 5 + columns, 0] = height
    given = around[None].astype(float), np.zeros((1, 9), np.uint8), np.array([False])
    evolved = read_river_agent(write_agent("modular", np.zeros(44)))
    assert run_modular(layout.layers[-1], seen, {}).argmax() == evolved.climb(*given)[0][0] == 1
    assert SHUNTING.climb(*given)[0][0] == 4  # it compares heights, as `ShuntingAgent` does


def test_weights_that_cross_rivers_cross_them(write_agent):
    _, worlds = drawn(3, 20)
    walks = play(read_river_agent(write_agent("modular", crossing_weights())), worlds)
    assert walks.is_solved.mean() > 0.9
    assert (walks.stones[walks.is_solved] >= 3).all()


def test_other_agents_are_refused_in_a_sentence(write_agent, tmp_path):
    for named, match in [
        ({"model": "modular", "theta": np.zeros(44), "game": "pong"}, "should have been trained in the game"),
        ({"model": "modular", "theta": np.zeros(43)}, "should be 44 finite numbers"),
        ({"model": "modular", "theta": np.full(44, np.nan)}, "should be 44 finite numbers"),
        ({"model": "small", "theta": np.zeros(5)}, "is no agent for worlds"),
        ({"model": "cells", "theta": np.zeros(5)}, "is no agent for worlds"),
    ]:
        with pytest.raises(NeurozooError, match=match):
            read_river_agent(write_agent(**named))
    with pytest.raises(NeurozooError, match="is missing"):
        read_river_agent(tmp_path / "none.npz")
