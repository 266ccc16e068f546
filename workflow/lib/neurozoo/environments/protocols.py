"""Games, and the protocols by which an episode is played and scored."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

from neurozoo.architectures import get_network
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.networks import Layout

FRAME_SKIP = 4  # emulator frames per step


@dataclass(frozen=True)
class Protocol:
    """How an episode is played: it travels with every run, table and figure.

    What a world does not have keeps its default.

    Attributes:
        name: Name of the published protocol.
        sticky_probability: Chance per frame that the emulator repeats the previous action.
        max_noops: Episodes start with 1 to `max_noops` single-frame no-ops (drawn uniformly); 0 for none.
        presses_fire: Starts by one step of the second and one of the third action, where the second is FIRE.
        max_frames: Longest episode, in frames after the start.
        action_set: `minimal` (those with a meaning in the game) or `full` (all 18).
        preprocessing: `published_bilinear`: grey as float, maximum of the last two frames, bilinear resize with
            aligned corners. `area`: grey rounded to a byte, maximum, area resize rounded to a byte, divided by 255.
            `rgb`: the newest screen in colour, 0 to 255, neither resized nor stacked.
        frame_skip: Frames per step.
        least_frame_skip: If set, each step has a number of frames drawn uniformly from `least_frame_skip` to
            `frame_skip`.
        start_state: `today`, or `2018`: RAM after a reset as the emulator of 2018 left it (see `START_STATES`).
        world: What plays: `atari`, `river_crossing`, `hard_maze` or `gymnasium`.
        rules: `fixed` or `faithful` (river crossing).
        observation: `pixels`, `rgb`, `greyscale` or `objects` (river crossing).
    """

    name: str
    sticky_probability: float = 0.0
    max_noops: int = 0
    presses_fire: bool = False
    max_frames: int = 400_000
    action_set: Literal["minimal", "full"] = "minimal"
    preprocessing: Literal["published_bilinear", "area", "rgb"] = "published_bilinear"
    frame_skip: int = FRAME_SKIP
    least_frame_skip: int | None = None
    start_state: Literal["today", "2018"] = "today"
    world: Literal["atari", "river_crossing", "hard_maze", "gymnasium"] = "atari"
    rules: Literal["", "fixed", "faithful"] = ""
    observation: Literal["", "pixels", "rgb", "greyscale", "objects"] = ""

    @property
    def facts(self) -> dict[str, str]:
        """What a run's records say of it: its name, and what can be chosen of it."""
        return {"protocol": self.name, **{choice: getattr(self, choice) for choice in _CHOICES}}

    @classmethod
    def from_record(cls, record: Mapping[str, object]) -> "Protocol":
        """Reads what `dataclasses.asdict` wrote, also before there were worlds besides Atari.

        Raises:
            ValueError, TypeError: It is something else.
        """
        first = ("name", "sticky_probability", "max_noops", "presses_fire", "max_frames")
        if missing := {*first, "action_set", "preprocessing", "frame_skip"} - set(record):
            raise ValueError(f"a protocol without {', '.join(sorted(missing))}")
        return cls(**record)


# Sources: `uber2018`: Such et al. 2017, arXiv:1712.06567, and its code; `machado2018`: Machado et al. 2018,
# arXiv:1709.06009, as in ale-py's AtariVectorEnv. Both keep four frames, oldest first, after three of zeros. `gym_v4`:
# the `-v4` ids of OpenAI Gym, as in cshenton/neuroevolution. `hard_maze`: Such et al. 2017. The river crossing task is
# Robinson et al. 2007's in the rules of the Deep Neuroevolution Toolbox (`faithful`) and in mended ones (`fixed`).
PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("uber2018", max_noops=30, presses_fire=True),
        Protocol("machado2018", sticky_probability=0.25, max_frames=108_000, action_set="full", preprocessing="area"),
        Protocol("nature2015", max_noops=30, max_frames=108_000, preprocessing="area"),
        Protocol("simple_dqn", max_frames=108_000, preprocessing="area"),
        Protocol("gym_v4", preprocessing="rgb", least_frame_skip=2),
        Protocol(
            "river_fixed",
            max_frames=20_000_000,
            frame_skip=1,
            world="river_crossing",
            rules="fixed",
            observation="pixels",
        ),
        Protocol(
            "river_faithful",
            max_frames=20_000_000,
            frame_skip=1,
            world="river_crossing",
            rules="faithful",
            observation="rgb",
        ),
        Protocol("hard_maze", max_frames=400, frame_skip=1, world="hard_maze"),
        Protocol("gymnasium", max_frames=20_000_000, frame_skip=1, world="gymnasium"),
    )
}
DEFAULT_PROTOCOLS = {
    "atari": "uber2018",
    "river_crossing": "river_fixed",
    "hard_maze": "hard_maze",
    "gymnasium": "gymnasium",
}
_CHOICES = {
    "action_set": ("minimal", "full"),
    "observation": ("pixels", "rgb", "greyscale", "objects"),
    "start_state": ("today", "2018"),
}

# Today's emulator hands a game over some frames later than that of 2018; these RAM cells (index: value), written after
# a reset, bring the old start back. Source: measured for the specification of the published code, section 11.
START_STATES = {
    "frostbite": {0x01: 62, 0x02: 89, 0x16: 0, 0x17: 0, 0x18: 0, 0x19: 14, 0x1A: 13, 0x1B: 12},
}  # fmt: skip

GYMNASIUM_PREFIX = "gym."  # of a game's name, before the id of a Gymnasium environment
RIVER_ACTIONS = tuple(
    name + hands
    for hands in ("", "+HANDS")
    for name in ("STAY", "DOWNLEFT", "DOWN", "DOWNRIGHT", "LEFT", "RIGHT", "UPLEFT", "UP", "UPRIGHT")
)
MAZE_OUTPUTS = ("TURN", "SPEED")  # continuous


@dataclass(frozen=True)
class ObservationShape:
    """What a network sees: the last `stack` planes side by side, oldest first, zeros before the first.

    Attributes:
        height: Rows of a plane; 1 for a vector.
        width: Columns of a plane; 1 for a vector.
        channels: Channels of a plane.
        stack: Planes of an observation.
    """

    height: int
    width: int
    channels: int
    stack: int = 1

    @property
    def plane(self) -> tuple[int, int, int]:
        """(height, width, channels) of what is new in each step."""
        return (self.height, self.width, self.channels)

    @property
    def observation(self) -> tuple[int, int, int]:
        """(height, width, channels * stack)."""
        return (self.height, self.width, self.channels * self.stack)


_RIVER_OBSERVATIONS = {
    "pixels": ObservationShape(84, 84, 1, 4),
    "rgb": ObservationShape(20, 20, 3),
    "greyscale": ObservationShape(20, 20, 1),
    "objects": ObservationShape(20, 20, 6),
}


def get_protocol(
    name: str,
    *,
    action_set: str | None = None,
    observation: str | None = None,
    start_state: str | None = None,
) -> Protocol:
    """Finds a protocol, optionally with another action set, observation or start state.

    Raises:
        NeurozooError: No such protocol or choice; the message proposes the nearest.
    """
    if name not in list(PROTOCOLS):  # a list: the name may be anything, hashable or not
        raise unknown_name("protocol", name, PROTOCOLS)
    wanted = {"action_set": action_set, "observation": observation, "start_state": start_state}
    wanted = {key: value for key, value in wanted.items() if value is not None}
    for key, value in wanted.items():
        if value not in _CHOICES[key]:
            raise unknown_name(key.replace("_", " "), value, _CHOICES[key])
    if "observation" in wanted and PROTOCOLS[name].world != "river_crossing":
        raise NeurozooError(f"The observation of the protocol {name!r} cannot be chosen; leave observation empty.")
    return replace(PROTOCOLS[name], **wanted)


def protocol_of(
    game: str,
    name: str | None = None,
    *,
    action_set: str | None = None,
    observation: str | None = None,
    start_state: str | None = None,
) -> Protocol:
    """Finds the protocol by which a game is played.

    Args:
        game: Game id.
        name: Protocol; None for the game's own, such as `uber2018` for Atari games.
        action_set: `minimal`, `full`, or None for the protocol's own.
        observation: Of the river crossing task; None for the protocol's own.
        start_state: `today`, `2018`, or None for the protocol's own.

    Raises:
        NeurozooError: No such game, protocol or choice, or they do not fit together.
    """
    world = world_of(check_game(game))
    name = DEFAULT_PROTOCOLS[world] if name is None else name
    protocol = get_protocol(name, action_set=action_set, observation=observation, start_state=start_state)
    if protocol.world != world:
        fitting = ", ".join(p.name for p in PROTOCOLS.values() if p.world == world)
        raise NeurozooError(f"{game!r} cannot be played under the protocol {name!r}, but under: {fitting}.")
    if protocol.start_state == "2018" and game not in START_STATES:
        raise NeurozooError(
            f"The start state of 2018 is not known for {game!r}, only for {', '.join(START_STATES)}. "
            "Leave start_state empty."
        )
    return protocol


def world_of(game: str) -> str:
    """Returns what plays a game: `atari`, `river_crossing`, `hard_maze` or `gymnasium`."""
    if game in ("river_crossing", "hard_maze"):
        return game
    return "gymnasium" if game.startswith(GYMNASIUM_PREFIX) else "atari"


@cache
def game_names() -> tuple[str, ...]:
    """Returns all games of the installed ale-py in snake_case, sorted."""
    from ale_py import roms

    return tuple(sorted(roms.get_all_rom_ids()))


def check_game(game: str) -> str:
    """Returns `game` if it is one: a game of ale-py, `river_crossing`, `hard_maze`, or `gym.` and a Gymnasium id.

    Raises:
        NeurozooError: No such game; the message proposes the nearest.
    """
    if isinstance(game, str) and game.startswith(GYMNASIUM_PREFIX):
        _gymnasium_spaces(game)
        return game
    games = (*game_names(), "hard_maze", "river_crossing")
    if game not in games:
        raise unknown_name("game", game, games)
    return game


@cache
def _gymnasium_spaces(game: str) -> tuple[int, tuple[str, ...]]:
    """Returns (length of an observation, names of the outputs) of a Gymnasium environment with vectors to see."""
    import gymnasium

    try:
        environment = gymnasium.make(game.removeprefix(GYMNASIUM_PREFIX))
    except (gymnasium.error.Error, ImportError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise NeurozooError(f"{game!r} is no environment that Gymnasium can make here ({reason}).") from error
    sees, acts = environment.observation_space, environment.action_space
    environment.close()
    if not isinstance(sees, gymnasium.spaces.Box) or len(sees.shape) != 1:
        raise NeurozooError(f"{game!r} should be seen as a vector of numbers, but gives {sees}.")
    if isinstance(acts, gymnasium.spaces.Discrete) and acts.start == 0:
        return sees.shape[0], tuple(f"ACTION_{i}" for i in range(acts.n))
    if isinstance(acts, gymnasium.spaces.Box) and len(acts.shape) == 1:
        return sees.shape[0], tuple(f"OUTPUT_{i}" for i in range(acts.shape[0]))
    raise NeurozooError(f"{game!r} should take one of n actions or a vector of numbers, but takes {acts}.")


def output_names(game: str, protocol: Protocol) -> tuple[str, ...]:
    """Returns what a network's outputs stand for, in order: actions such as ('NOOP', 'FIRE'), or continuous controls.

    Raises:
        NeurozooError: No such game.
    """
    if protocol.world == "atari":
        return action_names(game, protocol.action_set)
    if protocol.world == "gymnasium":
        return _gymnasium_spaces(game)[1]
    return {"river_crossing": RIVER_ACTIONS, "hard_maze": MAZE_OUTPUTS}[protocol.world]


def has_continuous_outputs(protocol: Protocol, names: tuple[str, ...]) -> bool:
    """Says whether a world obeys the outputs as they are; `names` are those of `output_names`."""
    return protocol.world == "hard_maze" or (protocol.world == "gymnasium" and names[0].startswith("OUTPUT_"))


def observation_shape(game: str, protocol: Protocol) -> ObservationShape:
    """Returns the shape of what a network sees in a game."""
    if protocol.world == "river_crossing":
        return _RIVER_OBSERVATIONS[protocol.observation]
    if protocol.world == "hard_maze":
        return ObservationShape(1, 1, 11)
    if protocol.world == "gymnasium":
        return ObservationShape(1, 1, _gymnasium_spaces(game)[0])
    if protocol.preprocessing == "rgb":
        return ObservationShape(*_screen_size(game), 3)
    return ObservationShape(84, 84, 1, 4)


def brightest(protocol: Protocol) -> float:
    """Returns what white is in a picture that a network sees; black is 0."""
    return 255.0 if protocol.preprocessing == "rgb" else 1.0


def layout_of(game: str, model: str, protocol: Protocol) -> Layout:
    """Returns a network's layout for what a game shows and takes.

    Raises:
        NeurozooError: No such game or network, or the network wants a picture and the game shows a vector.
    """
    network, shape = get_network(model), observation_shape(game, protocol)
    if (shape.height, shape.width) == (1, 1) and any(layer.kind != "dense" for layer in network.layers):
        raise NeurozooError(
            f"{game!r} is seen as a vector, so that it needs a network of dense layers such as 'simple', but "
            f"{network.name!r} came."
        )
    return network.layout(len(output_names(game, protocol)), shape.observation)


BEHAVIOURS = {
    "atari": ("ram",),
    "river_crossing": ("final_position",),
    "hard_maze": ("final_position",),
    "gymnasium": (),
}


POSITION_SIZES = {"river_crossing": 3, "hard_maze": 2}  # coordinates of a final position
RAM_BYTES = 128  # of the Atari console


def check_behaviour(game: str, behaviour: str) -> str:
    """Returns `behaviour` if an episode of the game can be described by it, or if it is `none`.

    Raises:
        NeurozooError: The game gives no such behaviour.
    """
    given = ("none", *BEHAVIOURS[world_of(check_game(game))])
    if behaviour not in given:
        raise NeurozooError(f"{game!r} does not give the behaviour {behaviour!r}, but: {', '.join(given)}.")
    return behaviour


def check_engine(game: str, protocol: Protocol, engine: str) -> str:
    """Returns `engine` if it can play the game.

    Raises:
        NeurozooError: It cannot.
    """
    if engine == "batched" and protocol.world == "gymnasium":
        raise NeurozooError(f"The batched engine does not play Gymnasium's {game!r}. Set engine to native.")
    return engine


def rom_path(game: str) -> Path:
    """Returns the game's ROM, which comes with ale-py.

    Raises:
        NeurozooError: No such game, or its ROM file is gone.
    """
    from ale_py import roms

    if game not in game_names():
        raise unknown_name("game", game, game_names())
    path = roms.get_rom_path(game)
    if path is None or not Path(path).exists():
        raise NeurozooError(
            f"The ROM of {game!r} should come with ale-py, but is missing. Reinstall: pip install ale-py"
        )
    return Path(path)


def action_names(game: str, action_set: str) -> tuple[str, ...]:
    """Returns the names of a game's actions in the order of the network's outputs, such as ('NOOP', 'FIRE').

    Raises:
        NeurozooError: No such game.
    """
    return tuple(action.name for action in _actions(game)[action_set])


def action_codes(game: str, action_set: str) -> tuple[int, ...]:
    """Returns ALE's codes of a game's actions in the order of the network's outputs."""
    return tuple(int(action.value) for action in _actions(game)[action_set])


def start_actions(game: str, protocol: Protocol) -> tuple[int, ...]:
    """Returns the actions (ALE's codes) of the steps by which an episode starts after its no-ops.

    How a game is started does not depend on the actions that an agent may choose from.

    Source: published code: where the minimal set's second action is FIRE, the second and the third, once each.
    """
    if protocol.presses_fire and action_names(game, "minimal")[1] == "FIRE":
        return action_codes(game, "minimal")[1:3]
    return ()


@cache
def _actions(game: str) -> dict[str, list]:
    emulator = _emulator(game)
    return {"minimal": emulator.getMinimalActionSet(), "full": emulator.getLegalActionSet()}


@cache
def _screen_size(game: str) -> tuple[int, int]:
    return tuple(_emulator(game).getScreenDims())


def _emulator(game: str):
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.loadROM(rom_path(game))
    return emulator


@cache
def reference_scores() -> dict[str, tuple[float, float]]:
    """Returns (random, human) scores per game, the anchors of human-normalised scores.

    Source: dqn_zoo/atari_data.py of google-deepmind/dqn_zoo at commit 45061f4 (57 games).
    """
    text = resources.files("neurozoo").joinpath("data/atari_human_random.csv").read_text()
    return {row["game"]: (float(row["random"]), float(row["human"])) for row in csv.DictReader(text.splitlines())}
