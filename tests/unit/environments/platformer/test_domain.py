"""The domain of platform levels measures what was published, by hand-made levels and by counting."""

import numpy as np
import pytest
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.environments.platformer.domain import BUDGETS, PlatformerDomain
from neurozoo.environments.platformer.simulator import play
from neurozoo.environments.platformer.tiles import ALPHABET, to_characters

from .levels import level_of

MARIO = get_level_domain("mario")
FIVE = Play(agent="a_star", num_episodes=5)


def evaluated(*levels, seed=0):
    rngs = [np.random.default_rng([seed, number]) for number in range(len(levels))]
    return MARIO.evaluate(np.stack(levels), FIVE, rngs)


def test_the_measures_of_hand_made_levels():
    sky = level_of("S@10-19/8-8;o@30-31/0-0;S@40-45/9-9")
    stuck = level_of("#@20-20/0-13;g@30-30/13-13;k@50-50/13-13")
    pit = level_of("-@3-55/14-15")
    found = evaluated(sky, stuck, pit)
    assert found.values["sky_tiles"].tolist() == [12, 9, 0]  # row 8 counts, row 9 does not
    assert found.values["enemies"].tolist() == [0, 2, 0]
    assert found.objectives[0] == 1
    # Before the wall the runner stands at 20 * 16 - 5 = 315 of 880 pixels.
    assert found.objectives[1] == pytest.approx(315 / 880, abs=0.02)
    assert 0.05 < found.objectives[2] < 0.4
    assert found.values["won"].tolist() == [1, 0, 0]
    assert found.values["jumps"][0] == 0
    assert found.values["jumps"][1] > 20
    assert found.values["ticks"].tolist()[1] == 666


def test_means_and_occupancy_are_those_of_the_runs_with_the_drawn_budgets():
    level = level_of("#@20-20/9-13;k@12-12/13-13")
    found = evaluated(level, seed=4)
    budgets = np.random.default_rng([4, 0]).choice(BUDGETS, 5)
    games = play(to_characters(level)[None], budgets[None])
    assert found.values["jumps"][0] == pytest.approx(games.count("jumps").mean())
    assert found.objectives[0] == pytest.approx(games.completion.mean())
    assert found.values["jumps_deviation"][0] == pytest.approx(games.count("jumps").std())
    np.testing.assert_allclose(found.occupancy[0], games.occupancy[0] / 5, rtol=1e-6)
    assert found.occupancy.sum() == pytest.approx(games.ticks.mean(), rel=1e-5)  # it never leaves the level


def test_a_result_depends_on_its_own_generator_alone():
    levels = [level_of(edits) for edits in ("", "#@20-20/9-13", "k@12-12/13-13")]
    together = evaluated(*levels)
    in_threads = Play(agent="a_star", num_episodes=5, threads=2)
    again = MARIO.evaluate(np.stack(levels[1:2]), in_threads, [np.random.default_rng([0, 1])])
    for name in MARIO.recorded:
        assert again.values[name][0] == together.values[name][1]


def test_solutions_become_levels_and_equal_ones_equal_levels():
    solutions = np.random.default_rng(0).standard_normal((200, 32))
    levels = MARIO.decode(solutions)
    assert (levels.shape, levels.dtype) == ((200, 16, 56), np.uint8)
    assert len(np.unique(levels, axis=0)) == 200
    np.testing.assert_array_equal(MARIO.decode(solutions[7:9]), levels[7:9])
    found = set(np.unique(MARIO.decode(2 * solutions)))
    assert found == set(range(len(ALPHABET)))
    assert (levels[:, 14:, :3] != 0).all()  # the runner begins on ground


def test_a_finish_before_the_start_does_not_win():
    wrong = level_of()
    wrong[13, 40], wrong[13, 3] = ALPHABET.index("M"), ALPHABET.index("F")
    domain = PlatformerDomain("test", lambda solutions: np.repeat(wrong[None], len(solutions), axis=0))
    found = domain.evaluate(domain.decode(np.zeros((1, 32))), FIVE, [np.random.default_rng(0)])
    assert found.values["ticks"][0] == 89  # the whole way


def test_ways_are_the_tiles_of_the_feet():
    above = level_of("S@0-55/6-6;M@1-1/5-5")
    way, high = MARIO.ways(np.stack([level_of(), above]), "a_star")
    assert way[0] == 13 * 56
    assert way[-1] == 13 * 56 + 55
    assert (np.diff(way % 56) >= 0).all()
    assert set(high // 56) == {5}
    assert len(MARIO.ways(np.zeros((1, 16, 56), np.uint8), "a_star")[0]) < 30  # it falls out of an empty level
