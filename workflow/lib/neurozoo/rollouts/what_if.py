"""Plays a recorded episode twice, as it was and with one change, so that only the change can make a difference."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np

from neurozoo.agents.frozen import open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.interventions.change import Change
from neurozoo.rollouts.rollout import record_episodes
from neurozoo.rollouts.rollout_files import REMEDY, RolloutFile, open_rollout

FACTUAL, COUNTERFACTUAL = "factual.npz", "counterfactual.npz"
MOST_STEPS = 2500  # played after the change


@dataclass(frozen=True)
class Branch:
    """How an episode went on."""

    score: float
    steps: int  # of the whole episode
    is_cut: bool  # whether it could have gone on
    actions: tuple[str, ...]  # from the change on; empty where outputs are continuous


@dataclass(frozen=True)
class WhatIf:
    """The outcome of a what-if. Steps are those of the episode, from 0; None for differences that never came."""

    agent: str
    change: Change
    episode: int  # its number in the recording, from 0
    factual: Branch
    counterfactual: Branch
    first_other_action: int | None
    first_other_screen: int | None


def play_what_if(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    folder: str | os.PathLike,
    change: Change,
    *,
    steps: int = MOST_STEPS,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> WhatIf:
    """Plays the episode of a recording to a step, and from there as it went on and with a change.

    Both begin with the recorded start, and draw the same random numbers, so before the change they are the recording,
    bit by bit; this is checked. Without a difference by the change, they stay so to the end.

    Args:
        frozen_folder: The frozen model.
        rollout: A recording of it.
        folder: For `factual.npz` and `counterfactual.npz`, which are recordings of one episode, and their `.parquet`.
        change: What changes; its step counts those of the recording, over all episodes.
        steps: How many are played after the change, at most.
        log: See `Progress`.
        terminal: See `Progress`.

    Raises:
        NeurozooError: The recording has no such step, or cannot be replayed, or the change does not fit the agent.
    """
    frozen, folder = open_frozen(frozen_folder), Path(folder)
    with open_rollout(rollout, frozen) as recorded:
        episode, first, last = _episode_at(recorded, change.step)
        change = replace(change, step=change.step - first)
        branches, limit = {}, change.step + steps
        for name, tried in ((COUNTERFACTUAL, change), (FACTUAL, None)):  # the first may be refused
            path = folder / name
            perturbation = replace(recorded.perturbation, change=tried)
            perturbation.check(frozen)
            start = iter([(episode, recorded.starts[first])])
            made = record_episodes(
                frozen, path, start, perturbation=perturbation, seed=recorded.seed, max_steps=limit, recorded=rollout,
                table=path.with_suffix(".parquet"), log=log, terminal=terminal,
            )  # fmt: skip
            with open_rollout(path, frozen) as played:
                _check_same(recorded, played, first, min(last - first, limit if tried is None else change.step))
                actions = () if frozen.is_continuous else _names(frozen.actions, played.actions[change.step :])
            branches[name] = Branch(made.scores[0], made.steps, made.is_cut, actions)
    with open_rollout(folder / FACTUAL, frozen) as one, open_rollout(folder / COUNTERFACTUAL, frozen) as other:
        actions_differ = (not np.array_equal(*pair) for pair in zip(one.actions, other.actions, strict=False))
        return WhatIf(
            frozen.title,
            change,
            episode,
            branches[FACTUAL],
            branches[COUNTERFACTUAL],
            first_other_action=next((step for step, differs in enumerate(actions_differ) if differs), None),
            first_other_screen=_first_difference(one, other, "frames", "score"),
        )


def _episode_at(recorded: RolloutFile, step: int) -> tuple[int, int, int]:
    """Returns the number of a step's episode, its first step and the one behind its last.

    Raises:
        NeurozooError: The recording has no such step, or is already one with a change.
    """
    if step >= recorded.steps:
        raise NeurozooError(
            f"{recorded.path} has the steps 0 to {recorded.steps - 1}, but step is {step}. Choose one of them."
        )
    check_unchanged(recorded)
    edges = [*recorded.starts, recorded.steps]
    episode = max(number for number, first in enumerate(recorded.starts) if first <= step)
    return episode, edges[episode], edges[episode + 1]


def check_unchanged(recorded: RolloutFile) -> None:
    """Refuses a recording that is already one with a change."""
    if recorded.perturbation.change:
        raise NeurozooError(
            f"{recorded.path} already has a change ({recorded.perturbation.change.label}). Take another."
        )


def _check_same(recorded: RolloutFile, played: RolloutFile, first: int, steps: int) -> None:
    """Compares what was played with the recording, whose episode begins at `first`."""
    keys = ("observations", "frames", "representation", "score")
    step = _first_difference(recorded, played, *keys, first=first, steps=steps)
    actions = zip(recorded.actions[first : first + steps], played.actions, strict=False)
    others = [number for number, pair in enumerate(actions) if not np.array_equal(*pair)]
    steps_off = [number for number in (step, *others[:1]) if number is not None]
    steps_off += [played.steps] if played.steps < steps else []
    if steps_off:
        raise NeurozooError(
            f"{recorded.path} cannot be replayed: step {first + min(steps_off)} differs. Another agent played it, or "
            f"other versions of the emulator or of TensorFlow. {REMEDY}"
        )


def _first_difference(
    one: RolloutFile, other: RolloutFile, *keys: str, first: int = 0, steps: int | None = None
) -> int | None:
    """Returns the first of some steps whose rows differ; those of `one` begin at `first`."""
    pairs = zip(islice(one.rows(*keys), first, None), other.rows(*keys), strict=False)
    for number, (rows, others) in enumerate(islice(pairs, steps)):
        if not all(map(np.array_equal, rows, others)):
            return number
    return None


def _names(names: Sequence[str], actions: Sequence) -> tuple[str, ...]:
    return tuple(names[action] for action in actions)
