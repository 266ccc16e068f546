"""The river crossing task: an agent builds a bridge of stones to fetch a resource behind a river.

An attempt is a series of levels. Each level is a new random world with a wider river. Water, traps and leaving the grid
kill the agent. It picks up a stone, or drops one into water, by moving onto the cell while it uses its hands.

`faithful` rules are those of the Deep Neuroevolution Toolbox, including its bugs; `fixed` rules are without the bugs.
`docs/river_crossing.md` compares them. The same game in C++: native/core/river_crossing.cc.

Sources: Robinson, Ellis and Channon 2007, ECAL, pp. 345-354; github.com/WatchJolley/deep-neuro-toolbox.
"""

from dataclasses import dataclass

import numpy as np

from neurozoo.environments.games import RIVER_ACTIONS
from neurozoo.environments.splitmix64 import SplitMix64
from neurozoo.errors import NeurozooError

SIDE = 20  # cells
EMPTY, RESOURCE, STONE, WATER, TRAP = range(5)
DIRECTIONS = ((0, 0), (-1, 1), (0, 1), (1, 1), (-1, 0), (1, 0), (-1, -1), (0, -1), (1, -1))  # (columns, rows)
HANDS = len(DIRECTIONS)  # the actions from this number on also use the hands
RIVER_COLUMN = 14  # the first column with water
RESOURCE_ROW = 10
BASIC_STONES = 17  # plus the width of the river


@dataclass(frozen=True)
class RiverRules:
    """Parameters of the task."""

    is_faithful: bool = False  # whether the rules are those of the toolbox, including its bugs
    min_width: int = 0  # width of the river in level 0
    max_width: int = 3  # width of the river in the last level
    attempts: int = 10  # attempts that count, per episode
    step_limit: int = 150  # most steps in one world
    num_traps: int = 7  # traps per world; two may be on the same cell
    num_stones: int | None = None  # stones per world; None for 17 plus the width of the river
    start_column: int = 1  # column in which the agent starts; its row is random

    def __post_init__(self):
        limits = {
            "min_width": (0, self.max_width), "max_width": (0, 4), "attempts": (1, 1_000), "step_limit": (1, 100_000),
            "num_traps": (0, 100), "num_stones": (0, 100), "start_column": (0, RIVER_COLUMN - 1),
        }  # fmt: skip
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if not (name == "num_stones" and value is None) and not least <= value <= most:
                raise NeurozooError(f"{name} of the river crossing task should be {least} to {most}, but got {value}.")


class RiverCrossing:
    """The game with one agent, played step by step.

    A world depends only on the episode's seed, the attempt and the width of the river.

    Attributes:
        grid: Cells, uint8, shape (20, 20), [column, row].
        carries: Whether the agent carries a stone.
        age: Steps in this world.
        level: Levels solved in this attempt.
        attempt: Number of finished attempts.
        fitness: Fitness of the finished attempts; under fixed rules also of the current one.
        cause: Why the last failed attempt ended: `edge`, `trap`, `water` or `age`; empty before the first failure.
        levels_solved: Levels solved in this episode.
        stones_placed: Stones dropped into water in this episode.
        final_positions: (column, row, level) at the end of each finished attempt.
    """

    has_reached: bool  # faithful rules only: the agent reached the resource, and the next step begins in a new world

    def __init__(self, rules: RiverRules):
        self.rules = rules
        self.is_over = True

    def reset(self, *, seed: int) -> None:
        """Starts an episode."""
        self._key = SplitMix64(seed).next()
        self.attempt = self.level = self.fitness = self.levels_solved = self.stones_placed = 0
        self.cause = ""
        self.final_positions: list[tuple[int, int, int]] = []
        self.is_over = self._is_finished = False
        self._enter_world()

    @property
    def width(self) -> int:
        """Columns of the river."""
        return self.rules.min_width + self.level

    @property
    def is_last_level(self) -> bool:
        """Whether this is the widest river of an attempt."""
        return self.width == self.rules.max_width

    def step(self, action: int, *, is_last: bool = False) -> float:
        """Plays one step.

        Args:
            action: Index into `RIVER_ACTIONS`.
            is_last: Whether to end the episode after this step, because a frame limit is reached.

        Returns:
            The reward. Under fixed rules it is 1 when a level is solved; under faithful rules it is the fitness, in the
            last step. Both sum to the fitness over an episode.
        """
        if self.is_over:
            raise NeurozooError("The episode is over; call reset() to start the next one.")
        if not 0 <= action < len(RIVER_ACTIONS):
            raise NeurozooError(f"The river crossing task has the actions 0 to 17, but got {action}.")
        self.enter_next_world()
        if self._is_finished:
            self.is_over = True
            return float(self.fitness)
        end_step = self._end_step_faithful if self.rules.is_faithful else self._end_step
        reward = end_step(*self._move(action))
        if is_last and not self._is_finished:
            self._note_position()
            self._is_finished = True
        self.is_over = self._is_finished
        return float(self.fitness if self.is_over and self.rules.is_faithful else reward)

    def enter_next_world(self) -> None:
        """Enters the next world now instead of at the start of the next step. That step stays the same.

        Under faithful rules, an agent chooses its action before it sees a new world. Scripted agents call this first.
        """
        if self.has_reached and not self._is_finished:
            self.has_reached = False
            if self.is_last_level:
                self._end_attempt()
            else:
                self.level += 1
                self._enter_world()

    def _enter_world(self) -> None:
        random = SplitMix64(self._key ^ (self.attempt << 8 | self.width))
        self.age, self.carries, self.has_reached = 0, False, False
        self.grid, self.row = draw_world(self.width, random, self.rules)
        self.column = self.rules.start_column

    def _move(self, action: int) -> tuple[str, bool]:
        """Returns (cause of death or an empty text, whether the agent reached the resource)."""
        uses_hands = action > HANDS if self.rules.is_faithful else action >= HANDS
        columns, rows = DIRECTIONS[action % HANDS]
        column, row = self.column + columns, self.row + rows
        if not (0 <= column < SIDE and 0 <= row < SIDE):
            return "edge", False
        self.column, self.row = column, row
        cell = self.grid[column, row]
        if uses_hands and cell == (WATER if self.carries else STONE):
            self.stones_placed += self.carries
            self.carries = not self.carries
            cell = self.grid[column, row] = EMPTY
        return {TRAP: "trap", WATER: "water"}.get(int(cell), ""), bool(cell == RESOURCE)

    def _end_step(self, cause: str, has_reached: bool) -> float:
        self.age += 1
        if has_reached:
            self.fitness += 1
            self.levels_solved += 1
            if self.is_last_level:
                self._end_attempt()
            else:
                self.level += 1
                self._enter_world()
        elif cause or self.age >= self.rules.step_limit:
            self.cause = cause or "age"
            self._end_attempt()
        return float(has_reached)

    def _end_step_faithful(self, cause: str, has_reached: bool) -> float:
        self.has_reached = has_reached
        self.levels_solved += has_reached
        if cause:
            self.cause = cause
            self._end_attempt()
        if not self._is_finished:
            self.age += 1  # also in a new world after a death
            if self.age >= self.rules.step_limit:
                self.cause = "age"
                self._note_position()
                self._is_finished = True
        return 0.0

    def _end_attempt(self) -> None:
        self._note_position()
        if self.rules.is_faithful:  # plays one more attempt, which does not count
            self._is_finished = self.attempt == self.rules.attempts
            if not self._is_finished:
                self.fitness += self.level
        else:
            self._is_finished = self.attempt == self.rules.attempts - 1
        if not self._is_finished:
            self.attempt += 1
            self.level = 0
            self._enter_world()

    def _note_position(self) -> None:
        self.final_positions.append((self.column, self.row, self.level))


def resource_column(width: int) -> int:
    """Returns the column of the resource behind a river of some width: half-way to the right edge."""
    return SIDE - 1 - (SIDE - 1 - (RIVER_COLUMN + width)) // 2


def draw_world(width: int, random: SplitMix64, rules: RiverRules) -> tuple[np.ndarray, int]:
    """Draws the cells of a random world, uint8, shape (20, 20), [column, row], and the row of the agent's start.

    Under faithful rules, the start may be on a stone or a trap.
    """
    while True:
        grid = np.full((SIDE, SIDE), EMPTY, np.uint8)
        grid[RIVER_COLUMN : RIVER_COLUMN + width] = WATER
        for _ in range(rules.num_traps):
            while grid[cell := (random.below(SIDE), random.below(SIDE))] == WATER:
                pass
            grid[cell] = TRAP
        for _ in range(BASIC_STONES + width if rules.num_stones is None else rules.num_stones):
            while (cell := (random.below(SIDE), random.below(SIDE)))[0] > RIVER_COLUMN or grid[cell] != EMPTY:
                pass
            grid[cell] = STONE
        grid[resource_column(width), RESOURCE_ROW] = RESOURCE
        column = grid[rules.start_column]
        rows = [row for row in range(SIDE) if rules.is_faithful or column[row] == EMPTY]
        if rows:
            return grid, rows[random.below(len(rows))]
