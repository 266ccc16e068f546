"""Evaluates levels, in this process or on the workers of a Dask cluster. The results are the same."""

import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol as Interface

import numpy as np

from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.compute.interruption import Interrupted
from neurozoo.environments.level_domains import Evaluations, LevelDomain, Play, get_level_domain
from neurozoo.errors import NeurozooError, needing

RECEIVE_SECONDS = 0.2

Draw = Callable[[int], np.random.Generator]  # makes the generator of a level from its number; can be pickled
Outcome = tuple[Evaluations, int] | str  # evaluations and the level's place there, or the reason why it failed


class LevelEvaluator(Interface):
    """Sends agents into levels."""

    announcement: str  # one line about where levels are played; empty for this process

    def play(self, levels: np.ndarray, draw: Draw) -> Iterator[Mapping[int, Outcome]]:
        """Plays levels, as `LevelDomain.decode` returns them; `draw` makes the generator of each level.

        Yields:
            Outcomes by the numbers of levels, in any order; none from time to time, as a sign of life.
        """

    def close(self) -> None:
        """Ends the cluster if there is one."""
        return


def play_levels(
    domain: LevelDomain, levels: np.ndarray, how: Play, numbers: Sequence[int], draw: Draw
) -> list[Outcome]:
    """Plays levels together if none fails, so that one bad level does not take others with it.

    For the arguments, see `LevelEvaluator.play`; `numbers` are those of the levels.
    """
    try:
        found = domain.evaluate(levels, how, [draw(number) for number in numbers])
    except (Interrupted, MemoryError):
        raise
    except Exception as error:
        if len(levels) == 1:
            return [f"{type(error).__name__}: {error}"]
        alone = zip(np.split(levels, len(levels)), numbers, strict=True)
        return [play_levels(domain, level, how, [number], draw)[0] for level, number in alone]
    return [(found, place) if _is_finite(found, place) else "not finite" for place in range(len(levels))]


def _is_finite(found: Evaluations, place: int) -> bool:
    numbers = [found.objectives[place], *(array[place] for array in found.values.values())]
    return bool(np.isfinite(numbers).all() and np.isfinite(found.occupancy[place]).all())


class LocalLevels(LevelEvaluator):
    """Plays levels in this process, some of them `together` between two signs of life."""

    announcement = ""

    def __init__(self, domain: LevelDomain, how: Play, *, together: int = 150) -> None:
        self._domain, self._how, self._together = domain, how, together

    def play(self, levels: np.ndarray, draw: Draw) -> Iterator[Mapping[int, Outcome]]:
        """See `LevelEvaluator`."""
        for first in range(0, len(levels), self._together):
            some = levels[first : first + self._together]
            numbers = range(first, first + len(some))
            yield dict(zip(numbers, play_levels(self._domain, some, self._how, numbers, draw), strict=True))


class DistributedLevels(LevelEvaluator):
    """Plays levels of a domain on the workers of a Dask cluster, see `LevelEvaluator`.

    The native core and the agent's file need the same path on all nodes. Nothing else uses `folder`, which has keys and
    the workers' logs.
    """

    def __init__(self, domain: str, how: Play, *, settings: ClusterSettings, folder: str | os.PathLike) -> None:
        with needing("cluster", "A Dask cluster"):
            from neurozoo.evaluation.dask_tasks import DaskTasks

        agent = str(Path(how.agent).resolve()) if Path(how.agent).suffix else how.agent
        core = None if how.core is None else how.core.resolve()
        self._domain, self._how = domain, replace(how, agent=agent, core=core, threads=1)
        self._tasks = DaskTasks(settings, folder=folder)
        self.announcement = self._tasks.announcement

    def play(self, levels: np.ndarray, draw: Draw) -> Iterator[Mapping[int, Outcome]]:
        """See `LevelEvaluator`."""
        group = f"levels-{uuid.uuid4().hex}"
        shared = self._tasks.share((self._domain, self._how, draw), name=f"how-{group}")
        unsent = deque(range(len(levels)))
        left = len(levels)

        def send(numbers: list[int]) -> None:
            self._tasks.send(play_part, shared, levels[numbers], numbers, group=group)

        try:
            while left:
                self._tasks.check()
                self._tasks.hand_out(unsent, send)
                outcomes: dict[int, Outcome] = {}
                for seconds, part in self._tasks.receive(timeout=RECEIVE_SECONDS):
                    outcomes |= part
                    for _ in part:
                        self._tasks.took(seconds / len(part))
                left -= len(outcomes)
                yield outcomes
        finally:
            self._tasks.drop()

    def close(self) -> None:
        """Ends the cluster if the run started it."""
        self._tasks.close()


def play_part(
    shared: tuple[str, Play, Draw], levels: np.ndarray, numbers: Sequence[int]
) -> tuple[float, dict[int, Outcome]]:
    """Plays a few levels as a Dask task, with what all tasks share; returns its seconds, and the outcomes by number."""
    name, how, draw = shared
    agent = Path(how.agent)
    for file in (how.core, agent if agent.suffix else None):
        if file is not None and not file.is_file():
            raise NeurozooError(f"{file} is missing on this node. It needs the same path on all nodes.")
    began = time.monotonic()
    outcomes = play_levels(get_level_domain(name), levels, how, numbers, draw)
    return time.monotonic() - began, dict(zip(numbers, outcomes, strict=True))
