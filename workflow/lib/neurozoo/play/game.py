"""Games that a frozen agent plays before somebody's eyes, and in which he may take the joystick."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol as Interface

import numpy as np

from neurozoo.environments import World
from neurozoo.environments.atari import AtariEnvironment
from neurozoo.environments.single_frame import largest
from neurozoo.errors import NeurozooError
from neurozoo.games import Protocol, action_codes, action_names
from neurozoo.inspection.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.inspection.game_movie import STEPS_PER_SECOND
from neurozoo.inspection.player import Disturbance, Player, episode_starts, world_of_agent
from neurozoo.play.controls import FIRST_DELAY, HELP, MANUAL_HELP, Controls

EPSILON = 0.05
_PATIENCE = 0.02  # seconds between two looks at the keys, at most
_LATE = 0.25  # seconds behind which it is not tried to catch up


class Display(Interface):
    """Where a game is shown, and whose keys are read.

    Attributes:
        hold: See `Controls`.
    """

    hold: float | None

    def show(self, screen: np.ndarray, status: str) -> None:
        """Shows a screen, uint8, shape (height, width, 3), with a line of text beneath."""

    def hear(self, sound: np.ndarray, volume: int) -> None:
        """Plays a frame of sound, uint8, shape (samples,), 128 is silence; `volume` goes from 0 to 100."""

    def read_keys(self) -> Iterator[tuple[str, bool]]:
        """Yields the keys that were pressed (True) or released (False) since the last call, see `Controls`."""


@dataclass(frozen=True)
class PlayedGame:
    """A game that was shown.

    Attributes:
        score: Its points.
        steps: Decisions in it.
        is_finished: Whether it was played to its end.
    """

    score: float
    steps: int
    is_finished: bool


class _Left(Exception):
    """Somebody does not want to see more."""


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
    """Shows games of a frozen agent, frame by frame, until they are over or somebody quits.

    What the human does is any action of the joystick, even one that the agent's set of actions lacks.

    Args:
        frozen_folder: The frozen model.
        display: Where.
        games: How many.
        epsilon: Chance in every step that the agent's action is a random one; None for 0.05, as in simple_dqn, where
            there are actions.
        sticky_probability: Chance per frame that the emulator repeats the action before; None for the protocol's.
        is_manual: Whether the human plays at first.
        seed: Of starts and random actions, as in a rollout.
        clock: Tells seconds.
        sleep: Waits for so many seconds.

    Returns:
        The games, of which the last may not be finished.

    Raises:
        NeurozooError: The frozen model is missing or damaged, a number is out of range, or its world has no joystick
            to be taken.
    """
    if games < 1 or seed < 0:
        raise NeurozooError(f"At least one game is played, with a seed >= 0, but games={games}, seed={seed} came.")
    frozen = open_frozen(frozen_folder)
    if epsilon is None:
        epsilon = 0.0 if frozen.is_continuous else EPSILON
    disturbance = Disturbance(action=epsilon, sticky_probability=sticky_probability)
    protocol = disturbance.protocol(frozen)
    if is_manual and frozen.is_continuous:
        raise NeurozooError(f"{frozen.game} obeys all outputs, and has no joystick for a human. Leave --manual out.")
    use_one_thread()
    display.show(np.zeros((210, 160, 3), np.uint8), f"{frozen.title} is being loaded ...")
    session = _Session(frozen, protocol, display, Controls(is_manual=is_manual, hold=display.hold), clock, sleep)
    player = Player(frozen, disturbance, seed=seed)
    starts = episode_starts(protocol, seed=seed)
    for number in range(games):
        try:
            session.play(player, number, next(starts))
        except (_Left, KeyboardInterrupt):
            session.leave()
            break
    return session.played


class _Session:
    """A world, its display, and the time."""

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
        self._is_atari = protocol.world == "atari"
        # A frame of an emulator takes the controls' delay; elsewhere there is a frame per step, and as many steps.
        self._slowness = 1.0 if self._is_atari else 1000 / STEPS_PER_SECOND / FIRST_DELAY
        self._world: World = world_of_agent(frozen, protocol)
        if self._is_atari:
            full = replace(protocol, action_set="full")
            self._world = AtariEnvironment(frozen.game, full, is_heard=True)
            self._names = action_names(frozen.game, "full")
            codes = action_codes(frozen.game, "full")
            self._actions = [codes.index(code) for code in action_codes(frozen.game, protocol.action_set)]
        else:
            self._names = frozen.actions
        self._due = clock()
        self._score = 0.0

    def play(self, player: Player, number: int, start: dict[str, int]) -> None:
        """Plays one game."""
        world = self._world
        observation = world.reset(**start)
        player.begin(number)
        self._score = 0.0
        self._frame()
        while not world.is_done:
            obeyed = player.choose(player.think(player.see(observation))[1])
            observation = self._act(obeyed)
        self.played.append(PlayedGame(self._score, world.steps, is_finished=True))

    def leave(self) -> None:
        """Notes a game that was not finished."""
        self.played.append(PlayedGame(self._score, self._world.steps, is_finished=False))

    def _act(self, obeyed: np.ndarray) -> np.ndarray:
        manual = self._manual_action()
        if self._is_atari:
            action = self._actions[largest(obeyed)] if manual is None else manual
            return self._world.step(action, watch=self._frame)[0]
        outputs = obeyed if manual is None else np.eye(self._world.num_outputs, dtype=np.float32)[manual]
        observation, reward, _ = self._world.act(outputs)
        self._frame(reward)
        return observation

    def _manual_action(self) -> int | None:
        """Returns the index of what the human does, which is nothing where the world has no such action."""
        if not self._controls.is_manual or self._frozen.is_continuous:
            return None
        name = self._controls.joystick(self._clock())
        known = [each.upper() for each in self._names]
        return known.index(name) if name in known else known.index("NOOP") if "NOOP" in known else 0

    def _frame(self, gained: float = 0.0) -> None:
        """Shows what there is, does what keys say, and waits until the frame's time is over."""
        self._score += gained
        if self._is_atari:
            self._display.hear(self._world.sound, self._controls.volume)
        self._display.show(self._world.screen, self._status())
        started = max(self._due, self._clock() - _LATE)
        while True:
            self._read_keys()
            self._due = started + self._controls.delay * self._slowness / 1000
            rest = self._due - self._clock()
            if rest <= 0:
                break
            self._sleep(min(rest, _PATIENCE))

    def _read_keys(self) -> None:
        for key, is_down in self._display.read_keys():
            if is_down:
                self._controls.press(key, self._clock())
            else:
                self._controls.release(key)
        if self._controls.is_over:
            raise _Left

    def _status(self) -> str:
        controls = self._controls
        is_manual = controls.is_manual and not self._frozen.is_continuous
        who = f"you: {controls.joystick(self._clock())}" if is_manual else "agent"
        facts = [self._frozen.game, f"score {self._score:,.0f}", who, f"{controls.delay} ms"]
        if self._is_atari:
            facts.append(f"volume {controls.volume}")
        return "  ".join([*facts, MANUAL_HELP if is_manual else HELP])
