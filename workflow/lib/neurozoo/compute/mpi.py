"""MPI ranks: processes that were started together, on one machine or several, and tell each other what they have.

Rank 0 leads: it gives orders, and the others follow them. Sums over ranks are MPI's own. Messages are JSON and plain
arrays; nothing is pickled.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from neurozoo.errors import NeurozooError

LEADER = 0
PATIENCE = 600.0  # seconds in which every rank has to answer
GRACE = 30.0  # seconds that followers wait longer, so that it is the leader who complains
NAP = 0.0005  # seconds between two looks for a message
ORDER, HEADER, ARRAYS, HERE = range(1, 5)  # tags of messages

PATIENCE_VARIABLE = "NEUROZOO_RANK_PATIENCE"
Message = tuple[dict, dict[str, np.ndarray]]


def patience_of(environment: Mapping[str, str]) -> float:
    """Returns the seconds after which a rank that does not answer counts as lost; checks the variable that says so."""
    text = environment.get(PATIENCE_VARIABLE, str(PATIENCE))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise NeurozooError(f"{PATIENCE_VARIABLE} should be a number of seconds above 0, but is {text!r}.")
    return seconds


class Ranks:
    """This process and the others that were started with it. It needs mpi4py."""

    def __init__(self, *, patience: float = PATIENCE) -> None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise NeurozooError(f"Several learners or actors need mpi4py ({error}). Run: make setup") from error
        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self.index = self._world.Get_rank()
        self.size = self._world.Get_size()
        self._patience = patience + (0 if self.index == LEADER else GRACE)

    @property
    def is_leader(self) -> bool:
        """Whether this is rank 0."""
        return self.index == LEADER

    # ---- orders

    def order(self, order: str) -> None:
        """Gives an order to all other ranks; only rank 0 may."""
        word = np.frombuffer(order.encode().ljust(16), np.uint8).copy()
        for rank in range(1, self.size):
            self._wait(self._world.Isend(word, rank, ORDER), [rank])

    def next_order(self) -> str:
        """Waits for the next order of rank 0, as long as it takes."""
        word = np.zeros(16, np.uint8)
        request = self._world.Irecv(word, LEADER, ORDER)
        while not request.Test():
            time.sleep(NAP)
        return word.tobytes().decode().strip()

    # ---- messages

    def send(self, rank: int, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Sends plain JSON and arrays to a rank."""
        shapes = [[name, each.dtype.str, list(each.shape)] for name, each in arrays.items()]
        header = np.frombuffer(json.dumps([facts, shapes]).encode(), np.uint8).copy()
        size = np.array([len(header)], np.int64)
        requests = [self._world.Isend(size, rank, HEADER), self._world.Isend(header, rank, HEADER)]
        parts = [_bytes_of(np.ascontiguousarray(each)) for each in arrays.values() if each.size]
        requests += [self._world.Isend(part, rank, ARRAYS) for part in parts]
        for request in requests:
            self._wait(request, [rank])

    def receive(self, rank: int) -> Message:
        """Waits for what a rank sends."""
        size = np.zeros(1, np.int64)
        self._wait(self._world.Irecv(size, rank, HEADER), [rank])
        header = np.zeros(int(size[0]), np.uint8)
        self._wait(self._world.Irecv(header, rank, HEADER), [rank])
        facts, shapes = json.loads(header.tobytes())
        arrays = {name: np.zeros(shape, np.dtype(kind)) for name, kind, shape in shapes}
        for each in arrays.values():
            if each.size:
                self._wait(self._world.Irecv(_bytes_of(each), rank, ARRAYS), [rank])
        return facts, arrays

    # ---- sums

    def group(self, members: Sequence[int]) -> "Group | None":
        """Makes a group of ranks that add up arrays; None in other ranks. All ranks call this together."""
        communicator = self._world.Split(0 if self.index in members else self._mpi.UNDEFINED, self.index)
        return Group(self, communicator, members) if self.index in members else None

    def abort(self, status: int) -> None:
        """Ends all ranks at once, wherever they are; the job then has this exit status."""
        self._world.Abort(status)

    def _wait(self, request: Any, whose: Sequence[int], missing: Callable[[], Sequence[int]] | None = None) -> None:
        """Waits for a message, and names the ranks that do not answer in time."""
        end = time.monotonic() + self._patience
        while not request.Test():
            if time.monotonic() > end:
                lost = missing() if missing else whose
                raise NeurozooError(
                    f"{_names(lost or whose)} did not answer for {self._patience:.0f} s, so the run ends. Start the "
                    "same command again: it continues from the last state."
                )
            time.sleep(NAP)


class Alone(Ranks):
    """A process that was started without others: rank 0 of 1. It needs no MPI, and has nobody to talk to."""

    index, size = LEADER, 1

    def __init__(self) -> None:
        pass

    def order(self, order: str) -> None:
        """Does nothing: nobody follows."""

    def group(self, members: Sequence[int]) -> None:
        """Returns None: there is nothing to add up."""


ALONE = Alone()


class Group:
    """Ranks that add up arrays. All members call the same methods in the same order."""

    def __init__(self, ranks: Ranks, communicator: Any, members: Sequence[int]) -> None:
        self._ranks, self._communicator, self._members = ranks, communicator, list(members)

    def add_up(self, values: np.ndarray) -> None:
        """Replaces an array by its sum over all members; they all get the same bytes."""
        ranks, token = self._ranks, np.zeros(1, np.uint8)
        here: dict[int, Any] = {}  # by which the leader sees who is missing
        others = [rank for rank in self._members if rank != ranks.index]
        if ranks.is_leader:
            here = {rank: ranks._world.Irecv(np.zeros(1, np.uint8), rank, HERE) for rank in others}
        else:
            own = ranks._world.Isend(token, LEADER, HERE)
        request = self._communicator.Iallreduce(ranks._mpi.IN_PLACE, values)
        ranks._wait(request, others, lambda: [rank for rank, each in here.items() if not each.Test()])
        for rank, each in here.items():
            ranks._wait(each, [rank])
        if not ranks.is_leader:
            ranks._wait(own, [LEADER])


def _bytes_of(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def _names(ranks: Sequence[int]) -> str:
    return ("Rank " if len(ranks) == 1 else "Ranks ") + ", ".join(map(str, ranks))
