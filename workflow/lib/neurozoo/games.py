"""Games, and the protocols by which an episode is played and scored."""

import csv
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

from neurozoo.errors import NeurozooError, unknown_name

FRAME_SKIP = 4  # emulator frames per step


@dataclass(frozen=True)
class Protocol:
    """How an episode is played: it travels with every run, table and figure.

    Attributes:
        name: Name of the published protocol.
        sticky_probability: Chance per frame that the emulator repeats the previous action.
        max_noops: Episodes start with 1 to `max_noops` single-frame no-ops (drawn uniformly); 0 for none.
        presses_fire: Starts by one step of the second and one of the third action, where the second is FIRE.
        max_frames: Longest episode, in frames after the start.
        action_set: `minimal` (those with a meaning in the game) or `full` (all 18).
        preprocessing: `published_bilinear`: grey as float, maximum of the last two frames, bilinear resize with
            aligned corners. `area`: grey rounded to a byte, maximum, area resize rounded to a byte, divided by 255.
        frame_skip: Frames per step.
    """

    name: str
    sticky_probability: float
    max_noops: int
    presses_fire: bool
    max_frames: int
    action_set: Literal["minimal", "full"]
    preprocessing: Literal["published_bilinear", "area"]
    frame_skip: int = FRAME_SKIP


# Sources: `uber2018`: Such et al. 2017, arXiv:1712.06567, and its code; `machado2018`: Machado et al. 2018,
# arXiv:1709.06009, as in ale-py's AtariVectorEnv. Both keep four frames, oldest first, after three of zeros.
PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("uber2018", 0.0, 30, True, 400_000, "minimal", "published_bilinear"),
        Protocol("machado2018", 0.25, 0, False, 108_000, "full", "area"),
    )
}


def get_protocol(name: str, *, action_set: str | None = None) -> Protocol:
    """Finds a protocol, optionally with another action set.

    Raises:
        NeurozooError: No such protocol or action set; the message proposes the nearest.
    """
    if name not in list(PROTOCOLS):  # a list: the name may be anything, hashable or not
        raise unknown_name("protocol", name, PROTOCOLS)
    if action_set is None:
        return PROTOCOLS[name]
    if action_set not in ("minimal", "full"):
        raise unknown_name("action set", action_set, ("minimal", "full"))
    return replace(PROTOCOLS[name], action_set=action_set)


@cache
def game_names() -> tuple[str, ...]:
    """Returns all games of the installed ale-py in snake_case, sorted."""
    from ale_py import roms

    return tuple(sorted(roms.get_all_rom_ids()))


def check_game(game: str) -> str:
    """Returns `game` if it is one.

    Raises:
        NeurozooError: No such game; the message proposes the nearest.
    """
    if game not in game_names():
        raise unknown_name("game", game, game_names())
    return game


def rom_path(game: str) -> Path:
    """Returns the game's ROM, which comes with ale-py.

    Raises:
        NeurozooError: No such game, or its ROM file is gone.
    """
    from ale_py import roms

    path = roms.get_rom_path(check_game(game))
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
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    emulator = ale_py.ALEInterface()
    emulator.loadROM(rom_path(game))
    return {"minimal": emulator.getMinimalActionSet(), "full": emulator.getLegalActionSet()}


@cache
def reference_scores() -> dict[str, tuple[float, float]]:
    """Returns (random, human) scores per game, the anchors of human-normalised scores.

    Source: dqn_zoo/atari_data.py of google-deepmind/dqn_zoo at commit 45061f4 (57 games).
    """
    text = resources.files("neurozoo").joinpath("data/atari_human_random.csv").read_text()
    return {row["game"]: (float(row["random"]), float(row["human"])) for row in csv.DictReader(text.splitlines())}
