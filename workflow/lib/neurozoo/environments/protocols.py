"""Evaluation protocols: how episodes are played and scored, and which outputs a network has."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypedDict, Unpack, get_args, get_type_hints

import numpy as np

from neurozoo.environments.games import (
    MAZE_ACTIONS,
    MAZE_OUTPUTS,
    RIVER_ACTIONS,
    action_codes,
    action_names,
    check_game,
    world_of,
)
from neurozoo.environments.gymnasium_games import gymnasium_spaces
from neurozoo.errors import NeurozooError, unknown_name

FRAME_SKIP = 4  # emulator frames per step
STEPS_PER_SECOND = 15  # in real time: an Atari console draws 60 frames per second


@dataclass(frozen=True)
class Protocol:
    """How an episode is played. Every run, table and figure records its protocol.

    Fields that do not apply to an environment keep their default.

    Attributes:
        name: Name of the published protocol.
        sticky_probability: Chance per frame that the emulator repeats the previous action.
        max_noops: Episodes start with 1 to `max_noops` single-frame no-ops (drawn uniformly); 0 for none.
        least_noop_steps: Episodes start with `least_noop_steps` to `max_noop_steps` steps without action (drawn
            uniformly), which are neither counted nor scored. These are the random starts of simple_dqn.
        max_noop_steps: 0 for none.
        presses_fire: Whether episodes start with one step of the second and one of the third action, in games whose
            second action is FIRE.
        max_frames: Longest episode, in frames after the start.
        action_set: `minimal` (the actions that the game uses) or `full` (all 18; in mazes all 7).
        preprocessing: `published_bilinear`: grey as float, maximum of the last two frames, bilinear resize with
            aligned corners. `area`: grey rounded to bytes, maximum, area resize rounded to bytes, divided by 255.
            `rgb`: the newest screen in colour, 0 to 255, not resized and not stacked. `pil_bilinear`: maximum of the
            last two frames in colour, grey as float, PIL's bilinear resize, which averages, cut to bytes, divided by
            255; an episode's first plane is repeated where the others have black ones.
        frame_skip: Frames per step.
        least_frame_skip: If set, the number of frames of each step is drawn uniformly from `least_frame_skip` to
            `frame_skip`.
        start_state: `today`, or `2018`: resets leave the RAM as the emulator of 2018 did, see `START_STATES`.
        world: The kind of environment: `atari`, `river_crossing`, `hard_maze`, `maze` or `gymnasium`.
        rules: `fixed` or `faithful` (river crossing).
        observation: `pixels`, `rgb`, `greyscale` or `objects` (river crossing).
        seeds: `shared`, or `split`: training, validation and tests draw the seeds of their episodes from ranges of
            their own, so that no world of a test has been seen before (see `environments.episode_seeds`).
    """

    name: str
    sticky_probability: float = 0.0
    max_noops: int = 0
    least_noop_steps: int = 0
    max_noop_steps: int = 0
    presses_fire: bool = False
    max_frames: int = 400_000
    action_set: Literal["minimal", "full"] = "minimal"
    preprocessing: Literal["published_bilinear", "area", "rgb", "pil_bilinear"] = "published_bilinear"
    frame_skip: int = FRAME_SKIP
    least_frame_skip: int | None = None
    start_state: Literal["today", "2018"] = "today"
    world: Literal["atari", "river_crossing", "hard_maze", "maze", "gymnasium"] = "atari"
    rules: Literal["", "fixed", "faithful"] = ""
    observation: Literal["", "pixels", "rgb", "greyscale", "objects"] = ""
    seeds: Literal["shared", "split"] = "shared"

    @property
    def facts(self) -> dict[str, str]:
        """The fields that a run's records show: the name and the choices."""
        return {"protocol": self.name, **{choice: getattr(self, choice) for choice in _CHOICES}}

    @property
    def noop_steps(self) -> tuple[int, int] | None:
        """(least, most) steps without action at the start of an episode; None for none."""
        return (self.least_noop_steps, self.max_noop_steps) if self.max_noop_steps else None

    @property
    def has_chance(self) -> bool:
        """Whether two episodes of one agent with the same no-ops can differ, because something in them is random."""
        if self.world == "atari":
            return self.sticky_probability > 0 or self.least_frame_skip is not None
        return self.world != "hard_maze"

    @property
    def is_stepwise(self) -> bool:
        """Whether the core does not play the game with networks that are chains of layers, so that Python has to."""
        return self.world in ("gymnasium", "maze")

    def draw_noops(self, random: np.random.Generator) -> int:
        """Draws the number of frames without action at the start of an episode."""
        frames = int(random.integers(1, self.max_noops + 1)) if self.max_noops else 0
        if self.max_noop_steps:
            frames += self.frame_skip * int(random.integers(self.least_noop_steps, self.max_noop_steps + 1))
        return frames

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Protocol":
        """Reads what `dataclasses.asdict` wrote.

        Raises:
            ValueError, TypeError: The record is not one of a protocol.
        """
        if missing := set(_kinds()) - set(record):
            raise ValueError(f"a protocol without {', '.join(sorted(missing))}")
        if wrong := [name for name, value in record.items() if not _is_allowed(name, value)]:
            raise ValueError(f"a protocol with {', '.join(f'{name} {record[name]!r}'[:80] for name in wrong)}")
        return cls(**record)


@functools.cache
def _kinds() -> dict[str, tuple]:
    """The allowed values of a protocol's fields: types, or the values themselves."""
    hints = get_type_hints(Protocol)
    return {field.name: get_args(hints[field.name]) or (hints[field.name],) for field in fields(Protocol)}


def _is_allowed(name: str, value: object) -> bool:
    if name not in _kinds():
        return False
    kinds = _kinds()[name]
    if isinstance(value, int | float) and not isinstance(value, bool):
        is_whole = isinstance(value, int) and int in kinds
        least, most = (1 if name in ("frame_skip", "max_frames") else 0), (2**63 if int in kinds else 1)
        return (is_whole or float in kinds) and least <= value <= most
    return type(value) in kinds or (isinstance(value, str) and value in kinds)


# Sources: `uber2018`: Such et al. 2017, arXiv:1712.06567, and its GPU code; `uber2017`: the wrappers of its distributed
# code (es_distributed/atari_wrappers.py), with the limit of Gym's NoFrameskip-v4; `machado2018`: Machado et al. 2018,
# arXiv:1709.06009, as in ale-py's AtariVectorEnv. All stack four frames, oldest first; all but `uber2017` start with
# three of zeros.
# `nature2015`: Mnih et al. 2015, doi:10.1038/nature14236, Methods, "Evaluation procedure": 30 games of at most 5
# minutes (18,000 frames), each after at most 30 no-ops (Extended Data Table 1). `simple_dqn`: tambetm/simple_dqn,
# commit e566952. It has no limit, but no episode of its tests can be longer than a test phase: 125,000 steps.
# `gym_v4`: the `-v4` ids of OpenAI Gym, as in cshenton/neuroevolution. `hard_maze`: Such et al. 2017. `river_faithful`:
# Robinson et al. 2007 with the rules of the Deep Neuroevolution Toolbox; `river_fixed`: the same without its bugs;
# `river_split`: the same with worlds of their own for training, validation and tests. `maze`: Parker-Holder et al.
# 2022, arXiv:2203.01302, with the larger mazes and the limit of DSAGE (Bhatt et al. 2022, arXiv:2206.04199).
_RIVER = Protocol(
    "river_fixed", max_frames=20_000_000, frame_skip=1, world="river_crossing", rules="fixed", observation="pixels"
)
PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("uber2018", max_noops=30, presses_fire=True),
        Protocol("machado2018", sticky_probability=0.25, max_frames=108_000, action_set="full", preprocessing="area"),
        Protocol("nature2015", max_noops=30, max_frames=18_000, preprocessing="area"),
        Protocol("simple_dqn", least_noop_steps=5, max_noop_steps=31, max_frames=500_000, preprocessing="area"),
        Protocol("gym_v4", preprocessing="rgb", least_frame_skip=2),
        Protocol("uber2017", max_noops=30, presses_fire=True, preprocessing="pil_bilinear"),
        _RIVER,
        replace(_RIVER, name="river_split", seeds="split"),
        replace(_RIVER, name="river_faithful", rules="faithful", observation="rgb"),
        Protocol("hard_maze", max_frames=400, frame_skip=1, world="hard_maze"),
        Protocol("maze", max_frames=648, frame_skip=1, world="maze", seeds="split"),
        Protocol("gymnasium", max_frames=20_000_000, frame_skip=1, world="gymnasium"),
    )
}
DEFAULT_PROTOCOLS = {
    "atari": "uber2018",
    "river_crossing": "river_fixed",
    "hard_maze": "hard_maze",
    "maze": "maze",
    "gymnasium": "gymnasium",
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "action_set": ("minimal", "full"),
    "observation": ("pixels", "rgb", "greyscale", "objects"),
    "start_state": ("today", "2018"),
}

# After a reset, today's emulator is some frames further in the game than that of 2018. Writing these RAM cells (index:
# value) restores the old start. Source: measured for the specification of the published code, section 11.
START_STATES = {
    "frostbite": {0x01: 62, 0x02: 89, 0x16: 0, 0x17: 0, 0x18: 0, 0x19: 14, 0x1A: 13, 0x1B: 12},
}  # fmt: skip


class ProtocolChoices(TypedDict, total=False):
    """What may differ from a protocol; None leaves it as it is."""

    action_set: str | None
    observation: str | None  # of the river crossing task
    start_state: str | None
    noop_steps: tuple[int, int] | None  # (least, most) steps without action at the start of an episode


def get_protocol(name: str, **choices: Unpack[ProtocolChoices]) -> Protocol:
    """Returns a protocol by name, optionally with another action set, observation, start state or random starts.

    Raises:
        NeurozooError: The protocol or a choice is unknown; the message suggests the most similar name.
    """
    if name not in list(PROTOCOLS):  # a list, because the name may be unhashable
        raise unknown_name("protocol", name, PROTOCOLS)
    noop_steps = choices.pop("noop_steps", None)
    wanted: dict[str, Any] = {key: value for key, value in choices.items() if value is not None}
    for key, value in wanted.items():
        if value not in _CHOICES[key]:
            raise unknown_name(key.replace("_", " "), value, _CHOICES[key])
    if "observation" in wanted and PROTOCOLS[name].world != "river_crossing":
        raise NeurozooError(f"The observation of the protocol {name!r} cannot be chosen. Leave observation empty.")
    if noop_steps is not None:
        wanted |= {"least_noop_steps": noop_steps[0], "max_noop_steps": noop_steps[1]}
    return replace(PROTOCOLS[name], **wanted)


def protocol_of(game: str, name: str | None = None, **choices: Unpack[ProtocolChoices]) -> Protocol:
    """Returns the protocol of a game.

    Without a name it is the default, such as `uber2018` for Atari games. The choices are `ProtocolChoices`.

    Raises:
        NeurozooError: The game, the protocol or a choice is unknown, or they do not fit together.
    """
    world = world_of(check_game(game))
    name = DEFAULT_PROTOCOLS[world] if name is None else name
    protocol = get_protocol(name, **choices)
    if protocol.world != world:
        fitting = ", ".join(p.name for p in PROTOCOLS.values() if p.world == world)
        raise NeurozooError(
            f"{game!r} cannot be played under the protocol {name!r}. Set protocol (under overrides) to one of: "
            f"{fitting}."
        )
    if protocol.start_state == "2018" and game not in START_STATES:
        raise NeurozooError(
            f"The start state of 2018 is not known for {game!r}, only for {', '.join(START_STATES)}. "
            "Leave start_state empty."
        )
    return protocol


def output_names(game: str, protocol: Protocol) -> tuple[str, ...]:
    """Returns the names of a network's outputs, in order: actions such as ('NOOP', 'FIRE'), or continuous controls.

    Raises:
        NeurozooError: The game is unknown.
    """
    if protocol.world == "atari":
        return action_names(game, protocol.action_set)
    if protocol.world == "gymnasium":
        return gymnasium_spaces(game).outputs
    if protocol.world == "maze":
        return MAZE_ACTIONS if protocol.action_set == "full" else MAZE_ACTIONS[:3]
    return {"river_crossing": RIVER_ACTIONS, "hard_maze": MAZE_OUTPUTS}[protocol.world]


def has_continuous_outputs(protocol: Protocol, names: tuple[str, ...]) -> bool:
    """Returns whether outputs are continuous controls, not scores of actions; `names` come from `output_names`."""
    return protocol.world == "hard_maze" or (protocol.world == "gymnasium" and names[0].startswith("OUTPUT_"))


def check_engine(game: str, protocol: Protocol, engine: str) -> str:
    """Returns `engine` if it can play the game.

    Raises:
        NeurozooError: It cannot play the game.
    """
    if engine == "batched" and protocol.is_stepwise:
        raise NeurozooError(f"The batched engine does not play {game!r}. Set engine to native.")
    return engine


def start_actions(game: str, protocol: Protocol) -> tuple[int, ...]:
    """Returns the actions (ALE codes) that start an episode after its no-ops, one step each.

    They do not depend on the action set of the agent.

    Source: published code: if the second action of the minimal set is FIRE, the second and the third action.
    """
    if protocol.presses_fire and action_names(game, "minimal")[1] == "FIRE":
        return action_codes(game, "minimal")[1:3]
    return ()
