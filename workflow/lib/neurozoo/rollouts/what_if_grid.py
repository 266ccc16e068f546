"""Tries every action at some moments of a recorded episode, to see where it mattered what the agent did."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import pairwise

import numpy as np

from neurozoo.agents.frozen import open_frozen, use_one_thread
from neurozoo.errors import NeurozooError
from neurozoo.files import write_json
from neurozoo.rollouts.change import Change
from neurozoo.rollouts.player import Decision, Player, play_episode, world_of_agent
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import REMEDY, open_rollout
from neurozoo.rollouts.what_if import MOST_STEPS


def measure_grid(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    moments: int = 12,
    duration: int = 1,
    steps: int = MOST_STEPS,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> dict:
    """Plays the first episode of a recording again and again: each time with another action at one of its moments.

    The moments lie in equal parts of the episode: in each, the step where the best output is least above the second.

    Args:
        frozen_folder: The frozen model.
        rollout: A recording of it.
        output: JSON file for what is returned.
        moments: How many.
        duration: For how many steps the other action is played.
        steps: How many are played after a moment, at most.
        log: See `Progress`.
        terminal: See `Progress`.

    Returns:
        The `agent`, the episode's `score` and `steps` as it was, `duration`, the `actions`, and the `moments`. Each has
        its `step` (from 0), the `action` that was played, the `margin` of the outputs, and as `outcomes` for each
        action the `score` and `steps` of the whole episode, and whether it `is_cut`. There is one continuation each,
        with the random numbers of the recording.

    Raises:
        NeurozooError: The agent has continuous outputs, or the recording is not of this agent.
    """
    frozen = open_frozen(frozen_folder)
    if frozen.is_continuous:
        raise NeurozooError(
            f"{frozen.game} has continuous outputs and no actions to try one by one. Leave --grid out, and change "
            "something else."
        )
    use_one_thread()
    with open_rollout(rollout, frozen) as recorded:
        perturbation, seed, start = recorded.perturbation, recorded.seed, recorded.starts[0]
        recorded_actions = recorded.actions[: [*recorded.starts, recorded.steps][1]]
    player = Player(frozen, perturbation, seed=seed, recorded=rollout)
    with (
        closing(world_of_agent(frozen, perturbation.protocol(frozen))) as world,
        Progress(f"what-if grid of {frozen.title}", total=None, log=log, terminal=terminal) as progress,
    ):
        actions: list[int] = []
        margins: list[float] = []

        def note(decision: Decision) -> None:
            second, best = np.sort(decision.outputs)[-2:]
            margins.append(float(best - second))
            actions.append(int(decision.chosen.argmax()))
            progress.advance()

        def play(*, watch: Callable[[Decision], None] = lambda _: progress.advance()) -> dict:
            episode = play_episode(world, player, start, 0, most_steps=len(recorded_actions) + steps, watch=watch)
            return {"score": episode.score, "steps": episode.steps, "is_cut": not world.is_done}

        whole = play(watch=note)
        if actions[: len(recorded_actions)] != recorded_actions:
            raise NeurozooError(f"{os.fspath(rollout)} cannot be replayed: other actions are chosen. {REMEDY}")
        tried = []
        for step in _choose(margins[: len(recorded_actions)], moments):
            outcomes = []
            for action, name in enumerate(frozen.actions):
                player.change = Change(step, duration, name)
                is_as_it_was = duration == 1 and action == actions[step]
                outcomes.append(whole if is_as_it_was else play())
            chosen = frozen.actions[actions[step]]
            tried.append({"step": step, "action": chosen, "margin": margins[step], "outcomes": outcomes})
    record = {"agent": frozen.title, **whole, "duration": duration, "actions": [*frozen.actions], "moments": tried}
    write_json(output, record)
    return record


def _choose(margins: Sequence[float], moments: int) -> list[int]:
    """Returns the step of the smallest margin in each of equal parts; fewer if there are fewer steps."""
    edges = np.linspace(0, len(margins), moments + 1).astype(int).tolist()
    parts = [(first, last) for first, last in pairwise(edges) if first < last]
    return [first + int(np.argmin(margins[first:last])) for first, last in parts]
