"""Levels that a generator can learn from: our own, drawn from themes and chunks, and sorted out by the agent.

Their statistics are close to those of the hand-made levels of the original, of which none is used.

Source: section 13.5 of the description of DSAGE.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from neurozoo.environments.platformer import tiles as t
from neurozoo.environments.platformer.chunks import CHUNKS, GROUND_ROW, WIDTH, ground
from neurozoo.environments.platformer.simulator import CORE, WON, play
from neurozoo.errors import NeurozooError
from neurozoo.files import written_whole
from neurozoo.files.npz import DAMAGE, read_npz

LENGTH = 200  # columns of a long level
_FIRST, _LAST = 3, 4  # flat columns at its ends
_BUDGET = 450  # nodes per tick
_PER_LEVEL = 5  # windows
_MOST_ENEMIES = 14  # in a window, as in the original
_GROWTH = 100  # times that a file of levels may grow when it is unpacked: most tiles are air

# How often a theme is chosen, and how often its chunks are
THEMES: Mapping[str, tuple[float, Mapping[str, float]]] = MappingProxyType(
    {
        "overworld": (0.46, {"meadow": 4, "gap": 3, "pipe": 10, "blocks": 6, "steps": 4, "platforms": 1}),
        "athletic": (0.20, {"meadow": 3, "gap": 3, "platforms": 9, "blocks": 2, "steps": 2, "pipe": 3}),
        "underground": (0.19, {"tunnel": 9, "meadow": 1, "pipe": 3, "gap": 2, "blocks": 2}),
        "castle": (0.15, {"fort": 6, "meadow": 2, "gap": 3, "steps": 2, "blocks": 1}),
    }
)


@dataclass(frozen=True)
class Corpus:
    """Windows of long levels."""

    levels: np.ndarray  # uint8, shape (windows, 16, 56), numbers of tiles
    # bool, shape (windows,): whether the agent comes through; False for those that are meant to be hopeless
    is_won: np.ndarray
    num_rejected: int  # windows that were left out because the agent did not come through
    seed: int  # what they were drawn with


def draw_long_level(rng: np.random.Generator) -> np.ndarray:
    """Draws a level of one theme: uint8, shape (16, 200)."""
    shares = [share for share, _ in THEMES.values()]
    _, weights = list(THEMES.values())[rng.choice(len(THEMES), p=np.array(shares) / sum(shares))]
    names, chances = list(weights), np.array(list(weights.values()), float)
    level, column, previous = ground(LENGTH), _FIRST, ""
    while column + WIDTH <= LENGTH - _LAST:
        name = names[rng.choice(len(names), p=chances / chances.sum())]
        if name == previous and name in ("gap", "pipe", "steps"):
            name = "meadow"
        CHUNKS[name](level[:, column : column + WIDTH], rng.random(4))
        column, previous = column + WIDTH, name
    return level


def draw_corpus(
    seed: int, *, count: int = 2000, hopeless: float = 0.07, threads: int = 1, core: str | os.PathLike = CORE
) -> Corpus:
    """Draws windows until enough of them can be won, and adds some that cannot.

    A tenth of the windows has a start tile, and as many a finish tile, as in the original. A share of them is hopeless,
    with a wall or a gap that nobody gets over: with them a generator can learn to express failure. The seed decides
    everything; the number of threads changes nothing.
    """
    num_hopeless = round(hopeless * count)
    wanted, kept, rejected, batch = count - num_hopeless, [np.zeros((0, t.HEIGHT, t.WIDTH), np.uint8)], 0, 0
    while wanted > 0:
        rng = np.random.default_rng([seed, 0, batch])
        windows = draw_windows(rng, min(wanted + 16, 400))
        games = play(t.to_characters(windows), np.full((len(windows), 1), _BUDGET), threads=threads, core=core)
        good = windows[games.status[:, 0] == WON][:wanted]
        rejected += int(np.sum(games.status[:, 0] != WON))
        kept.append(good)
        wanted -= len(good)
        batch += 1
    rng = np.random.default_rng([seed, 1])
    barred = _barred(draw_windows(rng, num_hopeless), rng)
    levels, is_won = np.concatenate([*kept, barred]), np.arange(count) < count - num_hopeless
    order = rng.permutation(count)
    return Corpus(levels[order], is_won[order], rejected, seed)


def kept_corpus(
    path: str | os.PathLike, seed: int, *, count: int, threads: int = 1, core: str | os.PathLike = CORE
) -> Corpus:
    """Reads the levels of a file, or draws them and writes it, because the agent takes a minute for thousands.

    Raises:
        NeurozooError: The file is damaged, or holds the levels of another seed or number.
    """
    if not Path(path).exists():
        write_corpus(path, draw_corpus(seed, count=count, threads=threads, core=core))
    corpus = read_corpus(path)
    if (corpus.seed, len(corpus.levels)) != (seed, count):
        raise NeurozooError(
            f"{path} holds {len(corpus.levels):,} levels of the seed {corpus.seed}, but the settings name {count:,} of "
            f"the seed {seed}. Delete it, or choose another folder."
        )
    return corpus


def write_corpus(path: str | os.PathLike, corpus: Corpus) -> None:
    """Writes levels to an `.npz`, which `read_corpus` reads."""
    with written_whole(path) as temporary:
        rejected, seed = np.int64(corpus.num_rejected), np.int64(corpus.seed)
        np.savez_compressed(temporary, levels=corpus.levels, is_won=corpus.is_won, num_rejected=rejected, seed=seed)


def read_corpus(path: str | os.PathLike) -> Corpus:
    """Reads what `write_corpus` wrote.

    Raises:
        NeurozooError: The file is missing or damaged, or holds no levels.
    """
    remedy = "To draw the levels again, delete the file, and repeat the command."
    if not Path(path).exists():
        raise NeurozooError(f"{path} is missing. {remedy}")
    try:
        arrays = read_npz(path, growth=_GROWTH)
        levels, is_won, rejected, seed = (arrays[name] for name in ("levels", "is_won", "num_rejected", "seed"))
    except (*DAMAGE, OSError) as error:
        raise NeurozooError(f"{path} is damaged or cut off ({error}). {remedy}") from error
    if levels.shape != (len(is_won), t.HEIGHT, t.WIDTH) or levels.dtype != np.uint8 or not is_won.size:
        raise NeurozooError(f"{path} holds no platform levels, but {levels.dtype} of shape {levels.shape}. {remedy}")
    if levels.max() >= len(t.ALPHABET):
        raise NeurozooError(f"{path} holds the unknown tile {levels.max()}. {remedy}")
    return Corpus(levels, is_won, int(rejected), int(seed))


def draw_windows(rng: np.random.Generator, count: int) -> np.ndarray:
    """Cuts windows out of long levels, a few of each; nobody has tried to win them: uint8, shape (count, 16, 56)."""
    found: list[np.ndarray] = []
    while len(found) < count:
        level = draw_long_level(rng)
        for first in rng.integers(0, LENGTH - t.WIDTH + 1, size=_PER_LEVEL):
            window = level[:, first : first + t.WIDTH].copy()
            if rng.random() < 0.1:
                window[:, :_FIRST] = ground(_FIRST)
                window[GROUND_ROW - 1, 1 + rng.integers(_FIRST - 1)] = t.START
            if rng.random() < 0.1:
                window[:, -_LAST:] = ground(_LAST)
                window[GROUND_ROW - 1, -_LAST + 1 + rng.integers(_LAST - 1)] = t.FINISH
            if np.isin(window, t.ENEMIES).sum() <= _MOST_ENEMIES and _has_whole_pipes(window):
                found.append(window)
    return np.array(found[:count], np.uint8).reshape(-1, t.HEIGHT, t.WIDTH)


def _has_whole_pipes(window: np.ndarray) -> bool:
    """Returns whether each piece of a pipe has one other piece beside it: borders cut through some."""
    pipes = np.pad(window == t.PIPE, ((0, 0), (1, 1)))
    return bool((pipes[:, 1:-1] <= (pipes[:, 2:] ^ pipes[:, :-2])).all())


def _barred(windows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Puts something into windows that nobody gets over."""
    for window in windows:
        column = rng.integers(8, t.WIDTH - 20)
        if rng.random() < 0.5:
            window[:GROUND_ROW, column - 4 : column + 4] = t.AIR
            window[GROUND_ROW:, column - 4 : column + 4] = t.GROUND
            window[GROUND_ROW - rng.integers(5, 9) : GROUND_ROW, column] = t.PYRAMID
        else:
            window[:, column : column + 14] = t.AIR
    return windows
