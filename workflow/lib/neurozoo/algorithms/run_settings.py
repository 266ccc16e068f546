"""What every algorithm can be told, and how settings are checked."""

import math
from dataclasses import dataclass
from typing import ClassVar

from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.games import get_protocol

PROTOCOL_CHOICES = {  # settings that choose a protocol, by the argument of `neurozoo.games.protocol_of`
    "name": "protocol",
    "action_set": "action_set",
    "observation": "observation",
    "start_state": "start_state",
}
ENGINES = ("native", "batched")


@dataclass(frozen=True)
class RunSettings:
    """What every algorithm can be told.

    Attributes:
        num_test_episodes: Episodes of the result, which nothing is chosen by and no budget counts.
        test_cutoff: Longest of these, in steps; None for the protocol's own limit, as published. An agent that stands
            still can fill 100,000 steps.
        frames: Budget of all counted episodes together, in emulator frames.
        snapshot_frames: Whenever this many frames have been played, the best so far is kept; 0 or None for never. It
            does not change a run.
        protocol: How episodes are played, see `neurozoo.games.PROTOCOLS`; None for the game's own.
        action_set: `minimal`, `full`, or None for the protocol's own.
        observation: Of the river crossing task, see `neurozoo.games.Protocol`; None for the protocol's own.
        start_state: `today`, `2018`, or None for the protocol's own.
        seed: Seed that a run shares with all runs of its experiment; the run number is added to it.
        engine: Where episodes are played: `native` (threads of the processor) or `batched` (networks on a GPU), which
            are equal but for the rounding of sums.
    """

    WAYS_TO_RUN: ClassVar[tuple[str, ...]] = ("snapshot_frames",)  # what changes no result, so that a state may differ

    # budget
    num_test_episodes: int = 200
    test_cutoff: int | None = None
    frames: int = 6_000_000_000
    snapshot_frames: int | None = None
    # world
    protocol: str | None = None
    action_set: str | None = None
    observation: str | None = None
    start_state: str | None = None
    seed: int = 0
    engine: str = "native"

    def __post_init__(self) -> None:
        self._check_counts(num_test_episodes=1, frames=1, seed=0)
        self._check_choice("engine", ENGINES)
        if self.snapshot_frames is not None:
            self._check_counts(snapshot_frames=0)
        if self.test_cutoff is not None:
            self._check_counts(test_cutoff=1)
        if self.protocol is not None:
            choices = {name: getattr(self, setting) for name, setting in PROTOCOL_CHOICES.items()}
            get_protocol(**choices)
        else:  # the game decides; only its world knows whether the choices fit
            get_protocol("uber2018", action_set=self.action_set, start_state=self.start_state)
            get_protocol("river_fixed", observation=self.observation)

    def _check_counts(self, **least: int) -> None:
        for name, bound in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise NeurozooError(f"{name} should be a whole number, but is {value!r}.")
            if value < bound:
                raise NeurozooError(f"{name} should be at least {bound}, but is {value}.")

    def _check_choice(self, name: str, allowed: tuple[str, ...]) -> None:
        if getattr(self, name) not in allowed:
            raise unknown_name(name, getattr(self, name), allowed)

    def _check_numbers(self, *names: str, most: float = math.inf) -> None:
        for name in names:
            value = getattr(self, name)
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not is_number or not 0 <= value <= most or value == math.inf:
                limit = "at least 0" if most == math.inf else f"from 0 to {most}"
                raise NeurozooError(f"{name} should be a number {limit}, but is {value!r}.")

    def _check_at_most(self, most: int, meaning: str, *names: str) -> None:
        for name in names:
            if getattr(self, name) > most:
                raise NeurozooError(f"{name} should be at most {meaning} ({most}), but is {getattr(self, name)}.")
