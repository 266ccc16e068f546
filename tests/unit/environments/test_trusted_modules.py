"""A module is imported only if the user names it. A name in a file does not import it."""

import json
import os
import subprocess
import sys

import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.games import check_game
from neurozoo.environments.gymnasium_games import TRUSTED_MODULES, trust_module_of
from neurozoo.environments.gymnasium_world import GymnasiumWorld
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.plan.configuration import check_config

MODULE = """
from pathlib import Path
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv
Path(__file__).with_name("imported").touch()
gymnasium.register("Evil-v0", entry_point=CartPoleEnv, max_episode_steps=20)
"""
COUNTER = iter(range(1000))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that can be imported, and that leaves a trace when it is."""
    name = f"environments_of_a_stranger_{next(COUNTER)}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv(TRUSTED_MODULES, "")
    return name


def was_imported(tmp_path) -> bool:
    """Says whether the module has run."""
    return (tmp_path / "imported").exists()


def test_a_game_from_a_file_imports_nothing(module, tmp_path):
    game = f"gym.{module}:Evil-v0"
    for read in (check_game, protocol_of, lambda name: GymnasiumWorld(name, protocol_of("gym.CartPole-v1"))):
        with pytest.raises(NeurozooError, match=f"'{module}' is not imported.*export {TRUSTED_MODULES}={module}"):
            read(game)
    assert not was_imported(tmp_path)


def test_a_frozen_model_imports_nothing(module, tmp_path, own_copy):
    record = json.loads((own_copy / "model.json").read_text())
    record["game"] = f"gym.{module}:Evil-v0"
    (own_copy / "model.json").write_text(json.dumps(record))
    with pytest.raises(NeurozooError, match=r"^A file names the environment") as caught:
        open_frozen(own_copy)
    assert "damaged" not in str(caught.value)  # freezing it again would not help
    assert not was_imported(tmp_path)


def test_a_game_that_the_user_names_is_played(module, tmp_path):
    game = f"gym.{module}:Evil-v0"
    trust_module_of(game)
    assert check_game(game) == game
    assert was_imported(tmp_path)
    # Jobs are children of the process that has read the configuration.
    assert os.environ[TRUSTED_MODULES] == module


def test_the_configuration_names_modules(module, tmp_path):
    game = f"gym.{module}:Evil-v0"
    check_config({"experiments": {"mine": {"algo": "ga", "games": [game], "models": ["simple"], "runs": 1}}})
    assert check_game(game) == game
    assert was_imported(tmp_path)


def test_the_command_line_names_modules(module):
    from neurozoo.__main__ import build_parser

    game = f"gym.{module}:Evil-v0"
    build_parser().parse_args(["train", "--algo", "ga", "--game", game, "--model", "simple"])
    assert os.environ[TRUSTED_MODULES] == module


def test_the_command_line_finds_no_modules_in_the_working_directory(tmp_path):
    (tmp_path / "yaml.py").write_text("raise SystemExit('a module of a stranger')")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    command = [sys.executable, "-m", "neurozoo", "status", "--directory", "nowhere"]
    answer = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "a module of a stranger" not in answer.stderr
    assert "neurozoo: " in answer.stderr
