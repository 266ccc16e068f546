"""A scripted agent that keeps a wall at its left hand: as good in random mazes as the network of the original."""

import numpy as np

from neurozoo.environments.mazes.simulator import (
    FORWARD,
    SEEN_GOAL,
    SEEN_WALL,
    TURN_LEFT,
    TURN_RIGHT,
)

_AHEAD, _LEFT, _RIGHT = (2, 3), (1, 4), (3, 4)  # cells of the view


class WallFollower:
    """Walks along the wall at its left, and turns to the goal when it is beside it.

    A maze and a first direction decide its episode. Where walls form islands, it may go round one of them forever.

    Source: section 13.1 of the description of DSAGE (left-hand wall follower).
    """

    name = "wall_follower"
    is_deterministic = True
    op_parameters = np.zeros(0, np.float32)  # the op knows its rule

    def first_memory(self, episodes: int) -> np.ndarray:
        """Returns whether the agents have just turned left, to follow the wall round a corner: not yet."""
        return np.zeros(episodes, bool)

    def act(
        self, image: np.ndarray, direction: np.ndarray, memory: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Chooses actions; see `MazeAgent.act`. Neither compass nor random numbers are used."""
        ahead, left, right = (image[:, x, y, 0] for x, y in (_AHEAD, _LEFT, _RIGHT))
        turns_left = (left != SEEN_WALL) & ~memory
        actions = np.select(
            [ahead == SEEN_GOAL, left == SEEN_GOAL, right == SEEN_GOAL, turns_left, ahead != SEEN_WALL],
            [FORWARD, TURN_LEFT, TURN_RIGHT, TURN_LEFT, FORWARD],
            TURN_RIGHT,
        )
        return actions, actions == TURN_LEFT
