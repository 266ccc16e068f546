"""Pictures show what is where, and nothing that is not."""

import numpy as np
from neurozoo.environments.platformer.drawing import draw_level, draw_tick, draw_way
from neurozoo.environments.platformer.simulator import KINDS, play, replay
from neurozoo.environments.platformer.tiles import ALPHABET, BRICK, GROUND, from_text, to_characters, to_text

from .levels import decisions, level_of


def tile_at(picture, row, column):
    return picture[row * 16 : row * 16 + 16, column * 16 : column * 16 + 16]


def test_every_tile_looks_different_and_changes_only_its_own_place():
    empty, seen = draw_level(level_of()), {}
    for character in ALPHABET.replace("M", "").replace("F", ""):
        picture = draw_level(level_of(f"{character}@20-20/6-6"))
        assert picture.shape == (256, 896, 3)
        differs = (picture != empty).any(axis=2)
        inside = np.zeros_like(differs)
        inside[6 * 16 : 7 * 16, 20 * 16 : 21 * 16] = True
        assert not (differs & ~inside).any(), character
        assert differs.any() == (character != "-"), character
        seen[tile_at(picture, 6, 20).tobytes()] = character
    assert len(seen) == len(ALPHABET) - 2


def test_the_runner_is_drawn_where_it_is():
    level = level_of()
    game = replay(to_characters(level), decisions("*:RS", length=40))
    for tick in (0, 20, 40):
        x = round(float(game.position[tick, 0]))
        picture = draw_tick(level, game, tick)
        differs = (picture != draw_level(level)).any(axis=2)
        # Feet at y = 223, 10 pixels wide, 12 high; and behind it the line of its way.
        assert differs[212:224, x - 5 : x + 5].mean() > 0.7
        assert not differs[:, x + 6 :].any()
        assert not differs[:212].any()
        assert not differs[224:].any()


def test_what_is_broken_or_hit_is_no_longer_drawn_as_it_was():
    level = level_of("S@0-0/10-10")
    game = replay(to_characters(level), decisions("2:,12:J,*:", length=30), power=1)
    assert (tile_at(draw_tick(level, game, 0), 10, 0) == tile_at(draw_level(level), 10, 0)).all()
    without = np.where(level == BRICK, 0, level)
    assert (tile_at(draw_tick(level, game, 30), 10, 0) == tile_at(draw_level(without), 10, 0)).all()
    level = level_of("!@0-0/10-10")
    game = replay(to_characters(level), decisions("2:,12:J,*:", length=30))
    assert (tile_at(draw_tick(level, game, 30), 10, 0) != tile_at(draw_level(level), 10, 0)).any()


def test_sprites_at_the_borders_are_cut_off():
    # The game begins above the picture, and ends with the runner below it.
    level = level_of("-@0-55/0-15;X@0-0/0-0;M@5-5/0-0")
    game = replay(to_characters(level), decisions("*:J"))
    assert game.position[:, 1].max() > 270
    for tick in range(len(game.status)):
        assert draw_tick(level, game, tick).shape == (256, 896, 3)


def test_the_way_is_a_line_from_start_to_finish():
    level = level_of("g@20-20/13-13")
    game = replay(to_characters(level), play(to_characters(level)[None], [[300]]).buttons)
    differs = (draw_way(level, game) != draw_level(level)).any(axis=(0, 2))
    assert differs[8:880].all()
    assert {KINDS[int(kind)] for sprites in game.sprites for kind in sprites["kind"]} >= {"runner", "goomba"}


def test_a_level_as_text_is_the_same_level():
    rng = np.random.default_rng(0)
    level = rng.choice([n for n in range(17) if ALPHABET[n] not in "MF"], size=(16, 56)).astype(np.uint8)
    np.testing.assert_array_equal(from_text(to_text(level)), level)
    assert to_text(level_of()).splitlines()[15] == "X" * 56
    assert level_of()[15, 0] == GROUND
