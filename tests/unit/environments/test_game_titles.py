import pytest
from neurozoo.environments.game_titles import game_title
from neurozoo.environments.games import check_game
from neurozoo.errors import NeurozooError


@pytest.mark.parametrize(
    ("game", "title"),
    [
        ("ms_pacman", "Ms. Pac-Man"),
        ("space_invaders", "Space Invaders"),
        ("gym.CartPole-v1", "CartPole-v1"),
        ("river_crossing", "River crossing"),
    ],
)
def test_games_are_named_as_people_write_them(game, title):
    assert game_title(game) == title


@pytest.mark.parametrize(
    ("game", "own"),
    [("FrostbiteNoFrameskip-v4", "frostbite"), ("ALE/MsPacman-v5", "ms_pacman"), ("PongDeterministic-v0", "pong")],
)
def test_a_gymnasium_id_of_an_atari_game_is_translated(game, own):
    with pytest.raises(NeurozooError, match=f"this is Gymnasium's id of it. Write '{own}'"):
        check_game(game)


def test_a_list_of_games_is_not_taken_for_a_similar_name():
    with pytest.raises(NeurozooError, match="'all' is a list of games, for the games of an experiment"):
        check_game("all")
