"""Novelty: distances between behaviours, the distance to the nearest neighbours, and the archive.

A behaviour is a sequence of rows: the RAM after every step (`ram`, uint8), or positions (`final_position`, float32).
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from neurozoo.environments.games import BEHAVIOURS
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import EpisodeResult

BYTES_AT_ONCE = 4_000_000  # bytes of RAM that are compared in one go, as float64: 32 MB
DIFFERENCES_AT_ONCE = 500_000  # differences that are computed in one go, as float64: 4 MB
TILE, DEPTH = 32, 256  # of a matrix product
ROWS_AT_ONCE = 512  # behaviours that are compared with all others in one go
MOST_AXES = 4  # of points whose neighbours a tree finds
SPARE = 4  # neighbours that the tree finds and that do not count

Behaviour = Annotated[
    Literal["ram", "final_position"] | None,
    Field(description="Behaviour that novelty compares: ram, final_position, or empty for what the game gives."),
]


def choose_behaviour(setting: str | None, *, protocol: Protocol) -> str:
    """Returns the kind of behaviour that is compared: the setting, or else the first that the protocol's world gives.

    Raises `NeurozooError` if the world gives no such behaviour, or none at all.
    """
    given = BEHAVIOURS[protocol.world]
    if not given:
        raise NeurozooError(
            f"Novelty needs a behaviour, but games under the protocol {protocol.name!r} give none. Choose ga, rs or "
            "es, or another game."
        )
    if setting is not None and setting not in given:
        raise NeurozooError(
            f"Games under the protocol {protocol.name!r} do not give the behaviour {setting!r}, "
            f"but: {', '.join(given)}. Leave behaviour empty."
        )
    return setting or given[0]


def behaviours_of(results: Sequence[EpisodeResult]) -> list[np.ndarray]:
    """Returns the behaviours of episodes, which the algorithm has asked for."""
    behaviours = [result.behaviour for result in results if result.behaviour is not None]
    assert len(behaviours) == len(results)
    return behaviours


def mean_behaviour(behaviours: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the mean of several behaviours, shape (rows, width) each; shorter ones are padded with their last row.

    It is read-only, of shape (most rows, width) and of the same dtype: bytes are rounded (half to even).
    """
    rows, dtype = max(len(behaviour) for behaviour in behaviours), behaviours[0].dtype
    total = sum(_padded(behaviours, 0, rows)) / len(behaviours)  # in order, so the same everywhere
    mean = (np.rint(total) if dtype == np.uint8 else total).astype(dtype)
    mean.flags.writeable = False
    return mean


def distances(behaviours: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
    """Returns the Euclidean distances between sequences, shape (rows, width) each: float64, shape (behaviours, others).

    The shorter one of two is padded with its last row. For bytes all sums are exact, so that nothing depends on the
    order of summation.

    Source: published code of Conti et al. 2018, arXiv:1712.06560.
    """
    if not len(behaviours) or not len(others):
        return np.zeros((len(behaviours), len(others)))
    if all(behaviour.dtype == np.uint8 for behaviour in (*behaviours, *others)):
        return np.sqrt(_squares_of_bytes(behaviours, others))
    return np.sqrt(_squares_of_floats(behaviours, others))


def _squares_of_bytes(behaviours: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
    # |x - y|^2 = |x|^2 + |y|^2 - 2 x y, some steps at a time, until both have ended; hence sorted by length.
    # All numbers are whole and below 2^53, so no sum in float64 is rounded, whatever its order.
    lengths = [np.array([len(behaviour) for behaviour in side]) for side in (behaviours, others)]
    orders = [np.argsort(-length, kind="stable") for length in lengths]
    sides = [[side[i] for i in order] for side, order in zip((behaviours, others), orders, strict=True)]
    lengths = [length[order] for length, order in zip(lengths, orders, strict=True)]
    most = max(length[0] for length in lengths)
    steps = max(1, min(BYTES_AT_ONCE // ((len(behaviours) + len(others)) * behaviours[0].shape[1]), most))
    total = np.zeros((len(behaviours), len(others)))
    for start in range(0, most, steps):
        running = [int((length > start).sum()) for length in lengths]
        left, right = (_padded(side, start, steps).reshape(len(side), -1) for side in sides)
        total[: running[0]] += _squares(left[: running[0]], right)
        total[running[0] :, : running[1]] += _squares(left[running[0] :], right[: running[1]])
    lasts = [np.array([behaviour[-1] for behaviour in side], np.float64) for side in sides]
    total -= (-np.maximum.outer(*lengths) % steps) * _squares(*lasts)  # rows after the end of both
    unsorted = np.empty_like(total)
    unsorted[np.ix_(*orders)] = total
    return unsorted


def _padded(side: Sequence[np.ndarray], start: int, steps: int) -> np.ndarray:
    """Returns some rows of all behaviours, padded with their last rows: float64, shape (behaviours, steps, width)."""
    rows = np.empty((len(side), steps, side[0].shape[1]))
    for row, behaviour in zip(rows, side, strict=True):
        part = behaviour[start : start + steps]
        row[: len(part)] = part
        row[len(part) :] = behaviour[-1]
    return rows


def _squares(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    lengths = [np.einsum("ij,ij->i", side, side) for side in (left, right)]
    return np.add.outer(*lengths) - 2 * _products(left, right)


def _products(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    # Tiles are so small that the linear algebra library starts no threads of its own. On a busy machine, these wait for
    # each other for longer than the product takes.
    first, second = (
        np.pad(side, ((0, -len(side) % TILE), (0, 0))).reshape(-1, TILE, side.shape[1]) for side in (left, right)
    )
    total = np.zeros((len(first), TILE, len(second), TILE))
    for start in range(0, left.shape[1], DEPTH):
        depth = slice(start, start + DEPTH)
        total += (first[:, None, :, depth] @ second[None, :, :, depth].swapaxes(2, 3)).swapaxes(1, 2)
    return total.reshape(len(first) * TILE, len(second) * TILE)[: len(left), : len(right)]


def _squares_of_floats(behaviours: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> np.ndarray:
    rows = max(len(behaviour) for behaviour in (*behaviours, *others))

    def columns(side: Sequence[np.ndarray]) -> np.ndarray:  # shape (width, behaviours, rows)
        return np.ascontiguousarray(_padded(side, 0, rows).transpose(2, 0, 1))

    right, right_lengths = columns(others), np.array([len(other) for other in others])
    together = max(1, DIFFERENCES_AT_ONCE // (right.shape[1] * rows))
    squares = []
    for start in range(0, len(behaviours), together):
        part = behaviours[start : start + together]
        total = sum(  # column by column: there are few
            np.square(left[:, None] - column) for left, column in zip(columns(part), right, strict=True)
        )
        if rows > 1:
            lengths = np.maximum.outer([len(behaviour) for behaviour in part], right_lengths)
            total[np.arange(rows) >= lengths[:, :, None]] = 0.0
        squares.append(total.sum(axis=2) if rows > 1 else total[:, :, 0])
    return np.concatenate(squares)


def novelty(
    behaviours: Sequence[np.ndarray], others: Sequence[np.ndarray], *, nearest: int, among_themselves: bool = False
) -> np.ndarray:
    """Returns the novelty of behaviours: the mean distance to their nearest neighbours.

    Args:
        behaviours: Shape (rows, width) each.
        others: Their possible neighbours, such as the archive.
        nearest: Number of neighbours that count; all if there are fewer.
        among_themselves: Whether they are neighbours of each other, too.

    Returns:
        float64, shape (behaviours,); 0 without any neighbour.

    Source: Lehman & Stanley 2011, "Abandoning objectives"; Conti et al. 2018, arXiv:1712.06560.
    """
    count = min(nearest, len(others) + (len(behaviours) - 1 if among_themselves else 0))
    if count < 1:
        return np.zeros(len(behaviours))
    every = [*others, *behaviours] if among_themselves else others
    find = _nearest_points if all(len(rows) == 1 and rows.size <= MOST_AXES for rows in every) else _nearest_sequences
    return find(behaviours, others, count, among_themselves).mean(axis=1)


def _nearest_sequences(
    behaviours: Sequence[np.ndarray], others: Sequence[np.ndarray], count: int, among_themselves: bool
) -> np.ndarray:
    """Returns the distances to the nearest neighbours: shape (behaviours, count), in order."""
    found = np.empty((len(behaviours), count))
    for start in range(0, len(behaviours), ROWS_AT_ONCE):
        part = behaviours[start : start + ROWS_AT_ONCE]
        tables = [distances(part, others)]
        if among_themselves:
            table = distances(part, behaviours)
            own = np.arange(len(part))
            table[own, start + own] = np.inf
            tables.append(table)
        table = np.concatenate(tables, axis=1)
        found[start : start + len(part)] = np.sort(np.partition(table, count - 1, axis=1)[:, :count], axis=1)
    return found


def _nearest_points(
    behaviours: Sequence[np.ndarray], others: Sequence[np.ndarray], count: int, among_themselves: bool
) -> np.ndarray:
    """Returns the same to the bit, for points: a tree finds the neighbours, in a twentieth of the time or less."""
    from scipy.spatial import KDTree

    points = np.concatenate(behaviours).astype(np.float64)
    candidates = np.concatenate([*others, *(behaviours if among_themselves else ())]).astype(np.float64)
    # Each point is its own nearest neighbour. The tree may round in another way, hence some to spare.
    wanted = min(count + among_themselves + SPARE, len(candidates))
    places = KDTree(candidates).query(points, k=np.arange(1, wanted + 1))[1]
    squares = sum(np.square(points[:, None, axis] - candidates[places, axis]) for axis in range(points.shape[1]))
    return np.sort(np.sqrt(squares), axis=1)[:, among_themselves : among_themselves + count]


class Archive:
    """The behaviours seen so far, in the order in which they came. It only grows.

    Attributes:
        behaviours: Shape (rows, width) each, read-only.
    """

    def __init__(self) -> None:
        self.behaviours: list[np.ndarray] = []
        self._chunks: list[tuple[np.ndarray, list[int]]] = []  # rows added together, and where each behaviour ends

    def __len__(self) -> int:
        return len(self.behaviours)

    def add(self, behaviours: Sequence[np.ndarray]) -> None:
        """Adds copies of behaviours."""
        if len(behaviours):
            self._append(np.concatenate(behaviours), np.cumsum([len(behaviour) for behaviour in behaviours]).tolist())

    def _append(self, rows: np.ndarray, ends: list[int]) -> None:
        rows.flags.writeable = False
        self._chunks.append((rows, ends))
        self.behaviours += np.split(rows, ends[:-1])

    def get_state(self) -> dict:
        """Returns where each behaviour ends in the array that it was added with."""
        return {"ends": [ends for _, ends in self._chunks]}

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the behaviours that were added together as one array each, such as `archive-00007`."""
        return {f"archive-{number:05}": rows for number, (rows, _) in enumerate(self._chunks)}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_state` and `get_arrays` returned; raises `ValueError` if they do not fit."""
        self.behaviours, self._chunks = [], []
        for number, ends in enumerate(state["ends"]):
            rows = arrays[f"archive-{number:05}"]
            if len(rows) != ends[-1]:
                raise ValueError(f"archive-{number:05} should have {ends[-1]} rows, but has {len(rows)}")
            self._append(np.array(rows), list(ends))
