"""The domain of river crossings: worlds of 20 x 20 cells that an agent crosses with stones.

Proposed with these measures in section 6.7 of our description of the task; the objective and the cells are ours.
"""

import os
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from neurozoo.environments.levels import Evaluations, LevelDomain, Measure, Play
from neurozoo.environments.river_crossing import RESOURCE, SIDE, STONE, TRAP, WATER
from neurozoo.environments.rivers import simulator
from neurozoo.environments.rivers import worlds as w
from neurozoo.environments.rivers.agents import AGENTS, make_agent, read_river_agent
from neurozoo.environments.rivers.simulator import TIME_LIMIT

_MOST_RATIO = 10


class RiverDomain(LevelDomain):
    """Worlds of the river crossing task; see `LevelDomain`.

    A solution has an entry for each cell; `worlds.decode` repairs what they stand for. The objective is the share of
    the agent's steps that a greedy planner would have saved: 0 if the agent is as fast or nobody knows better, near 1
    if it fails although there is a short plan. A failure counts as 200 steps. All agents are deterministic, so they
    play a world once, and no random numbers are used.

    The measures are `stones_placed`, `steps` of the agent, and `step_ratio`, these by those of the planner (0 if it has
    no plan).
    """

    name = "river_crossing"
    solution_size = SIDE * SIDE
    num_values = w.NUM_VALUES
    num_tiles = w.NUM_KINDS
    shape = (SIDE, SIDE)
    measures: Mapping[str, Measure] = MappingProxyType(
        {
            "stones_placed": Measure("Stones placed in water", 0, 21, 21, 7),
            "steps": Measure("Steps of the agent", 0, TIME_LIMIT, 100, 25),
            "step_ratio": Measure("Steps of the agent by those of a planner", 0, _MOST_RATIO, 100, 25),
        }
    )
    recorded = (
        "stones_placed", "steps", "step_ratio", "solved", "died", "planned_steps", "bridge_length", "stones", "water",
        "traps",
    )  # fmt: skip
    default_measures = ("stones_placed", "steps")
    agents = tuple(AGENTS)
    read_agent = staticmethod(read_river_agent)
    play_once, need_core = "all", "none"
    tile_colours = ("#7fb069", "#ffd500", "#8d8d94", "#3a86d8", "#c1272d", "#f4f1de")

    def decode(self, solutions: np.ndarray) -> np.ndarray:
        """Returns repaired worlds, with start and resource; see `worlds.decode`."""
        return w.decode(solutions)

    def with_endpoints(self, levels: np.ndarray) -> np.ndarray:
        """Returns the same worlds: their start and resource are cells."""
        return levels

    def evaluate(self, levels: np.ndarray, play: Play, rngs: list[np.random.Generator]) -> Evaluations:
        """Sends an agent into worlds; see `LevelDomain.evaluate`."""
        levels = np.asarray(levels, np.uint8)
        walks = simulator.play(make_agent(play.agent), levels)
        values = values_of(levels, walks)
        planned, steps = values["planned_steps"], values["steps"]
        return Evaluations(
            levels=levels,
            objectives=np.where(planned > 0, np.clip(1 - planned / steps, 0, 1), 0).astype(np.float32),
            values={name: np.asarray(values[name], np.float32) for name in self.recorded},
            occupancy=walks.visits().astype(np.float32),
        )

    def ways(
        self, levels: np.ndarray, agent: str, *, direction: int = 0, core: str | os.PathLike | None = None
    ) -> list[np.ndarray]:
        """Returns the cells after each step of the agent; see `LevelDomain.ways`. Direction and core mean nothing."""
        walks = simulator.play(make_agent(agent), np.asarray(levels, np.uint8))
        return [cells[:steps] for cells, steps in zip(walks.cells, walks.steps, strict=True)]


def values_of(levels: np.ndarray, walks: simulator.Walks) -> dict[str, np.ndarray]:
    """Returns what is recorded of walks through worlds: shape (worlds,), by the names of `RiverDomain.recorded`.

    -1 stands for no plan and for no way to the resource.
    """
    planned = w.planned_steps(levels)
    steps = np.where(walks.is_solved, walks.steps, TIME_LIMIT)
    lengths = w.bridge_lengths(levels, w.START)[levels == RESOURCE].astype(int)
    return {
        "stones_placed": walks.stones,
        "steps": steps,
        "step_ratio": np.where(planned > 0, steps / np.maximum(planned, 1), 0),
        "solved": walks.is_solved,
        "died": walks.is_dead,
        "planned_steps": np.where(planned > 0, planned, -1),
        "bridge_length": np.where(lengths < w.NEVER, lengths, -1),
        **{
            name: (levels == kind).sum(axis=(1, 2))
            for name, kind in (("stones", STONE), ("water", WATER), ("traps", TRAP))
        },
    }
