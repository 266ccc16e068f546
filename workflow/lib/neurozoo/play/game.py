"""Plays games of a frozen agent on a display, frame by frame; a human can take over the joystick."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.environments import World
from neurozoo.environments.atari import AtariEnvironment
from neurozoo.environments.games import action_codes, action_names
from neurozoo.environments.protocols import STEPS_PER_SECOND, Protocol
from neurozoo.environments.world import largest
from neurozoo.errors import NeurozooError
from neurozoo.play.controls import FIRST_DELAY, JOYSTICK, MANUAL_HELP, Controls, Display, action_of, help_of
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.player import Player, default_epsilon, episode_starts, world_of_agent
from neurozoo.text import number_label

_LATE = 0.25  # seconds: maximum delay that is caught up with


@dataclass(frozen=True)
class PlayedGame:
    """A game that was shown: its score, its number of decisions, and whether it was played to its end."""

    score: float
    steps: int
    is_finished: bool


def play_games(
    frozen_folder: str | os.PathLike,
    display: Display,
    *,
    games: int = 1,
    epsilon: float | None = None,
    sticky_probability: float | None = None,
    is_manual: bool = False,
    seed: int = 0,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> list[PlayedGame]:
    """Shows games of a frozen agent, frame by frame, until they are over or the human quits.

    The human can use every action of the joystick, even those that are not in the agent's action set.

    Args:
        frozen_folder: The frozen model.
        display: Where to show them.
        games: Their number.
        epsilon: Probability of a random action at each step. None for 0.05, as in simple_dqn, or 0 if actions are
            continuous or drawn.
        sticky_probability: Probability per frame that the emulator repeats the previous action; None for the
            protocol's.
        is_manual: Whether the human plays at the start.
        seed: Seed of starts and random actions, as in a rollout.
        clock: Returns the time in seconds.
        sleep: Waits for a number of seconds.

    Raises:
        NeurozooError: The frozen model is missing or damaged, a probability is out of range, or `is_manual` is set
            where the environment has no joystick.
    """
    frozen = open_frozen(frozen_folder)
    epsilon = default_epsilon(frozen) if epsilon is None else epsilon
    perturbation = Perturbation(action=epsilon, sticky_probability=sticky_probability)
    protocol = perturbation.protocol(frozen)
    if is_manual and not _has_joystick(frozen):
        reason = f"the actions {', '.join(frozen.actions[:3])}, of which none is a direction or FIRE"
        reason = "continuous actions" if frozen.is_continuous else reason
        raise NeurozooError(f"{frozen.game} has {reason}, so it has no joystick for a human. Leave --manual out.")
    use_one_thread()
    display.show(np.zeros((210, 160, 3), np.uint8), f"Loading {frozen.title} ...")
    player = Player(frozen, perturbation, seed=seed)
    loop = _GameLoop(frozen, protocol, display, Controls(is_manual=is_manual, hold=display.hold), clock, sleep)
    starts = episode_starts(protocol, seed=seed)
    with closing(loop):
        for number in range(games):
            try:
                loop.play(player, number, next(starts))
            except KeyboardInterrupt:  # Ctrl-C, or the key q
                loop.note(is_finished=False)
                break
    return loop.played


def _has_joystick(frozen: FrozenModel) -> bool:
    """Returns whether keys can choose actions: some action is called as on a joystick."""
    names = {name.upper() for name in frozen.actions}
    return not frozen.is_continuous and not names.isdisjoint(JOYSTICK)


class _GameLoop:
    """Plays games of one agent on a display, in real time."""

    def __init__(
        self,
        frozen: FrozenModel,
        protocol: Protocol,
        display: Display,
        controls: Controls,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ):
        self.played: list[PlayedGame] = []
        self._frozen, self._display, self._controls = frozen, display, controls
        self._clock, self._sleep = clock, sleep
        # A frame of an emulator takes the controls' delay. Other environments show one frame per step, and at the first
        # delay STEPS_PER_SECOND of them.
        is_atari = protocol.world == "atari"
        self._slowness = 1.0 if is_atari else 1000 / STEPS_PER_SECOND / FIRST_DELAY
        self._world: World = world_of_agent(frozen, protocol)
        self._console: AtariEnvironment | None = None
        self._names: Sequence[str] = frozen.actions
        if is_atari:
            full = replace(protocol, action_set="full")
            self._world = self._console = AtariEnvironment(frozen.game, full, is_heard=True)
            self._names = action_names(frozen.game, "full")
            codes = action_codes(frozen.game, "full")
            self._actions = [codes.index(code) for code in action_codes(frozen.game, protocol.action_set)]
        self._has_joystick = _has_joystick(frozen)
        self._due = clock()
        self._score = 0.0

    def close(self) -> None:
        self._world.close()

    def play(self, player: Player, number: int, start: dict[str, int]) -> None:
        """Plays one game.

        Raises:
            KeyboardInterrupt: The human quits.
        """
        world = self._world
        observation = world.reset(**start)
        player.begin(number)
        self._score = reward = 0.0
        self._frame()
        while not world.is_done:
            outputs = player.decide(observation, reward).chosen
            manual = action_of(self._joystick(), self._names) if self._is_manual else None
            if manual is not None:
                player.note_played(self._as_the_agents(manual))
            observation, reward = self._act(outputs, manual)
        self.note(is_finished=True)

    def note(self, *, is_finished: bool) -> None:
        """Adds the game to those that were played."""
        self.played.append(PlayedGame(self._score, self._world.steps, is_finished))

    def _as_the_agents(self, manual: int) -> int:
        """Returns a human's action as one of the agent's; the first one, a no-op, if it lacks that action."""
        if self._console is None:
            return manual
        return self._actions.index(manual) if manual in self._actions else 0

    def _joystick(self) -> str:
        return self._controls.joystick(self._clock())

    def _act(self, outputs: np.ndarray, manual: int | None) -> tuple[np.ndarray, float]:
        if self._console is not None:
            action = self._actions[largest(outputs)] if manual is None else manual
            return self._console.step(action, watch=self._frame)[:2]
        if manual is not None:
            outputs = np.eye(self._world.num_outputs, dtype=np.float32)[manual]
        observation, reward, _ = self._world.act(outputs)
        self._frame(reward)
        return observation, reward

    @property
    def _is_manual(self) -> bool:
        return self._controls.is_manual and self._has_joystick

    def _frame(self, gained: float = 0.0) -> None:
        """Shows the current frame, reacts to keys, and waits until the frame's time is over."""
        self._score += gained
        if self._console is not None:
            self._display.hear(self._console.sound, self._controls.volume)
        self._display.show(self._world.screen, self._status())
        started = max(self._due, self._clock() - _LATE)

        def end() -> float:
            self._due = started + self._controls.delay * self._slowness / 1000
            return self._due

        self._controls.wait(self._display, end, clock=self._clock, sleep=self._sleep)
        if self._controls.is_over:
            raise KeyboardInterrupt

    def _status(self) -> str:
        controls = self._controls
        who = f"you: {self._joystick()}" if self._is_manual else "agent"
        facts = [self._frozen.game, f"score {number_label(self._score)}", who, f"{controls.delay} ms"]
        if self._console is not None:
            facts.append(f"volume {controls.volume}")
        keys = help_of(has_joystick=self._has_joystick, is_heard=self._console is not None)
        return "  ".join([*facts, MANUAL_HELP if self._is_manual else keys])
