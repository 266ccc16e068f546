"""The replay memory: it stores each screen once, and draws batches of transitions."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from neurozoo.algorithms.dqn.rings import Rings
from neurozoo.algorithms.dqn.sum_tree import SumTree
from neurozoo.compute.memory import gigabytes
from neurozoo.errors import NeurozooError

REMEDY = "Restore the file, or start the run anew."
ROUNDS = 50  # attempts to draw valid rows, before all rows are searched
SMALLEST_ERROR = 1e-6  # added to all errors, so that every row can be drawn again


@dataclasses.dataclass(frozen=True)
class Sample:
    """A batch of transitions, over n = `steps` steps each.

    The state before is `screens[:, :history]`, the state after is `screens[:, steps:]`.

    Attributes:
        screens: Shape (batch, history + steps, height, width), uint8. After a terminal they have no meaning.
        actions: Shape (batch,), int32, the first action.
        returns: Shape (batch,), float32, the discounted sum of the clipped rewards, up to a terminal.
        discounts: Shape (batch,), float32, the factor of the value of the state after: discount^n, or 0 after a
            terminal.
        weights: Shape (batch,), float32, importance weights, the largest is 1.
        rows: Shape (batch,), int64, the numbers of the rows for `Replay.update`.
    """

    screens: np.ndarray
    actions: np.ndarray
    returns: np.ndarray
    discounts: np.ndarray
    weights: np.ndarray
    rows: np.ndarray


class Replay:
    """Keeps the last transitions of several environments and draws batches of them.

    Each environment has a ring of its own. A row holds an action, its reward, whether it ended the episode (or the
    life), the screen after it, and its age: the number of rows since its segment of the stream began. Row i is a
    transition from the screens i - history .. i - 1.

    With `windows="whole"` (simple_dqn) a row is drawn only if `history` screens of its segment precede it; a segment
    ends at a terminal or at `begin`. With "padded" (DeepMind) a segment begins with the first screen of a game, a row
    of age 0 that is not a transition. Screens before it are zeros, and a terminal within the segment is a lost life.
    With `masks_terminals`, a lost life begins a new segment, whose first screen is that after the terminal action. Rows
    whose segment ends without a terminal within the next n - 1 rows are never drawn.

    Two details differ from simple_dqn: the first slots of a full ring can be drawn, too (the original leaves out four
    in a million), and rewards keep their fractions.

    With a folder the rings are memory-mapped files. A killed process can continue from its saved state even if rows
    were added after that: up to `slack` further rows per environment overwrite nothing that the saved state can draw.

    Args:
        capacity: Rows that can be drawn from, of all environments together.
        history: Screens in a state.
        steps: n of the n-step returns.
        discount: Per step.
        reward_scale: Factor on rewards when they are drawn; then they are clipped to `reward_bounds`, if there are any.
        prioritised: Draw in proportion to |error|^exponent instead of uniformly.
        folder: Folder for the files, or None to keep the rows in memory.
        remedy: A sentence that tells the user what to do about a missing or damaged file.

    Raises:
        NeurozooError: Too little memory or disk.

    Source: Mnih et al. 2015, doi:10.1038/nature14236; Schaul et al. 2016, arXiv:1511.05952 (priorities).
    """

    def __init__(
        self,
        *,
        capacity: int,
        num_envs: int,
        shape: tuple[int, int] = (84, 84),
        history: int = 4,
        steps: int = 1,
        discount: float = 0.99,
        reward_scale: float = 1.0,
        reward_bounds: tuple[float, float] | None = (-1.0, 1.0),
        windows: str,
        masks_terminals: bool = False,
        prioritised: bool = False,
        exponent: float = 0.5,
        folder: Path | None = None,
        slack: int = 0,
        remedy: str = REMEDY,
    ) -> None:
        self._length = capacity // num_envs
        self._num_envs, self._history, self._steps = num_envs, history, steps
        self._powers = discount ** np.arange(steps)
        self._last_discount = discount**steps
        self._reward_scale, self._reward_bounds = np.float32(reward_scale), reward_bounds
        self._is_whole = windows == "whole"
        self._masks_terminals = masks_terminals
        self._exponent = exponent
        self._folder = None if folder is None else Path(folder)
        self._slack = 0 if folder is None else slack
        self._ring = self._length + self._slack
        self._remedy = remedy
        self._rings = Rings(num_envs * self._ring, shape, folder=self._folder, remedy=remedy)

        self._written = np.zeros(num_envs, np.int64)  # rows ever written
        self._next_ages = np.zeros(num_envs, np.int32)
        self._saved: np.ndarray | None = None  # the value of `_written` when the state was last saved
        self._tree = SumTree(num_envs * self._ring) if prioritised else None
        self._highest = 1.0

    def __len__(self) -> int:
        """Returns the number of rows in the memory, at most the capacity; not all of them can be drawn."""
        return int(np.minimum(self._written, self._length).sum())

    @property
    def announcement(self) -> str:
        """The size, such as "Replay memory: 1,000,000 screens, 7.1 GB in memory (21.3 GB available)"."""
        place = "memory" if self._folder is None else str(self._folder)
        return (
            f"Replay memory: {self._num_envs * self._length:,} screens, {gigabytes(self._rings.needed)} in {place} "
            f"({gigabytes(self._rings.available)} available)"
        )

    @property
    def can_sample(self) -> bool:
        """Whether there is at least one row to draw."""
        # The newest rows are nearly always enough, and all take long.
        return any(len(self.valid_rows(newest=newest)) for newest in (100, self._length))

    def valid_rows(self, *, newest: int | None = None) -> np.ndarray:
        """Lists the rows that can be drawn, of all or of the newest of each environment, as in `Sample.rows`."""
        found = []
        for environment, written in enumerate(self._written.tolist()):
            rows = np.arange(max(0, written - (newest or self._length)), written)
            if len(rows):  # before the first one, there may be no rings
                rows = rows[self._is_valid(np.full(len(rows), environment), rows)]
            found.append(rows * self._num_envs + environment)
        return np.concatenate(found)

    def begin(self, environments: np.ndarray, screens: np.ndarray) -> None:
        """Marks that the next rows of some environments, shape (k,), do not follow their last ones.

        The first screens of their new games, uint8, shape (k, height, width), are shown by padded windows.
        """
        environments = np.asarray(environments)
        self._next_ages[environments] = 0
        if not self._is_whole:
            self._write(environments, 0, 0.0, screens, False)

    def append(
        self,
        environments: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        screens: np.ndarray,
        terminals: np.ndarray,
    ) -> None:
        """Stores the next row of some environments.

        Args:
            environments: Indices of environments, shape (k,), each at most once.
            actions: Shape (k,), in [0, 255].
            rewards: Shape (k,), raw.
            screens: Shape (k, height, width), uint8, after the actions.
            terminals: Shape (k,), bool, whether the screens ended an episode (or a life).

        Raises:
            ValueError: More than `slack` rows of an environment since the state was saved.
        """
        environments = np.asarray(environments)
        self._write(environments, actions, rewards, screens, terminals)
        if self._is_whole or self._masks_terminals:
            self._next_ages[environments[np.asarray(terminals, bool)]] = 0 if self._is_whole else 1

    def sample(self, batch: int, random: np.random.Generator, beta: float = 1.0) -> Sample:
        """Draws transitions with replacement, if `can_sample`; the draw depends on nothing but `random`.

        `beta` is how far the importance weights make up for the priorities: 0 not at all, 1 fully.
        """
        environments, rows = self._draw(batch, random)
        span = rows[:, None] + np.arange(-self._history, self._steps)
        window = (environments * self._ring)[:, None] + span % self._ring
        first = window[:, self._history]
        ahead = window[:, self._history :]

        screens = np.take(self._rings.screens, window, axis=0)
        ages = self._rings.ages[first]
        if not self._is_whole and ages.min() < self._history:
            screens[:, : self._history][ages[:, None] < np.arange(self._history, 0, -1)] = 0

        rewards = self._rings.rewards[ahead] * self._reward_scale
        if self._reward_bounds is not None:
            rewards = rewards.clip(*self._reward_bounds)
        ends = np.logical_or.accumulate(self._rings.terminals[ahead], axis=1)
        rewards[:, 1:][ends[:, :-1]] = 0.0
        if self._tree is None:
            weights = np.ones(batch, np.float32)
        else:
            priorities = self._tree.leaves[first]
            weights = ((priorities / priorities.min()) ** -beta).astype(np.float32)
        return Sample(
            screens=screens,
            actions=self._rings.actions[first].astype(np.int32),
            returns=(rewards @ self._powers).astype(np.float32),
            discounts=np.where(ends[:, -1], 0.0, self._last_discount).astype(np.float32),
            weights=weights,
            rows=rows * self._num_envs + environments,
        )

    def update(self, rows: np.ndarray, errors: np.ndarray) -> None:
        """Sets the priorities of rows, as in `Sample.rows`, by their last errors, target minus value, of any sign.

        Rows that have been overwritten are left out.
        """
        if self._tree is None:
            return
        priorities = (np.abs(np.asarray(errors, np.float64)) + SMALLEST_ERROR) ** self._exponent
        self._highest = max(self._highest, float(priorities.max()))
        environments, rows = rows % self._num_envs, rows // self._num_envs
        is_there = self._is_valid(environments, rows)
        environments, rows = environments[is_there], rows[is_there]
        self._tree.set(environments * self._ring + rows % self._ring, priorities[is_there])

    def get_state(self) -> dict:
        """Returns the part of the state that is plain JSON; call it only to save the state.

        If there is a folder, at most `slack` rows of each environment may be added until the next call.
        """
        is_kept = self._folder is not None
        self._saved = self._written.copy() if is_kept else None
        return {
            "is_kept": is_kept,
            "written": self._written.tolist(),
            "next_ages": self._next_ages.tolist(),
            "highest_priority": self._highest,
            "checksums": self._checksums() if is_kept else [],
        }

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of the state: the priorities, if there are any and the rows are in files."""
        if self._tree is None or self._folder is None:
            return {}
        return {"priorities": self._tree.leaves.copy()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues a new memory from a saved state. Without a folder it stays empty: its rows were lost.

        Raises:
            NeurozooError: A file is missing, cut off, of another shape, or does not belong to the state.
        """
        if self._folder is None or not state["is_kept"]:
            return
        if any(state["written"]):
            self._rings.open()
        self._written[:] = state["written"]
        self._next_ages[:] = state["next_ages"]
        self._highest = state["highest_priority"]
        if self._tree is not None:
            self._tree.fill(arrays["priorities"])
        self._saved = self._written.copy()
        if self._checksums() != state["checksums"]:
            raise NeurozooError(
                f"The files in {self._folder} hold other rows than the saved state knows. {self._remedy}"
            )

    def flush(self) -> None:
        """Writes changes to disk, so that a state that is saved next survives a power cut, too."""
        self._rings.flush()

    def _write(self, environments: np.ndarray, actions, rewards, screens, terminals) -> None:
        """Stores one row per environment; the arguments are those of `append`, or numbers."""
        if self._saved is not None:
            ahead = int((self._written[environments] - self._saved[environments]).max(initial=0))
            if ahead >= self._slack:
                raise ValueError(
                    f"{ahead + 1} rows of an environment since the state was saved, but slack is {self._slack}"
                )
        if not self._rings.is_there:
            self._rings.create()
        rows = self._written[environments]
        slots = environments * self._ring + rows % self._ring
        self._rings.screens[slots] = screens
        self._rings.actions[slots] = actions
        self._rings.rewards[slots] = rewards
        self._rings.terminals[slots] = terminals
        self._rings.ages[slots] = self._next_ages[environments]
        self._next_ages[environments] += 1
        self._written[environments] = rows + 1
        if self._tree is not None:
            gone = rows - self._length  # each new row drives out an old one
            self._tree.set((environments * self._ring + gone % self._ring)[gone >= 0], 0.0)
            ripe = rows - self._steps + 1  # and completes the steps of another
            slots = environments * self._ring + ripe % self._ring
            self._tree.set(slots, np.where(self._is_valid(environments, ripe), self._highest, 0.0))

    def _is_valid(self, environments: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Returns which rows can be drawn; both arguments and the result have shape (count,)."""
        written = self._written[environments]
        base = environments * self._ring
        slots = base + rows % self._ring
        ages = self._rings.ages[slots]
        reach = np.minimum(ages, self._history)
        valid = ages >= (self._history if self._is_whole else 1)
        valid &= rows - reach >= np.maximum(written - self._length, 0)
        valid &= rows + self._steps <= written
        is_over = np.zeros(len(rows), bool)
        for ahead in range(1, self._steps):
            is_over |= self._rings.terminals[slots]
            slots = base + (rows + ahead) % self._ring
            valid &= is_over | (self._rings.ages[slots] > 0)
        return valid

    def _draw(self, batch: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draws candidates until enough of them are valid. Most are, and searching all rows would take long."""
        found, missing = [], batch
        for _ in range(ROUNDS):
            environments, rows = self._candidates(missing + missing // 4 + 4, random)
            is_valid = np.flatnonzero(self._is_valid(environments, rows))[:missing]
            found.append((environments[is_valid], rows[is_valid]))
            missing -= len(is_valid)
            if not missing:
                break
        else:
            valid = self.valid_rows()
            environments, rows = valid % self._num_envs, valid // self._num_envs
            chances = None
            if self._tree is not None:
                chances = self._tree.leaves[environments * self._ring + rows % self._ring]
                chances = chances / chances.sum()
            chosen = random.choice(len(valid), missing, p=chances)
            found.append((environments[chosen], rows[chosen]))
        environments, rows = zip(*found, strict=True)
        return np.concatenate(environments), np.concatenate(rows)

    def _candidates(self, count: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draws environments and rows, both of shape (count,), whether or not they are valid."""
        if self._tree is not None:
            environments, slots = np.divmod(self._tree.draw(count, random), self._ring)
            last = self._written[environments] - 1
            return environments, last - (last - slots) % self._ring
        counts = np.minimum(self._written, self._length)
        ends = counts.cumsum()
        numbers = random.integers(ends[-1], size=count)
        environments = ends.searchsorted(numbers, side="right")
        return environments, numbers + (self._written - ends)[environments]

    def _checksums(self) -> list[int]:
        """Returns a checksum per environment, of its oldest and newest rows, which shows whether files fit a state."""
        return [
            self._rings.checksum(
                [environment * self._ring + row % self._ring for row in (max(0, written - self._length), written - 1)]
            )
            if written
            else 0
            for environment, written in enumerate(self._written.tolist())
        ]
