"""The corpus has the statistics of the original's levels, and the agent gets through all but a known share of it."""

import numpy as np
import pytest
from neurozoo.environments.platformer import tiles as t
from neurozoo.environments.platformer.chunks import CHUNKS, GROUND_ROW, WIDTH, ground
from neurozoo.environments.platformer.corpus import LENGTH, draw_corpus, draw_long_level, draw_windows
from neurozoo.environments.platformer.simulator import WON, play

# Section 13.5 of the description: percent of all tiles
SHARES = {
    "-": 81.5, "X": 9.5, "S": 2.1, "|": 1.9, "#": 1.6, "t": 1.2, "%": 0.8, "o": 0.35, "g": 0.25, "kr": 0.2, "!@": 0.2,
    "y": 0.06, "*": 0.06,
}  # fmt: skip


@pytest.fixture(scope="module")
def windows():
    return draw_windows(np.random.default_rng(0), 3000)


def test_tiles_are_as_frequent_as_in_the_original(windows):
    counts = np.bincount(windows.ravel(), minlength=17) / windows.size * 100
    for characters, published in SHARES.items():
        share = sum(counts[t.ALPHABET.index(character)] for character in characters)
        assert published / 1.7 <= share <= published * 1.7, characters
    assert (counts > 0).all()  # all 17 tiles occur


def test_sky_and_enemies_are_as_in_the_original(windows):
    sky = (windows[:, :9] != t.AIR).sum(axis=(1, 2))
    assert 22.5 / 1.4 <= sky.mean() <= 22.5 * 1.4
    assert 11 / 2 <= np.median(sky) <= 11 * 2
    low, high = np.percentile(sky, [5, 95])
    assert low == 0
    assert 94 / 1.5 <= high <= 94 * 1.5
    assert 142 / 1.5 <= sky.max() <= 142 * 1.5
    enemies = np.isin(windows, t.ENEMIES).sum(axis=(1, 2))
    assert 5.3 / 1.5 <= enemies.mean() <= 5.3 * 1.5
    assert (enemies.min(), enemies.max() <= 14) == (0, True)


def test_windows_keep_the_rules_of_the_corpus(windows):
    starts, finishes = ((windows == tile).sum(axis=(1, 2)) for tile in (t.START, t.FINISH))
    assert starts.max() == finishes.max() == 1
    for marked in (starts, finishes):
        assert 0.07 < marked.mean() < 0.13
    assert set(np.argwhere(windows == t.START)[:, 2]) <= {1, 2, 3}
    assert set(np.argwhere(windows == t.FINISH)[:, 2]) <= {52, 53, 54, 55}
    pipes = np.pad(windows == t.PIPE, ((0, 0), (0, 0), (1, 1)))
    assert (pipes[..., 1:-1] <= (pipes[..., 2:] ^ pipes[..., :-2])).all()  # each piece has one neighbour: 2 wide
    # Enemies stand on something.
    place, row, column = np.nonzero(np.isin(windows, t.ENEMIES))
    below = windows[place, row + 1, column]
    assert np.isin(below, (t.GROUND, t.PLATFORM, t.PYRAMID, t.BRICK)).all()


def test_a_long_level_begins_and_ends_flat():
    for seed in range(20):
        level = draw_long_level(np.random.default_rng(seed))
        assert level.shape == (16, LENGTH)
        for part in (level[:, :3], level[:, -4:]):
            np.testing.assert_array_equal(part, ground(part.shape[1]))


def test_the_agent_wins_what_it_should_and_nothing_else():
    corpus = draw_corpus(5, count=20, hopeless=0.1)
    assert corpus.levels.shape == (20, 16, 56)
    assert corpus.is_won.sum() == 18
    games = play(t.to_characters(corpus.levels), np.full((20, 1), 450))
    np.testing.assert_array_equal(games.status[:, 0] == WON, corpus.is_won)


def test_a_seed_decides_the_corpus_and_threads_do_not():
    first, second = draw_corpus(1, count=12), draw_corpus(1, count=12, threads=2)
    np.testing.assert_array_equal(first.levels, second.levels)
    assert (first.levels != draw_corpus(2, count=12).levels).any()


@pytest.mark.parametrize("name", CHUNKS)
def test_every_chunk_stays_in_its_columns_for_all_numbers(name):
    for number in (0.0, 0.25, 0.5, 0.75, 0.999):
        for other in (0.0, 0.5, 0.999):
            level = ground(WIDTH)
            CHUNKS[name](level, np.array([number, other, number, other]))
            assert level.max() < 17
            if name in ("wall", "steps", "pipe"):
                assert (level[GROUND_ROW:] == t.GROUND).all()
