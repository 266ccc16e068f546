"""A change of an episode from one of its steps on, to ask what would have happened (docs/causal.md#what-if)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neurozoo.environments import World
from neurozoo.environments.protocols import Protocol, has_continuous_outputs
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.interventions.intervention import INPUT, Intervention

KINDS = ("action", "ram", "pixels", "intervention", "agent")
BRIEF = ("action", "ram")  # kinds that last one step, unless a duration is given; the others last to the end
RAM_BYTES = 128  # of the console
_PLACE, _NUMBER = "([0-9]{1,9})", r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
_BYTE, _PIXELS = re.compile(f"{_PLACE}={_PLACE}"), re.compile(f"{','.join([_PLACE] * 4)}=(mean|{_NUMBER})")


@dataclass(frozen=True)
class Change:
    """What changes in an episode, from `step` on; exactly one of `action`, `ram`, `intervention` and `agent` is given.

    Steps count from 0. Nothing changes at steps before it, so the episode comes to this step in the recorded state.
    """

    step: int
    duration: int | None = None  # steps; None to the end of the episode
    action: str | None = None  # is played, whatever the agent decides
    ram: tuple[tuple[int, int], ...] = ()  # (address, value): written before each step, so it shows in the next screen
    intervention: Intervention | None = None
    agent: str | None = None  # folder of a run or its frozen/; it has watched the episode from its start, and plays on

    @classmethod
    def from_config(
        cls, entry: Mapping[str, Any], interventions: Mapping[str, Mapping[str, Any]] | None = None
    ) -> "Change":
        """Reads an entry under `what_if` of the configuration; interventions may be some of its, by name.

        Raises:
            NeurozooError: There is not exactly one kind of change, or a value is none of its kind.
        """
        entry = {key: value for key, value in entry.items() if value not in (None, [])}
        kinds = [kind for kind in KINDS if kind in entry]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none"
            raise NeurozooError(f"A what-if needs one change: {', '.join(KINDS)}. It has {found}. Give one.")
        (kind,), step = kinds, int(entry.get("step", 0))
        duration = entry.get("duration", 1 if kind in BRIEF else None)
        if step < 0 or (duration is not None and duration < 1):
            raise NeurozooError(f"step should be at least 0 and duration at least 1, but are {step} and {duration}.")
        change, value = cls(step, duration), entry[kind]
        if kind == "ram":
            return replace(change, ram=tuple(map(_byte, value)))
        if kind in ("pixels", "intervention"):
            return replace(change, intervention=_pixels(value) if kind == "pixels" else _named(value, interventions))
        return cls(**{**vars(change), kind: str(value)})

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Change":
        """Reads what `dataclasses.asdict` gives, by way of JSON.

        Raises:
            TypeError, NeurozooError: It is not one.
        """
        for name, kinds in (("step", int), ("duration", int | None), ("action", str | None), ("agent", str | None)):
            if isinstance(record[name], bool) or not isinstance(record[name], kinds):
                raise TypeError(f"{name} is {record[name]!r:.80}")
        intervention = record["intervention"] and Intervention.from_record(record["intervention"])
        ram = tuple((int(address), int(value)) for address, value in record["ram"])
        return cls(**{**record, "ram": ram, "intervention": intervention})

    @property
    def label(self) -> str:
        """What changes, in a few words."""
        if self.intervention:
            return self.intervention.label
        if self.ram:
            return ", ".join(f"RAM {address} = {value}" for address, value in self.ram)
        if self.action:
            return self.action
        parts = Path(self.agent or "").parts
        return f"{'/'.join(parts[:-1][-4:] if parts[-1:] == ('frozen',) else parts[-4:])} plays"

    def check(self, game: str, protocol: Protocol, actions: tuple[str, ...]) -> None:
        """Refuses a change that a game cannot have; `actions` are the names of an agent's outputs.

        Raises:
            NeurozooError: The game has no such action or no memory, or an address or a value is out of range.
        """
        if self.action is not None and has_continuous_outputs(protocol, actions):
            raise NeurozooError(
                f"{game} has continuous outputs and no actions by name. Change something else: pixels, intervention "
                "or agent."
            )
        if self.action is not None and self.action not in actions:
            raise unknown_name("action", self.action, actions)
        if self.ram and protocol.world != "atari":
            raise NeurozooError(
                f"{game} has no console memory that could be changed. Change something else: action, pixels, "
                "intervention or agent."
            )
        for address, value in self.ram:
            if not (0 <= address < RAM_BYTES and 0 <= value < 256):
                raise NeurozooError(
                    f"ram {address}={value}: the console has the addresses 0 to {RAM_BYTES - 1} with values from 0 to "
                    "255. Choose among them."
                )

    def is_at(self, step: int) -> bool:
        """Whether it changes a step."""
        return step >= self.step and (self.duration is None or step < self.step + self.duration)

    def write_memory(self, world: World) -> None:
        """Writes the console's memory, if this step of the world changes it."""
        if self.is_at(world.steps):
            for address, value in self.ram:
                world.set_ram(address, value)


def _byte(text: str) -> tuple[int, int]:
    if not (found := _BYTE.fullmatch(str(text))):
        raise NeurozooError(f"ram should be ADDRESS=VALUE, such as 49=100, but is {text!r}.")
    return int(found[1]), int(found[2])


def _pixels(text: str) -> Intervention:
    """Reads a rectangle of the observation, and what it shows: `TOP,LEFT,BOTTOM,RIGHT=VALUE`, or `=mean`."""
    if not (found := _PIXELS.fullmatch(str(text))):
        raise NeurozooError(
            f"pixels should be TOP,LEFT,BOTTOM,RIGHT=VALUE or =mean, such as 0,0,83,41=0, but is {text!r}."
        )
    top, left, bottom, right = map(int, found.groups()[:4])
    region = (top, left, bottom, right)
    if found[5] == "mean":
        return Intervention(INPUT, region=region, with_="mean")
    return Intervention(INPUT, region=region, with_="constant", value=float(found[5]))


def _named(value: str | Mapping[str, Any], interventions: Mapping[str, Mapping[str, Any]] | None) -> Intervention:
    if isinstance(value, Mapping):
        return Intervention.from_config(value)
    if value not in (known := interventions or {}):
        raise unknown_name("intervention", str(value), known)
    return Intervention.from_config(known[value])
