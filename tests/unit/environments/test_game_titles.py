import pytest
from neurozoo.environments.game_titles import game_title


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
