"""Robustness in the river crossing task: single worlds with fixed seeds, whether they are solved, and why not.

Source: the robustness test of github.com/WatchJolley/rivercrossing: 10,000 fixed seeds of worlds of width 3.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from neurozoo.environments.episode_seeds import RANGES
from neurozoo.environments.protocols import Protocol
from neurozoo.environments.river_crossing import RiverRules
from neurozoo.environments.river_world import RiverCrossingWorld

CAUSES = ("edge", "trap", "water", "age")
WIDTHS = (0, 1, 2, 3, 4)  # the last one is wider than any river of the task: an extrapolation
WORLDS = 10_000
SEED = 12345  # of the seeds of the worlds
AT_ONCE = 256  # worlds that are played side by side

Choose = Callable[[Sequence[RiverCrossingWorld]], np.ndarray]  # the outputs for some worlds: (worlds, 18)


@dataclass(frozen=True)
class Outcome:
    """What became of one world."""

    width: int  # columns of the river
    seed: int  # seed of the world
    is_solved: bool  # whether the agent reached the resource
    steps: int  # steps until then, or until the agent failed
    cause: str  # why it failed: one of `CAUSES`; empty if it did not


def world_seeds(count: int) -> list[int]:
    """Returns the fixed seeds of the worlds, all different, from the range of tests: fewer are the first of more."""
    low, high = RANGES["test"]
    random, found = np.random.default_rng(SEED), dict[int, None]()
    while len(found) < count:
        found[int(random.integers(low, high))] = None
    return list(found)


def play_worlds(
    choose: Choose,
    protocol: Protocol,
    *,
    width: int,
    seeds: Sequence[int],
    step_limit: int = 150,
    start_column: int = 1,
) -> Iterator[Outcome]:
    """Plays worlds of one width, each once, and yields outcomes as they come.

    Args:
        choose: The agent. It may not remember anything between steps, except through the world.
        protocol: Of the agent: its observation, and the rules by which it sees and acts.
        width: Columns of the river.
        seeds: Seeds of the worlds, all different.
        step_limit: Most steps in a world; one more is a failure by `age`.
        start_column: Column in which the agent starts.
    """
    is_faithful = protocol.rules == "faithful"
    options = {"step_limit": step_limit, "start_column": start_column}
    rules = RiverRules(is_faithful, min_width=width, max_width=width, attempts=1, **options)
    waiting = iter(seeds)
    free = [RiverCrossingWorld("river_crossing", protocol, rules) for _ in range(min(AT_ONCE, len(seeds)))]
    playing: dict[int, RiverCrossingWorld] = {}  # by seed
    while True:
        while free and (seed := next(waiting, None)) is not None:
            playing[seed] = free.pop()
            playing[seed].reset(seed=seed)
        if not playing:
            return
        for world, outputs in zip(playing.values(), choose(list(playing.values())), strict=True):
            world.act(outputs)
        for seed, world in list(playing.items()):
            river = world.river
            if river.levels_solved or river.final_positions:
                is_solved = river.levels_solved > 0
                yield Outcome(width, seed, is_solved, world.steps, "" if is_solved else river.cause)
                free.append(playing.pop(seed))


def summarise(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Summarises the outcomes of one width.

    Returns:
        `width`, `worlds`, `solved` (their number), `share` with its 95 % interval `low` to `high`, `mean_steps` and
        `steps_95` (95th percentile) of the solved worlds (None if there is none), and the number of failures by each of
        `CAUSES`.
    """
    steps = [outcome.steps for outcome in outcomes if outcome.is_solved]
    causes = Counter(outcome.cause for outcome in outcomes)
    low, high = wilson_interval(len(steps), len(outcomes))
    return {
        "width": outcomes[0].width,
        "worlds": len(outcomes),
        "solved": len(steps),
        "share": len(steps) / len(outcomes),
        "low": low,
        "high": high,
        "mean_steps": float(np.mean(steps)) if steps else None,
        "steps_95": float(np.percentile(steps, 95)) if steps else None,
        **{cause: causes[cause] for cause in CAUSES},
    }


def wilson_interval(successes: int, count: int, *, z: float = 1.959964) -> tuple[float, float]:
    """Returns an interval for a probability, 95 % by default; it is sound for shares of 0 and 1, too.

    Source: Wilson 1927, doi:10.1080/01621459.1927.10502953.
    """
    share, weight = successes / count, z * z / count
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(share * (1 - share) / count + weight / (4 * count))
    return max(0.0, centre - half), min(1.0, centre + half)
