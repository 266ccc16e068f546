"""The domain of platform levels: 16 x 56 tiles that a decoder makes of 32 numbers, and an A* agent that plays them.

Source: section 5 of the description of DSAGE.
"""

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from neurozoo.environments.levels import Evaluations, LevelDomain, Measure, Play
from neurozoo.environments.platformer import simulator
from neurozoo.environments.platformer import tiles as t
from neurozoo.environments.platformer.evolved_runner import play_with, read_runner, run_through

A_STAR = "a_star"
BUDGETS = (350, 400, 450, 500, 550)  # nodes per tick, of which every run draws one
SKY_ROWS = 9
_MEANS = ("jumps", "kills", "stomp_kills", "shell_kills", "fire_kills", "fall_kills", "hurts", "coins", "longest_air")

Decoder = Callable[[np.ndarray], np.ndarray]  # from solutions to tiles: uint8, (levels, 16, 56)


class PlatformerDomain(LevelDomain):
    """Levels of a platform game; see `LevelDomain`.

    A solution has 32 real numbers, which a decoder turns into a level. A finish at the left of the start would win at
    once, so both are taken out of such a level. The objective is the share of the way to the finish where the agent
    ends, on average over its runs, of which each draws its budget. As published, the share counts from column 0, so a
    late start begins with most of it. An evolved network would do the same in all runs, so it has one.

    The measures are those of the published archives: `sky_tiles` (tiles in the upper nine rows that are not air),
    `jumps` and `kills` (means over the runs).
    """

    solution_size = 32
    num_tiles = len(t.ALPHABET)
    shape = (t.HEIGHT, t.WIDTH)
    measures: Mapping[str, Measure] = MappingProxyType(
        {
            "sky_tiles": Measure("Tiles in the sky", 0, 150, 150, 30),
            "jumps": Measure("Mean jumps of the agent", 0, 100, 100, 20),
            "kills": Measure("Mean enemies killed", 0, 25, 25, 5),
        }
    )
    recorded = (
        "sky_tiles", "jumps", "kills", "enemies", "stomp_kills", "shell_kills", "fire_kills", "fall_kills", "hurts",
        "coins", "longest_air", "longest_jump", "ticks", "won", "completion_deviation", "jumps_deviation",
    )  # fmt: skip
    default_measures = ("sky_tiles", "jumps")
    agents = (A_STAR,)
    play_once = "trained"
    reads_generators = True
    read_agent = staticmethod(read_runner)
    need_core = "all"
    tile_colours = t.TILE_COLOURS

    def __init__(self, name: str, decoder: Decoder) -> None:
        self.name = name
        self._decoder = decoder

    def decode(self, solutions: np.ndarray) -> np.ndarray:
        """Returns levels: uint8, shape (levels, 16, 56)."""
        return t.without_wrong_ends(self._decoder(np.asarray(solutions)))

    def with_endpoints(self, levels: np.ndarray) -> np.ndarray:
        """Returns the same levels: their start and finish are tiles, or else their first and last column."""
        return levels

    def evaluate(self, levels: np.ndarray, play: Play, rngs: list[np.random.Generator]) -> Evaluations:
        """Sends the agent into levels; see `LevelDomain.evaluate`.

        The occupancy is the number of ticks in which the runner's feet were on a tile.
        """
        levels = np.asarray(levels, np.uint8)
        characters, core = t.to_characters(levels), play.core or simulator.CORE
        if play.agent == A_STAR:
            budgets = np.array([rng.choice(BUDGETS, play.num_episodes) for rng in rngs]).reshape(len(levels), -1)
            games = simulator.play(characters, budgets, threads=play.threads, core=core)
        else:
            games = play_with(read_runner(play.agent), characters, core=core)
        values = {
            **{name: games.count(name).mean(axis=1) for name in _MEANS},
            "sky_tiles": (levels[:, :SKY_ROWS] != t.AIR).sum(axis=(1, 2)),
            "enemies": np.isin(levels, t.ENEMIES).sum(axis=(1, 2)),
            "longest_jump": games.longest_jump.mean(axis=1),
            "ticks": games.ticks.mean(axis=1),
            "won": (games.status == simulator.WON).mean(axis=1),
            "completion_deviation": games.completion.std(axis=1),
            "jumps_deviation": games.count("jumps").std(axis=1),
        }
        return Evaluations(
            levels=levels,
            objectives=games.completion.mean(axis=1).astype(np.float32),
            values={name: np.asarray(values[name], np.float32) for name in self.recorded},
            occupancy=(games.occupancy / games.status.shape[1]).astype(np.float32),
        )

    def ways(
        self, levels: np.ndarray, agent: str, *, direction: int = 0, core: str | os.PathLike | None = None
    ) -> list[np.ndarray]:
        """Returns the tiles of one run in each level; see `LevelDomain.ways`. Ticks outside of the level are left out.

        The searching agent has its middle budget. `direction` has no meaning.
        """
        characters, core = t.to_characters(np.asarray(levels, np.uint8)), core or simulator.CORE
        if agent == A_STAR:
            budgets = np.full((len(characters), 1), BUDGETS[len(BUDGETS) // 2])
            buttons = simulator.play(characters, budgets, core=core).buttons_of_first_runs()
            runs = [simulator.replay(level, own, core=core) for level, own in zip(characters, buttons, strict=True)]
        else:
            runner = read_runner(agent)
            runs = [run_through(runner, level, core=core)[1] for level in characters]
        return [simulator.tiles_of_feet(run.position) for run in runs]
