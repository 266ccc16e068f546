"""Moments of a recording at which an agent had something to decide, as networks are asked about them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.rollouts.replayed import ReplayedNetwork, before_each_step
from neurozoo.rollouts.rollout_files import RolloutFile


@dataclass(frozen=True)
class Moments:
    """Moments of a recording in their order, with everything that the network was given there."""

    steps: np.ndarray  # int, shape (moments,): steps of the recording
    screens: np.ndarray  # uint8, shape (moments, height, width, 3): what the game showed
    observations: np.ndarray  # float32, shape (moments, height, width, channels)
    history: tuple[np.ndarray, ...]  # action and reward before, and memory, shape (moments, ...) each; or ()
    actions: np.ndarray  # int, shape (moments,): the actions that the network prefers
    leads: np.ndarray  # float, shape (moments,): how far the preferred actions are ahead, see `lead`

    def among(self, places: Sequence[int] | np.ndarray) -> "Moments":
        """Returns some of the moments."""
        history = tuple(part[places] for part in self.history)
        rest = (self.steps, self.screens, self.observations, self.actions, self.leads)
        steps, screens, observations, actions, leads = (part[places] for part in rest)
        return Moments(steps, screens, observations, history, actions, leads)


def lead(preferences: np.ndarray, actions: np.ndarray, *, is_drawn: bool) -> np.ndarray:
    """Returns how far an action is ahead, shape (batch,).

    If actions are drawn from the preferences, it is the action's probability. Otherwise preferences are values in any
    unit, and it is the action's value minus the mean value of the others.

    Args:
        preferences: Shape (batch, actions).
        actions: One for each row.
        is_drawn: Whether preferences are logits of a policy.
    """
    from scipy.special import softmax

    rows = np.arange(len(preferences))
    preferences = np.asarray(preferences, np.float64)
    if is_drawn:
        return softmax(preferences, axis=1)[rows, actions]
    chosen, others = preferences[rows, actions], max(preferences.shape[1] - 1, 1)
    return chosen - (preferences.sum(axis=1) - chosen) / others


def choose_moments(frozen: FrozenModel, recording: RolloutFile, count: int) -> Moments:
    """Divides a recording into so many equal parts, and takes from each the moment whose action is furthest ahead.

    A recording of fewer steps gives all of them. The memory of a network is that of the recorded episode.
    """
    network = ReplayedNetwork(frozen, [frozen.layers[-1].name], keeps_memory=True)
    actions, scores = np.array(recording.actions), recording.scores_before
    network.rewind(actions=actions, scores=scores, starts=recording.starts)
    said = [network(block) for (block,) in recording.blocks("observations")]
    preferences, *after = (np.concatenate(parts) for parts in zip(*said, strict=True))
    preferred = preferences.argmax(axis=1)
    leads = lead(preferences, preferred, is_drawn=frozen.action_rule == "sampled")
    parts = np.array_split(np.arange(recording.steps), min(count, recording.steps))
    steps = np.array([part[leads[part].argmax()] for part in parts])
    history: tuple[np.ndarray, ...] = ()
    if frozen.has_history:
        before = [*before_each_step(actions, scores, recording.starts)]
        is_first = np.array([before[step][2] for step in steps])
        history = (
            np.array([before[step][0] for step in steps], np.int32),
            np.array([before[step][1] for step in steps], np.float32),
            *(np.where(is_first[:, None], np.float32(0), memory[steps - 1]) for memory in after),
        )
    observations, screens = (
        np.stack([row for _, row in recording.rows_at(key, steps.tolist())]) for key in ("observations", "frames")
    )
    return Moments(steps, screens, observations.astype(np.float32), history, preferred[steps], leads[steps])
