"""The state of environments that step together: the actions since the starts of their episodes, to be played again."""

import zlib
from collections.abc import Mapping, Sequence

import numpy as np


def describe_episodes(episodes: np.ndarray, played: Sequence[Sequence[int]], stacks: np.ndarray) -> dict:
    """Returns which episodes the environments are in, and a checksum of what they show, as plain JSON."""
    return {
        "episodes": episodes.tolist(),
        "lengths": [len(actions) for actions in played],
        "seen": zlib.crc32(np.ascontiguousarray(stacks).data),
    }


def joined_actions(played: Sequence[Sequence[int]], dtype: type = np.uint8) -> np.ndarray:
    """Returns the actions of all environments, one environment after the other: shape (actions,)."""
    return np.array([action for actions in played for action in actions], dtype)


def split_actions(state: Mapping, actions: np.ndarray) -> list[list[int]]:
    """Returns the actions of each environment, from what `describe_episodes` and `joined_actions` returned."""
    return [each.tolist() for each in np.split(actions, np.cumsum(state["lengths"])[:-1])]


def shows_the_same(state: Mapping, stacks: np.ndarray) -> bool:
    """Returns whether the observations are those of the state."""
    return zlib.crc32(np.ascontiguousarray(stacks).data) == state["seen"]
