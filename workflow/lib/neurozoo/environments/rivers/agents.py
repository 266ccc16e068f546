"""Agents that climb a landscape of desires through worlds of the river crossing task: scripted ones, and evolved ones.

In each step their desires depend on the kind of the cell under them and on whether they carry a stone. So tables of
both say everything about what a decision network decides.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from neurozoo.environments.evolved_agents import checked_weights, reading_agent, trained_weights
from neurozoo.environments.games import RIVER_ACTIONS
from neurozoo.environments.river_agents import DESIRES, shunting_landscape
from neurozoo.environments.river_crossing import HANDS, STONE, WATER
from neurozoo.errors import NeurozooError
from neurozoo.networks import modular
from neurozoo.networks.catalogue import get_network
from neurozoo.networks.chains import OBJECTS_SHAPE, Layout

EDGE = 5  # the kind of cells around a world
_KINDS = modular.KINDS
_NOT_THERE = -1e9  # the score of an impossible action, below all heights


@dataclass(frozen=True)
class LandscapeAgent:
    """What an agent does: it spreads its desires over the map, and steps to a high neighbour."""

    desires: np.ndarray  # float, shape (2, 5, 5): carries a stone, kind of the cell under the agent, desired kind
    uses_hands: np.ndarray  # bool, shape (2, 5): carries a stone, kind of the cell that it steps on
    spread: Callable[[np.ndarray], np.ndarray]  # from desires to heights: float, shape (worlds, 20, 20), [row, column]
    may_stay: bool = True
    # Scores of the eight directions by the direction of the highest neighbour, shape (8, 8); None to go there
    movement: np.ndarray | None = None

    def climb(self, heights: np.ndarray, kinds: np.ndarray, carries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Chooses where to go; of equal scores, the first action without hands, and then the first with them, counts.

        Args:
            heights: float, shape (worlds, 9): of the cells in each direction, 0 outside.
            kinds: uint8, the same shape: their kinds, `EDGE` outside.
            carries: bool, shape (worlds,).

        Returns:
            Number of the direction, and whether the agent uses its hands: shape (worlds,) each.
        """
        scores, is_possible = heights.copy(), kinds != EDGE
        if self.may_stay:  # the core compares steepness in float32, so that small differences vanish
            scores = np.subtract(heights, heights[:, :1], dtype=np.float32)
        if self.movement is not None:  # which may lead over the edge
            scores[:, 1:] = self.movement[heights[:, 1:].argmax(axis=1)]
            is_possible[:] = True
        is_possible[:, 0] &= self.may_stay
        hands = np.pad(self.uses_hands, ((0, 0), (0, 1)))[carries.astype(int)[:, None], kinds]
        parts = [np.where(is_possible & ready, scores, _NOT_THERE) for ready in (~hands, hands)]
        action = np.concatenate(parts, axis=1).argmax(axis=1)
        return action % HANDS, action >= HANDS


def _spread_fixed(desires: np.ndarray) -> np.ndarray:
    """Spreads as `ShuntingAgent` does, to the bit: its maps have columns first."""
    return shunting_landscape(desires.swapaxes(-2, -1)).swapaxes(-2, -1)


SHUNTING = LandscapeAgent(
    desires=np.repeat(np.array(DESIRES, float)[:, None], _KINDS, axis=1),
    uses_hands=np.ones((2, _KINDS), bool),
    spread=_spread_fixed,
    may_stay=False,
)
AGENTS = {"shunting": SHUNTING}


def make_agent(name: str) -> LandscapeAgent:
    """Returns an agent, by its name or from its file (.npz); see `read_river_agent`."""
    return AGENTS[name] if name in AGENTS else read_river_agent(name)


def read_river_agent(path: str | os.PathLike) -> LandscapeAgent:
    """Reads a modular agent, the `checkpoint.npz` of a run of `river_crossing` whose network is `modular...`.

    Raises:
        NeurozooError: The file is missing, damaged, or of another game or network.
    """
    with reading_agent(path, levels="worlds of the river crossing task") as loaded:
        actions = len(RIVER_ACTIONS)
        run = trained_weights(loaded, game="river_crossing", actions=range(actions, actions + 1))
        layout = get_network(run.model).layout(run.num_actions, OBJECTS_SHAPE)
        if not layout.network.is_modular:
            raise NeurozooError(f"It should be of a modular network, but is of {run.model!r}.")
        return river_agent(layout, checked_weights(run.theta, layout))


def river_agent(layout: Layout, theta: np.ndarray) -> LandscapeAgent:
    """Returns a modular agent with the weights `theta`, float32, shape (parameters,)."""
    arrays = layout.split(theta)
    decision, landscape, _ = (placed.layer for placed in layout.layers)
    weights = [array for name, array in arrays.items() if name.startswith(f"{decision.name}/")]
    kernel, movement = arrays.get(f"{landscape.name}/w"), arrays.get("out/w")
    spread = partial(_spread_evolved, kernel=kernel, cycles=landscape.cycles)
    return LandscapeAgent(*_decided(weights, sees=decision.sees), spread, movement is None, movement)


def _spread_evolved(desires: np.ndarray, *, kernel: np.ndarray | None, cycles: int) -> np.ndarray:
    return modular.landscape_cycles(desires.astype(np.float32), kernel, cycles=cycles)[-1]


def _decided(weights: list[np.ndarray], *, sees: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the tables of `LandscapeAgent` of a decision network: its desires, and where it uses its hands."""
    codes = np.eye(_KINDS) if sees == "objects" else modular.COLOURS.astype(float)
    value = np.stack([np.column_stack([codes, np.full(_KINDS, float(carries))]) for carries in range(2)])
    for matrix in weights:
        value = np.tanh(value @ matrix.astype(float))
    if sees == "objects":
        value = (value > modular.DESIRED).astype(float) - (value < -modular.DESIRED)
        desires = value * np.array([0, 1, 1, 1, 1])  # by the cell under the agent; the first is that of the hands
    else:
        own = np.where(np.arange(_KINDS) > 0, value[..., 1], 0)  # whatever is under the agent
        desires = np.repeat(own[:, None], _KINDS, axis=1)
    hands = np.zeros((2, _KINDS), bool)
    hands[0, STONE] = value[0, STONE, 0] >= modular.HANDS
    hands[1, WATER] = value[1, WATER, 0] <= -modular.HANDS
    return desires, hands
