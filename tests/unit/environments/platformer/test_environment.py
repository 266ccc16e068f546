"""The platform game as a Gymnasium environment."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from neurozoo.environments import make_world
from neurozoo.environments.games import check_game
from neurozoo.environments.gymnasium_games import gymnasium_spaces
from neurozoo.environments.platformer.environment import PlatformerEnvironment
from neurozoo.environments.platformer.senses import ACTIONS, TICKS_PER_STEP
from neurozoo.environments.platformer.simulator import WON, replay
from neurozoo.environments.platformer.tiles import read_level, to_characters, to_text
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError

from .levels import flat

NAME, GAME = "neurozoo/Platformer-v0", "gym.Platformer-v0"
RUN = list(ACTIONS).index("RIGHT+SPEED")


@pytest.fixture
def made(tmp_path):
    """Makes an environment of one level with edits."""

    def make(edits="", **choices):
        (tmp_path / "level.txt").write_text("\n".join(row.tobytes().decode() for row in flat(edits)))
        return gymnasium.make(NAME, levels=tmp_path / "level.txt", **choices).unwrapped

    return make


def blocks_and_movers(observation):
    return observation[:110].reshape(10, 11), observation[110:220].reshape(10, 11)


def test_gymnasium_s_checker_accepts_the_environment():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(NAME, render_mode="rgb_array").unwrapped)


def test_a_run_through_a_flat_level_is_the_game_s_own(made):
    environment = made()
    environment.reset(seed=0)
    start, total, steps, is_over = environment.game.completion, 0.0, 0, False
    while not is_over:
        _, reward, is_over, is_truncated, info = environment.step(RUN)
        assert not is_truncated
        total, steps = total + reward, steps + 1
    seen = replay(to_characters(read_level(environment.spec.kwargs["levels"])), np.full(89, ACTIONS["RIGHT+SPEED"]))
    assert info == {"status": 1, "completion": 1.0, "ticks": 89, "is_won": True}
    assert steps == -(-89 // TICKS_PER_STEP)
    np.testing.assert_array_equal(environment.game.ticks.position, seen.position)
    assert total == pytest.approx(100 * (1 - start), abs=1e-4)


def test_the_observation_is_what_lies_around_the_runner(made):
    environment = made("#@5-5/12-13;%@3-3/9-9;g@7-7/13-13;o@4-4/13-13;-@6-6/14-15")
    observation, info = environment.reset(seed=0)
    blocks, movers = blocks_and_movers(observation)
    # The runner stands in column 0, row 13: view row 6, view column 2. Left of the level its first column goes on.
    wanted = np.zeros((10, 11))
    wanted[7:9] = 1  # ground, with a gap; below row 15 there is nothing
    wanted[7:9, 8] = 0
    wanted[5:7, 7] = 1
    wanted[2, 5] = 0.5
    np.testing.assert_array_equal(blocks, wanted)
    assert np.argwhere(movers).tolist() == [[6, 9]]
    assert movers.max() == 1
    assert observation[-3] == 0
    assert observation[-2] == 0.5  # it starts in the middle of the column
    observation, *_ = environment.step(list(ACTIONS).index("JUMP"))
    assert observation[-3] == 1
    assert info["level"] == to_text(read_level(environment.spec.kwargs["levels"]))


def test_a_small_picture_shows_the_same_for_networks_with_convolutions(made):
    environment = made("#@5-5/12-13;%@3-3/9-9;g@7-7/13-13;o@4-4/13-13;-@6-6/14-15", obs_type="pixels")
    picture, _ = environment.reset(seed=0)
    assert picture.shape == (84, 84)
    tiles = picture[2:82, :80].reshape(16, 5, 16, 5)
    assert (tiles[14:, :, :6] == 150).all()
    assert not tiles[14:, :, 6].any()  # the gap
    assert (tiles[12:14, :, 5] == 150).all()
    assert (tiles[9, :2, 3] == 110).all()  # a platform is flat
    assert not tiles[9, 2:, 3].any()
    assert (tiles[13, :, 0] == 80).all()  # the runner
    assert (picture[2 + 65 : 2 + 70] == 255).sum() == 25  # the enemy
    for _ in range(3):
        before = picture
        picture, *_ = environment.step(RUN)
    assert (picture != before).any()


def test_a_picture_follows_the_runner_to_the_finish(made):
    environment = made(obs_type="pixels")
    environment.reset(seed=0)
    is_over = False
    while not is_over:
        picture, _, is_over, *_ = environment.step(RUN)
    assert environment.game.status == WON
    assert (picture[10, -5:] == 30).all()  # the last column is the finish
    assert not picture[10, :-5].any()


def test_the_seed_decides_the_level_and_an_archive_gives_its_own(tmp_path):
    environment = gymnasium.make(NAME, render_mode="ansi").unwrapped
    levels = [environment.reset(seed=seed)[1]["level"] for seed in (1, 1, 2)]
    assert levels[0] == levels[1] != levels[2]
    assert environment.render() == levels[2]
    kept = np.random.default_rng(0).integers(0, 9, (3, 16, 56)).astype(np.uint8)
    np.savez(tmp_path / "archive.npz", metadata_level=kept)
    environment = gymnasium.make(NAME, levels=tmp_path / "archive.npz").unwrapped
    shown = {environment.reset(seed=seed)[1]["level"] for seed in range(20)}
    assert shown == {to_text(level) for level in kept}
    np.savez(tmp_path / "other.npz", others=kept)
    for path in ("other.npz", "none.npz"):
        with pytest.raises(NeurozooError, match="holds no platform levels"):
            gymnasium.make(NAME, levels=tmp_path / path)
    with pytest.raises(NeurozooError, match="render_mode"):
        PlatformerEnvironment(render_mode="svg")


def test_steps_that_cannot_be_made_are_refused(made):
    environment = made()
    with pytest.raises(gymnasium.error.ResetNeeded):
        environment.step(0)
    environment.reset(seed=0)
    with pytest.raises(gymnasium.error.InvalidAction, match="Actions go from 0 to 7, but this one is 99"):
        environment.step(99)


def test_it_is_a_game_for_searches():
    assert check_game(GAME) == GAME
    assert gymnasium_spaces(GAME) == ((227,), tuple(ACTIONS))
    world = make_world(GAME, protocol_of(GAME))
    world.reset(seed=3)
    outputs = np.eye(8, dtype=np.float32)[RUN]
    while not world.is_done:
        world.act(outputs)
    again = gymnasium.make(NAME).unwrapped
    again.reset(seed=3)
    steps = 1
    while not again.step(RUN)[2]:
        steps += 1
    assert world.steps == steps
