"""`python -m neurozoo simple_dqn`: translates and runs commands of tambetm/simple_dqn, whose users can keep them.

For an option that does not exist here, the error says what to use instead. An option is accepted if its value is what
happens here anyway.

Source: tambetm/simple_dqn, commit e566952.
"""

import argparse
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from neurozoo.cli import arguments as args
from neurozoo.cli.simple_dqn_options import ALGORITHM, FIXED, NETWORK, PLOT, PRESET, SETTINGS, boolean, settings_of
from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import FRAME_SKIP
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.records.run_config import config_of_run, read_run_settings

EPSILON, TEST_STEPS, GYM_EPISODES = 0.05, 125_000, 100  # defaults of the original's tests
NO_SERVICE = (
    "The service that upload_gym sent results to no longer exists; python -m neurozoo site --bundle packs them."
)
Kinds = Mapping[str, Callable[[str], object]]  # what reads an option's text, by the option's name
OF_MAIN: Kinds = {"csv_file": str} | {name: entry[0] for known in (SETTINGS, FIXED) for name, entry in known.items()}
CHANCES = ("exploration_rate_test", "random_seed", "repeat_action_probability")  # options of all commands that play
RECORDED_STEPS = 27_000  # half an hour of play; the original records to the end of the game
# The steps of each of the three scripts, and settings that differ from the preset. Here each measures all three parts.
PROFILES = {
    "profile_train": ("5000", "train_frequency=1", "target_update_period=0"),
    "profile_test": ("10000",),
    "profile_random": ("10000",),
}


def add_commands(commands: args.Commands) -> None:
    """Adds `simple_dqn`."""
    command = args.add_command(commands, "simple_dqn", _simple_dqn, "run a command line of tambetm/simple_dqn")
    command.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="such as: train pong --epochs 5")


def _simple_dqn(options):
    args.run_translated(options, lambda words: (translate(words), ()))


def translate(arguments: Sequence[str]) -> list[list[str]]:
    """Translates a command line of simple_dqn into ours, to be run one after the other.

    Raises:
        NeurozooError: A command, option or game is unknown, a value has the wrong type, or something does not exist
            here; the message says what to use instead.
    """
    command, *rest = arguments or [""]
    if command not in COMMANDS:
        raise unknown_name("command", command, COMMANDS, owner="simple_dqn")
    return COMMANDS[command](rest)


def _parsed(
    command: str, arguments: Sequence[str], *positional: str, known: Kinds = OF_MAIN
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the positional arguments and the given options, both by name."""
    parser = args.OriginalParser(
        prog=f"python -m neurozoo simple_dqn {command}",
        description="See docs/simple_dqn.md for all options.",
        allow_abbrev=False,
    )
    for name in positional:
        parser.add_argument(name.strip("[]"), nargs="?" if name.startswith("[") else None)
    for name, kind in known.items():
        may_be_alone: dict[str, Any] = {"nargs": "?", "const": True} if name == "stochastic_round" else {}
        parser.add_argument(f"--{name}", type=kind, default=argparse.SUPPRESS, **may_be_alone)
    found, unknown = parser.parse_known_args(list(arguments))
    if options := [word for word in unknown if word.startswith("--")]:
        raise unknown_name("option", options[0].split("=")[0], [f"--{name}" for name in known])
    if unknown:
        raise NeurozooError(
            f"simple_dqn {command} takes {' '.join(positional)} and options, but {unknown[0]!r} was given, too."
        )
    given = vars(found)
    return {name: given.pop(name) for name in [name.strip("[]") for name in positional]}, given


def _refuse_fixed(given: Mapping[str, Any], *allowed: str) -> None:
    for name, value in given.items():
        if name in FIXED and name not in allowed and value != FIXED[name][1]:
            raise NeurozooError(f"--{name} {value} is not known here. {FIXED[name][2]}")


def _refuse_settings(given: Mapping[str, Any], *allowed: str) -> None:
    for name in given:
        if name in SETTINGS and name not in allowed:
            raise NeurozooError(f"A snapshot has its own settings: leave out --{name}.")


# ---- training


def _train(arguments: Sequence[str]) -> list[list[str]]:
    words, given = _parsed("train", arguments, "rom", "[label]")
    _refuse_fixed(given)
    game, label = _game(words["rom"]), words["label"]
    place = ["--run", "1"]
    if label is not None:
        place = ["--run", label] if label.isdigit() else ["--run-dir", f"results/simple_dqn/{game}_{label}"]
    settings = settings_of(given)
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in settings.items()}
    chosen = [word for name, text in texts.items() for word in ("--set", f"{name}={text}")]
    run = ["--algo", ALGORITHM, "--game", game, "--model", NETWORK, *place]
    run_dir = place[1] if place[0] == "--run-dir" else f"results/runs/{ALGORITHM}/{game}/{NETWORK}/{place[1]}"
    return [["train", *run, "--preset", PRESET, *chosen], *_csv(run_dir, given)]


def _csv(run_dir: str, given: Mapping[str, Any]) -> list[list[str]]:
    return [["phases", run_dir, "--output", given["csv_file"]]] if "csv_file" in given else []


def _game(rom: str) -> str:
    """Returns the game of a ROM file, whose name may have underscores."""
    name = Path(rom).name
    if re.search(r"-v\d+$", name):
        raise NeurozooError(f"{name} is an environment of Gym. {FIXED['environment'][2]} Name the game, such as pong.")
    return check_game(name.removesuffix(".bin"))


def _resume(arguments: Sequence[str]) -> list[list[str]]:
    words, given = _parsed("resume", arguments, "snapshot")
    _refuse_fixed(given)
    _refuse_settings(given, "epochs")
    run_dir, at = _snapshot(words["snapshot"])
    if at:
        raise NeurozooError(f"A run continues from where it was stopped, not from {at[-1]}: resume {run_dir}")
    budget = []
    if "epochs" in given:
        settings = read_run_settings(config_of_run(run_dir))
        if "epoch_steps" not in settings:
            raise NeurozooError(f"{run_dir} is a run of {settings['algo']}, which has no epochs; leave out --epochs.")
        budget = ["--frames", str(given["epochs"] * settings["epoch_steps"] * FRAME_SKIP)]
    return [["resume", run_dir, *budget], *_csv(run_dir, given)]


def _snapshot(text: str) -> tuple[str, list[str]]:
    """Returns the folder of a run, and the words that choose a snapshot in it."""
    path = Path(text)
    if path.suffix in (".pkl", ".prm"):
        raise NeurozooError(f"{text} is a snapshot of Neon, which cannot be read here: train the agent again.")
    if path.parent.name == "snapshots" and path.suffix == ".npz":
        return str(path.parent.parent), ["--snapshot", path.stem]
    in_run = path.name in ("checkpoint.npz", "genome.json", "config.yaml", "log.jsonl", "frozen")
    return str(path.parent if in_run else path), []


# ---- looking at the result


def _test(arguments: Sequence[str]) -> list[list[str]]:
    words, given = _parsed("test", arguments, "snapshot")
    return [_tested(words["snapshot"], given, ["--steps", str(given.get("test_steps", TEST_STEPS))])]


def _test_gym(arguments: Sequence[str]) -> list[list[str]]:
    known: Kinds = {**OF_MAIN, "num_episodes": int, "display": boolean}
    words, given = _parsed("test_gym", arguments, "snapshot", known=known)
    if given.get("display"):
        raise NeurozooError(f"--display is not known here. {FIXED['display_screen'][2]}")
    episodes = ["--episodes", str(given.get("num_episodes", GYM_EPISODES)), "--protocol", "machado2018"]
    return [_tested(words["snapshot"], given, episodes)]


def _tested(snapshot: str, given: Mapping[str, Any], extent: list[str]) -> list[str]:
    _refuse_fixed(given)
    if "csv_file" in given:
        raise NeurozooError("--csv_file is for training; a test writes test.json into the run's folder.")
    _refuse_settings(given, "test_steps", *CHANCES)
    run_dir, at = _snapshot(snapshot)
    return ["test", run_dir, *at, *extent, *_chances(given, "--epsilon")]


def _plot(arguments: Sequence[str]) -> list[list[str]]:
    words, given = _parsed("plot", arguments, "csv", known={name: kind for name, (kind, _) in PLOT.items()})
    for name in ("dpi", "skiprows", "delimiter"):
        if given.get(name, PLOT[name][1]) != PLOT[name][1]:
            raise NeurozooError(f"--{name} cannot be chosen; for more pixels give --png_file a name that ends in .svg.")
    chosen = {
        name.removeprefix("figure_"): str(given.get(name, PLOT[name][1]))
        for name in ("fields", "figure_width", "figure_height")
    }
    output = ["--output", given["png_file"]] if "png_file" in given else []
    return [["panels", words["csv"], *(word for name, text in chosen.items() for word in (f"--{name}", text)), *output]]


def _nvis(arguments: Sequence[str]) -> list[list[str]]:
    words, given = _parsed("nvis", arguments, "snapshot")
    _refuse_fixed(given, "visualization_filters", "visualization_file")
    _refuse_settings(given)
    folder, before = _frozen(words["snapshot"])
    chosen = ["--filters", str(given.get("visualization_filters", 4))]
    chosen += ["--output", given["visualization_file"]] if "visualization_file" in given else []
    return [*before, ["filters", "guided-page", folder, "--play", *chosen]]


def _frozen(snapshot: str) -> tuple[str, list[list[str]]]:
    """Returns the folder of a snapshot's `frozen/`, and the commands that make it if it is missing."""
    run_dir, at = _snapshot(snapshot)
    folder = str(Path(run_dir, "snapshots", at[1])) if at else run_dir
    is_frozen = Path(folder, "frozen", "model.json").exists()
    return folder, [] if is_frozen else [["freeze", run_dir, *at]]


# ---- watching games


def _play(arguments: Sequence[str]) -> list[list[str]]:
    folder, before, given = _shown("play", arguments, "display_screen", "play_games")
    games = ["--games", str(given.get("play_games", 1))]
    return [*before, ["play", folder, *games, *_chances(given, "--epsilon")]]


def _record(arguments: Sequence[str]) -> list[list[str]]:
    folder, before, given = _shown("record", arguments, "display_screen", "play_games")
    rollout, movie = str(Path(folder, "rollouts", "recorded.npz")), str(Path(folder, "recorded.mp4"))
    episodes = ["--episodes", str(given.get("play_games", 1)), "--max-steps", str(RECORDED_STEPS)]
    return [
        *before,
        ["rollout", folder, "--output", rollout, *episodes, *_chances(given, "--action-noise")],
        ["movie", folder, "--game", "--rollout", rollout, "--output", movie, "--no-overlay"],
    ]


def _shown(command: str, arguments: Sequence[str], *allowed: str) -> tuple[str, list[list[str]], dict]:
    words, given = _parsed(command, arguments, "snapshot")
    _refuse_fixed(given, *allowed)
    _refuse_settings(given, *CHANCES)
    return *_frozen(words["snapshot"]), given


def _chances(given: Mapping[str, Any], epsilon: str) -> list[str]:
    chosen = [epsilon, str(given.get("exploration_rate_test", EPSILON))]
    for name, ours in (("random_seed", "--seed"), ("repeat_action_probability", "--sticky-probability")):
        chosen += [ours, str(given[name])] if name in given else []
    return chosen


def _profile(command: str, arguments: Sequence[str]) -> list[list[str]]:
    if arguments:
        raise NeurozooError(
            f"simple_dqn {command} takes no options, but {arguments[0]!r} came; python -m neurozoo profile takes some."
        )
    steps, *settings = PROFILES[command]
    chosen = [word for text in settings for word in ("--set", text)]
    return [["profile", "--algo", ALGORITHM, "--model", NETWORK, "--preset", PRESET, "--steps", steps, *chosen]]


def _upload_gym(arguments: Sequence[str]) -> NoReturn:
    raise NeurozooError(NO_SERVICE)


COMMANDS: dict[str, Callable[[Sequence[str]], list[list[str]]]] = {
    "train": _train,
    "resume": _resume,
    "test": _test,
    "test_gym": _test_gym,
    "upload_gym": _upload_gym,
    "plot": _plot,
    "nvis": _nvis,
    "play": _play,
    "record": _record,
    **{command: partial(_profile, command) for command in PROFILES},
}
