"""Tries every action at some moments of a recorded episode, to see where it mattered what the agent did."""

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise

import numpy as np

from neurozoo.agents.frozen import open_frozen, use_one_thread
from neurozoo.environments import World
from neurozoo.errors import NeurozooError
from neurozoo.files import write_json
from neurozoo.interventions.change import Change
from neurozoo.rollouts.episode import Episode
from neurozoo.rollouts.player import Decision, Player, world_of_agent
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import REMEDY, open_rollout
from neurozoo.rollouts.what_if import MOST_STEPS, check_unchanged


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
        The `agent`, the episode's `score` and `steps` as it was, as far as the last moment needs it, `duration`, the
        `actions`, and the `moments`. Each has its `step` (from 0), the `action` that was played, the `margin` of the
        outputs, the same numbers `as_it_was` when it was as many steps behind this moment, and as `outcomes` for each
        action the `score` and `steps` of the whole episode, whether it `is_cut`, and at which step it `rejoins` the
        recorded episode: from there, all that decides is the same again. It is None if it never does, or if the game
        cannot tell. There is one continuation each, with the random numbers of the recording.

    Raises:
        NeurozooError: The agent has continuous outputs, or the recording has a change or is not of this agent.
    """
    frozen = open_frozen(frozen_folder)
    if frozen.is_continuous:
        raise NeurozooError(
            f"{frozen.game} has continuous outputs and no actions to try one by one. Leave --grid out, and change "
            "something else."
        )
    use_one_thread()
    with open_rollout(rollout, frozen) as recorded:
        check_unchanged(recorded)
        perturbation, seed, start = recorded.perturbation, recorded.seed, recorded.starts[0]
        recorded_actions = recorded.actions[: [*recorded.starts, recorded.steps][1]]
    player = Player(frozen, perturbation, seed=seed, recorded=rollout)
    with (
        closing(world_of_agent(frozen, perturbation.protocol(frozen))) as world,
        Progress(f"what-if grid of {frozen.title}", total=None, log=log, terminal=terminal) as progress,
    ):
        trials = _Trials(world, player, start, progress=progress)
        trials.play_to(len(recorded_actions))
        if trials.actions != recorded_actions:
            raise NeurozooError(f"{os.fspath(rollout)} cannot be replayed: other actions are chosen. {REMEDY}")
        tried, chosen = [], _choose(trials.margins, moments)
        trials.play_to(chosen[-1] + steps)
        for step in chosen:
            trials.go_to(step)
            outcomes = [trials.outcome_of(Change(step, duration, name), step + steps) for name in frozen.actions]
            moment = {"step": step, "action": frozen.actions[trials.actions[step]], "margin": trials.margins[step]}
            tried.append({**moment, "as_it_was": trials.as_it_was(step + steps), "outcomes": outcomes})
    record = {"agent": frozen.title, **trials.as_it_was(), "duration": duration, "actions": [*frozen.actions]}
    record["moments"] = tried
    write_json(output, record)
    return record


class _Trials:
    """An episode, which is played once without a change, and then from one of its moments with changes.

    Attributes:
        actions: Those of the episode.
        margins: How far the best output was above the second, at each step.
    """

    def __init__(self, world: World, player: Player, start: Mapping[str, int], *, progress: Progress) -> None:
        self._world, self._player, self._start, self._progress = world, player, start, progress
        self.actions: list[int] = []
        self.margins: list[float] = []
        self._begin()
        self._states, self._scores = [self._episode.digest()], [0.0]  # before each step

    def play_to(self, limit: int) -> None:
        """Plays the episode without a change up to a step or its end; only before `go_to`."""
        while self._goes_on(limit):
            decision = self._step()
            second, best = np.sort(decision.outputs)[-2:]
            self.margins.append(float(best - second))
            self.actions.append(int(decision.chosen.argmax()))
            self._states.append(self._episode.digest())
            self._scores.append(self._episode.score)
        self._is_cut = not self._world.is_done

    def as_it_was(self, limit: int | None = None) -> dict:
        """Returns the outcome without a change, if it had been cut off at a step."""
        played = len(self.actions)
        steps = played if limit is None else min(limit, played)
        return _outcome(self._scores[steps], steps, is_cut=self._is_cut or steps < played)

    def go_to(self, step: int) -> None:
        """Plays the episode to a step, from which `outcome_of` begins if the game can save it."""
        self._player.change = None
        self._begin()
        while self._world.steps < step:
            self._step()
        self._saved = self._episode.save()

    def outcome_of(self, change: Change, limit: int) -> dict:
        """Plays the episode with a change up to a step; only until it comes back to a state of the recorded one."""
        self._player.change = change
        if self._saved is None:
            self._begin()
        else:
            self._episode.restore(self._saved)
        while self._goes_on(limit):
            self._step()
            now = self._world.steps
            is_over = not change.is_at(now) and change.step < now < len(self._states)
            if is_over and (state := self._episode.digest()) and state == self._states[now]:
                return {**self.as_it_was(limit), "rejoins": now}
        return _outcome(self._episode.score, self._world.steps, is_cut=not self._world.is_done)

    def _begin(self) -> None:
        self._episode = Episode(self._world, self._player, self._start, 0)

    def _goes_on(self, limit: int) -> bool:
        return not self._world.is_done and self._world.steps < limit

    def _step(self) -> Decision:
        self._progress.advance()
        return self._episode.step()


def _outcome(score: float, steps: int, *, is_cut: bool) -> dict:
    return {"score": score, "steps": steps, "is_cut": is_cut, "rejoins": None}


def _choose(margins: Sequence[float], moments: int) -> list[int]:
    """Returns the step of the smallest margin in each of equal parts; fewer if there are fewer steps."""
    edges = np.linspace(0, len(margins), moments + 1).astype(int).tolist()
    parts = [(first, last) for first, last in pairwise(edges) if first < last]
    return [first + int(np.argmin(margins[first:last])) for first, last in parts]
