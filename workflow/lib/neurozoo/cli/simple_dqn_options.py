"""The options of tambetm/simple_dqn: those that are settings here, and what to use instead of the others."""

from collections.abc import Callable, Mapping
from typing import Any

from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.protocols import FRAME_SKIP
from neurozoo.errors import NeurozooError, unknown_name

ALGORITHM, NETWORK, PRESET = "dqn", "simple_dqn", "simple_dqn"
HISTORY = 4  # screens of a state
EPOCHS = 200
NEON_EPSILONS = {"rmsprop": 1e-6, "adam": 1e-8, "adadelta": 1e-6}  # the optimizers' smallest denominators in Neon


def boolean(text: str) -> bool:
    """Reads a truth value as the original does: yes, true, t and 1 are true, everything else is false."""
    return text.lower() in ("yes", "true", "t", "1")


# Options of training: (type, our setting). None if it takes more than another name.
SETTINGS: dict[str, tuple[Callable[[str], object], str | None]] = {
    "repeat_action_probability": (float, None),
    "minimal_action_set": (boolean, None),
    "replay_size": (int, "replay_size"),
    "learning_rate": (float, "learning_rate"),
    "discount_rate": (float, "discount"),
    "batch_size": (int, "batch_size"),
    "optimizer": (str, None),
    "decay_rate": (float, "decay_rate"),
    "clip_error": (float, "huber_delta"),
    "min_reward": (float, None),
    "max_reward": (float, None),
    "exploration_rate_start": (float, "epsilon_start"),
    "exploration_rate_end": (float, "epsilon_end"),
    "exploration_decay_steps": (float, None),
    "exploration_rate_test": (float, "test_epsilon"),
    "train_frequency": (int, "train_frequency"),
    "train_repeat": (int, "train_repeat"),
    "target_steps": (int, "target_update_period"),
    "random_starts": (int, None),
    "random_steps": (int, "learning_starts"),
    "train_steps": (int, "epoch_steps"),
    "test_steps": (int, "test_steps"),
    "epochs": (int, None),
    "random_seed": (int, "seed"),
}

# Options of `plot`: (type, default).
PLOT: dict[str, tuple[Callable[[str], object], object]] = {
    "png_file": (str, None),
    "dpi": (int, 80),
    "skiprows": (int, 1),
    "delimiter": (str, ","),
    "fields": (str, "average_reward,meanq,nr_games,meancost"),
    "figure_width": (float, 16.0),
    "figure_height": (float, 9.0),
}

# Options that have only one value here: (type, this value, what to use instead). None means that no value is possible.
FIXED: dict[str, tuple[Callable[[str], object], object, str]] = {
    "environment": (str, "ale", "ale-py plays all games; Gym's actions stick as with --repeat_action_probability .25."),
    "display_screen": (boolean, False, "Training and tests have no window; look at the agent with the command play."),
    "frame_skip": (int, FRAME_SKIP, "Every protocol repeats an action for 4 frames."),
    "color_averaging": (boolean, True, "Screens are always the brighter of the last two frames."),
    "screen_width": (int, 84, "The networks see 84 x 84 pixels."),
    "screen_height": (int, 84, "The networks see 84 x 84 pixels."),
    "record_screen_path": (str, None, "The command record makes a video without pictures in between."),
    "record_sound_filename": (str, None, "The video that the command record makes has the sound in it."),
    "history_length": (int, HISTORY, "The networks see the last 4 screens."),
    "batch_norm": (boolean, False, "No network for deep Q-learning has batch normalisation (docs/networks.md)."),
    "backend": (str, "gpu", "A GPU is used if TensorFlow sees one; CUDA_VISIBLE_DEVICES=-1 hides it."),
    "device_id": (int, 0, "CUDA_VISIBLE_DEVICES=N chooses a GPU."),
    "datatype": (str, "float32", "Everything is computed in float32."),
    "stochastic_round": (int, False, "Numbers are rounded as usual."),
    "start_epoch": (int, 0, "The command resume knows the last epoch of a run."),
    "play_games": (int, 0, "Use the command play."),
    "load_weights": (str, None, "Use the command resume, test, play or record with the run's folder."),
    "save_weights_prefix": (str, None, "A run has one folder, which contains snapshots/; a label chooses the folder."),
    "log_level": (str, "INFO", "There is one level, and train.log keeps all of it."),
    "visualization_filters": (int, 4, "Use the command nvis."),
    "visualization_file": (str, None, "Use the command nvis."),
}  # fmt: skip


def settings_of(given: Mapping[str, Any]) -> dict[str, object]:
    """Turns options of training into changes of the preset `simple_dqn`, with `snapshot_frames`."""
    settings: dict[str, object] = {
        ours: value for name, value in given.items() if name in SETTINGS and (ours := SETTINGS[name][1])
    }
    if "repeat_action_probability" in given:
        settings |= _protocol_of(given["repeat_action_probability"])
    if "minimal_action_set" in given:
        settings["action_set"] = "minimal" if given["minimal_action_set"] else "full"
    if (optimizer := given.get("optimizer")) is not None:
        if optimizer not in NEON_EPSILONS:
            raise unknown_name("optimizer", optimizer, NEON_EPSILONS)
        settings |= {"optimizer": optimizer, "optimizer_epsilon": NEON_EPSILONS[optimizer]}
    if {"min_reward", "max_reward"} & set(given):
        settings["reward_bounds"] = [given.get("min_reward", -1.0), given.get("max_reward", 1.0)]
    if "exploration_decay_steps" in given:
        steps = given["exploration_decay_steps"]
        if not steps.is_integer():
            raise NeurozooError(f"--exploration_decay_steps should be a whole number of steps, but is {steps}.")
        settings["epsilon_steps"] = int(steps)
    if "random_starts" in given:
        if given["random_starts"] < HISTORY:
            raise NeurozooError(f"--random_starts should be at least {HISTORY}, but is {given['random_starts']}.")
        settings["noop_steps"] = [HISTORY + 1, given["random_starts"] + 1]
    for name in ("train_steps", "test_steps", "epochs"):
        if given.get(name) == 0:
            raise NeurozooError(f"--{name} should be at least 1 in training. Without training use the command test.")
    preset = resolve_settings(ALGORITHM, preset=PRESET)
    epoch = given.get("train_steps", preset.epoch_steps) * FRAME_SKIP
    if {"train_steps", "epochs"} & set(given):
        settings["frames"] = given.get("epochs", EPOCHS) * epoch
    settings["snapshot_frames"] = epoch  # one for each epoch
    resolve_settings(ALGORITHM, preset=PRESET, overrides=settings)  # refuses what is out of range
    return settings


def _protocol_of(sticky: float) -> dict[str, object]:
    if sticky == 0:
        return {"protocol": "simple_dqn"}
    if sticky == 0.25:
        return {"protocol": "machado2018", "action_set": "minimal"}
    raise NeurozooError(
        f"--repeat_action_probability should be 0 or 0.25 in training, as in our protocols, but is {sticky}."
    )
