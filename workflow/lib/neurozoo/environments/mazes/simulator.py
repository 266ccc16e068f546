"""Episodes in mazes: many agents walk side by side, each in its own maze, and see 5 x 5 cells before them.

The rules are those of MiniGrid: three of the seven actions do something, and walls do not hide what is behind them.

Source: section 4.3 of the description of DSAGE; Chevalier-Boisvert et al. 2023, arXiv:2306.13831.
"""

from dataclasses import dataclass
from typing import Protocol as Interface

import numpy as np
from numpy.typing import ArrayLike

from neurozoo.environments.mazes.endpoints import SIDE

TURN_LEFT, TURN_RIGHT, FORWARD = 0, 1, 2
NUM_ACTIONS = 7  # 3 to 6 (pick up, drop, toggle, done) have no effect in a maze
TIME_LIMIT = 2 * (SIDE + 2) * (SIDE + 2)  # steps: 648
VIEW = 5  # cells, on each side
SEEN_EMPTY, SEEN_WALL, SEEN_GOAL = 1, 2, 8  # the first channel of what an agent sees
_COLOURS = np.zeros(9, np.uint8)
_COLOURS[SEEN_WALL], _COLOURS[SEEN_GOAL] = 5, 1  # grey and green
_MARGIN = VIEW - 1  # cells that an agent can see beyond the maze
_WIDTH = SIDE + 2 * _MARGIN
_STEPS = np.array([1, _WIDTH, -1, -_WIDTH])  # of the directions right, down, left, up, in the wider grid


# What the cells of the view are to the agent's own cell: shape (directions, 5 * 5), x before y.
_OFFSETS = np.array([
    [ahead * (VIEW - 1 - y) + right * (x - VIEW // 2) for x in range(VIEW) for y in range(VIEW)]
    for ahead, right in zip(_STEPS, np.roll(_STEPS, -1), strict=True)
])  # fmt: skip


class MazeAgent(Interface):
    """An agent that walks through mazes. It sees a batch of observations and remembers what its memory holds."""

    is_deterministic: bool  # whether a maze and a first direction decide its whole episode

    @property
    def core_parameters(self) -> np.ndarray | None:
        """What the core needs to play it: float32, shape (parameters,); None if the core does not play it."""

    def first_memory(self, episodes: int) -> np.ndarray:
        """Returns the memory of fresh episodes, shape (episodes, ...)."""

    def act(
        self, image: np.ndarray, direction: np.ndarray, memory: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Chooses actions.

        Args:
            image: uint8, shape (episodes, 5, 5, 3): see `MazeEpisodes.image`.
            direction: int64, shape (episodes,): 0 right, 1 down, 2 left, 3 up.
            memory: Shape (episodes, ...).
            rng: Where random actions come from.

        Returns:
            The actions, shape (episodes,), and the memories after them.
        """


class MazeEpisodes:
    """Episodes that begin at the same time. They can be stepped by hand; `play` plays them to their ends.

    Args:
        walls: bool, shape (episodes, 16, 16).
        start: int, shape (episodes,): cell as row * 16 + column.
        goal: The same for the goal.
        direction: int, shape (episodes,): where the agents look at first.
    """

    def __init__(self, walls: np.ndarray, start: np.ndarray, goal: np.ndarray, direction: np.ndarray) -> None:
        self._grid = _grids(walls, goal).reshape(-1)
        self._base = np.arange(len(walls)) * _WIDTH * _WIDTH
        self._place = _places(start)
        self.direction = np.array(direction, np.int64)
        self.steps = 0

    def __len__(self) -> int:
        return len(self._place)

    @property
    def cell(self) -> np.ndarray:
        """Where the agents are: int64, shape (episodes,), row * 16 + column."""
        return (self._place // _WIDTH - _MARGIN) * SIDE + self._place % _WIDTH - _MARGIN

    @property
    def seen(self) -> np.ndarray:
        """The kinds of what agents see: uint8, shape (episodes, 5, 5): 1 empty, 2 wall, 8 goal; x before y."""
        at = (self._base + self._place)[:, None] + _OFFSETS[self.direction]
        return self._grid[at].reshape(len(self), VIEW, VIEW)

    @property
    def image(self) -> np.ndarray:
        """What agents see: uint8, shape (episodes, 5, 5, 3): x before y; kind, colour (5 grey, 1 green) and state (0).

        The agent stands at (2, 4) and looks towards y = 0.
        """
        return self.observation[..., :3]

    @property
    def observation(self) -> np.ndarray:
        """Image and direction as one array: uint8, shape (episodes, 5, 5, 4), the direction in each cell."""
        observation = np.zeros((len(self), VIEW, VIEW, 4), np.uint8)
        observation[..., 0] = kinds = self.seen
        observation[..., 1] = _COLOURS[kinds]
        observation[..., 3] = self.direction[:, None, None]
        return observation

    def step(self, actions: np.ndarray) -> np.ndarray:
        """Makes one step in each episode; returns whether the goal is reached: bool, shape (episodes,)."""
        self.steps += 1
        self.direction = (self.direction + (actions == TURN_RIGHT) - (actions == TURN_LEFT)) % 4
        ahead = self._place + _STEPS[self.direction]
        kind = self._grid[self._base + ahead]
        moves = (actions == FORWARD) & (kind != SEEN_WALL)
        self._place = np.where(moves, ahead, self._place)
        return moves & (kind == SEEN_GOAL)

    def replace(
        self, episodes: np.ndarray, walls: np.ndarray, start: np.ndarray, goal: np.ndarray, direction: np.ndarray
    ) -> None:
        """Puts the agents of some episodes into other mazes; `episodes` are their numbers, and `steps` counts on."""
        self._grid.reshape(-1, _WIDTH * _WIDTH)[self._base[episodes] // _WIDTH**2] = _grids(walls, goal)
        self._place[episodes], self.direction[episodes] = _places(start), direction

    def keep(self, wanted: np.ndarray) -> None:
        """Forgets all other episodes; `wanted` is bool, shape (episodes,)."""
        self._base, self._place, self.direction = self._base[wanted], self._place[wanted], self.direction[wanted]


def _grids(walls: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Returns mazes with their margins, as agents see them: uint8, shape (mazes, wider grid)."""
    count = len(walls)
    grid = np.full((count, _WIDTH, _WIDTH), SEEN_WALL, np.uint8)
    inner = np.where(walls, SEEN_WALL, SEEN_EMPTY).astype(np.uint8).reshape(count, SIDE * SIDE)
    inner[np.arange(count), goal] = SEEN_GOAL
    grid[:, _MARGIN:-_MARGIN, _MARGIN:-_MARGIN] = inner.reshape(count, SIDE, SIDE)
    return grid.reshape(count, _WIDTH * _WIDTH)


def _places(cells: np.ndarray) -> np.ndarray:
    return (np.asarray(cells) // SIDE + _MARGIN) * _WIDTH + np.asarray(cells) % SIDE + _MARGIN


def reward_at(steps: ArrayLike, *, time_limit: int = TIME_LIMIT) -> np.ndarray:
    """Returns the rewards of agents that have reached the goal after some steps; without the goal it is 0."""
    return 1 - 0.9 * np.asarray(steps) / time_limit


@dataclass(frozen=True)
class Walks:
    """The ways of agents through mazes."""

    cells: np.ndarray  # int16, shape (episodes, 648): the agent's cell before each action; -1 after the end
    actions: np.ndarray  # int8, shape (episodes, 648): -1 after the end
    lengths: np.ndarray  # int64, shape (episodes,): steps; 648 if the goal was not reached in time
    is_solved: np.ndarray  # bool, shape (episodes,)

    def visits(self) -> np.ndarray:
        """Returns how often agents stood on each cell before an action: int64, shape (episodes, 256)."""
        count = len(self.cells)
        at = self.cells.astype(np.int64) + np.arange(count)[:, None] * SIDE * SIDE
        return np.bincount(at[self.cells >= 0], minlength=count * SIDE * SIDE).reshape(count, SIDE * SIDE)


def play(
    agent: MazeAgent,
    walls: np.ndarray,
    start: np.ndarray,
    goal: np.ndarray,
    direction: np.ndarray,
    rng: np.random.Generator,
) -> Walks:
    """Plays episodes to their ends; for the arrays see `MazeEpisodes`. Random actions come from `rng`."""
    count = len(walls)
    cells = np.full((count, TIME_LIMIT), -1, np.int16)
    actions = np.full((count, TIME_LIMIT), -1, np.int8)
    lengths, is_solved = np.full(count, TIME_LIMIT), np.zeros(count, bool)
    episodes, memory, number = MazeEpisodes(walls, start, goal, direction), agent.first_memory(count), np.arange(count)
    while len(episodes) and episodes.steps < TIME_LIMIT:
        now = episodes.steps
        chosen, memory = agent.act(episodes.image, episodes.direction, memory, rng)
        cells[number, now], actions[number, now] = episodes.cell, chosen
        solved = episodes.step(chosen)
        if solved.any():
            lengths[number[solved]], is_solved[number[solved]] = episodes.steps, True
            episodes.keep(~solved)
            memory, number = memory[~solved], number[~solved]
    return Walks(cells, actions, lengths, is_solved)
