from pathlib import Path

import yaml
from neurozoo.environments.game_lists import expand_games
from neurozoo.environments.games import game_names

PROJECT = Path(__file__).parents[3]


def test_lists_stand_for_their_games_each_of_them_once():
    assert expand_games(["qbert", "atari5", "gym.CartPole-v1"]) == [
        "qbert",
        "battle_zone",
        "double_dunk",
        "name_this_game",
        "phoenix",
        "gym.CartPole-v1",
    ]


def test_lists_contain_games_of_the_emulator_and_as_many_as_their_names_say():
    for name, count in (("all", len(game_names())), ("atari57", 57), ("atari5", 5), ("published13", 13)):
        games = expand_games([name])
        assert len(games) == len(set(games)) == count
        assert set(games) <= set(game_names())


def test_the_published_list_is_that_of_its_experiment():
    experiments = yaml.safe_load((PROJECT / "config/published_ga.yaml").read_text())["experiments"]
    assert experiments["published_ga"]["games"] == expand_games(["published13"])
