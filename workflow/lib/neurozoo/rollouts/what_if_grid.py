"""Tries every action at some moments of a recorded episode, to see where it mattered what the agent did."""

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
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
        action the `score` and `steps` of the whole episode, whether it `is_cut`, and at which step it `rejoins` the
        recorded episode: from there, all that decides is the same again. It is None if it never does, or if the game
        cannot tell. There is one continuation each, with the random numbers of the recording.

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
        trials = _Trials(world, player, start, limit=len(recorded_actions) + steps, progress=progress)
        if trials.actions[: len(recorded_actions)] != recorded_actions:
            raise NeurozooError(f"{os.fspath(rollout)} cannot be replayed: other actions are chosen. {REMEDY}")
        tried = []
        for step in _choose(trials.margins[: len(recorded_actions)], moments):
            trials.go_to(step)
            outcomes = [trials.outcome_of(Change(step, duration, name)) for name in frozen.actions]
            action = frozen.actions[trials.actions[step]]
            tried.append({"step": step, "action": action, "margin": trials.margins[step], "outcomes": outcomes})
    record = {"agent": frozen.title, **trials.as_it_was, "duration": duration, "actions": [*frozen.actions]}
    record["moments"] = tried
    write_json(output, record)
    return record


class _Trials:
    """An episode, which is played once without a change, and then from one of its moments with changes.

    Attributes:
        actions: Those of the episode.
        margins: How far the best output was above the second, at each step.
        as_it_was: Its outcome.
    """

    def __init__(
        self, world: World, player: Player, start: Mapping[str, int], *, limit: int, progress: Progress
    ) -> None:
        self._world, self._player, self._start, self._limit, self._progress = world, player, start, limit, progress
        self.actions: list[int] = []
        self.margins: list[float] = []
        self._begin()
        self._states = [self._state()]  # before each step
        while self._goes_on():
            decision = self._step()
            second, best = np.sort(decision.outputs)[-2:]
            self.margins.append(float(best - second))
            self.actions.append(int(decision.chosen.argmax()))
            self._states.append(self._state())
        self.as_it_was = self._outcome()

    def go_to(self, step: int) -> None:
        """Plays the episode to a step, from which `outcome_of` begins if the game can save it."""
        self._player.change = None
        self._begin()
        while self._world.steps < step:
            self._step()
        self._saved = self._episode.save()

    def outcome_of(self, change: Change) -> dict:
        """Plays the episode with a change at this step; only until it comes back to a state of the recorded one."""
        self._player.change = change
        if self._saved is None:
            self._begin()
        else:
            self._episode.restore(self._saved)
        while self._goes_on():
            self._step()
            now = self._world.steps
            is_over = not change.is_at(now) and change.step < now < len(self._states)
            if is_over and (state := self._state()) and state == self._states[now]:
                return {**self.as_it_was, "rejoins": now}
        return self._outcome()

    def _begin(self) -> None:
        self._episode = Episode(self._world, self._player, self._start, 0)

    def _goes_on(self) -> bool:
        return not self._world.is_done and self._world.steps < self._limit

    def _step(self) -> Decision:
        self._progress.advance()
        return self._episode.step()

    def _state(self) -> bytes:
        """Returns a hash of what decides how the episode goes on; empty in games that cannot tell."""
        saved = self._episode.save()
        return b"" if saved is None else blake2b(saved, digest_size=16).digest()

    def _outcome(self) -> dict:
        is_cut = not self._world.is_done
        return {"score": self._episode.score, "steps": self._world.steps, "is_cut": is_cut, "rejoins": None}


def _choose(margins: Sequence[float], moments: int) -> list[int]:
    """Returns the step of the smallest margin in each of equal parts; fewer if there are fewer steps."""
    edges = np.linspace(0, len(margins), moments + 1).astype(int).tolist()
    parts = [(first, last) for first, last in pairwise(edges) if first < last]
    return [first + int(np.argmin(margins[first:last])) for first, last in parts]
