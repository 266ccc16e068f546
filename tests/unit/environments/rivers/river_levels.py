"""Worlds for tests."""

import numpy as np
from neurozoo.environments.river_crossing import WATER, RiverCrossing, RiverRules
from neurozoo.environments.rivers.worlds import START


def drawn(width, count, *, start_column=1):
    """Games of one random world of the task each, and the same worlds as levels."""
    rules = RiverRules(min_width=width, max_width=width, attempts=1, step_limit=200, start_column=start_column)
    games = [RiverCrossing(rules) for _ in range(count)]
    for seed, game in enumerate(games):
        game.reset(seed=seed)
    return games, np.stack([level_of(game) for game in games])


def level_of(game):
    level = game.grid.T.copy()
    level[game.row, game.column] = START
    return level


def world_of(cells, *, water=slice(0)):
    """A world with some (row, column): kind, and water in some columns; all else is grass."""
    world = np.zeros((20, 20), np.uint8)
    world[:, water] = WATER
    for place, kind in cells.items():
        world[place] = kind
    return world
