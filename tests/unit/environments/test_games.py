import pytest
from neurozoo.environments.game_titles import game_title
from neurozoo.environments.games import (
    action_codes,
    action_names,
    check_behaviour,
    check_game,
    expand_games,
    game_names,
    ram_variables,
    reference_scores,
    rom_path,
)
from neurozoo.errors import NeurozooError

# Section 4.1 of the specification.
ACTION_COUNTS = {
    3: "freeway skiing",
    4: "atlantis breakout",
    6: "air_raid bowling carnival demon_attack name_this_game pong pooyan qbert space_invaders up_n_down",
    7: "assault",
    8: "gopher phoenix tutankham",
    9: "asterix beam_rider crazy_climber enduro ms_pacman video_pinball",
    10: "amidar time_pilot wizard_of_wor",
    14: "asteroids kung_fu_master",
    16: "journey_escape",
}
ALE_NAMES = (
    "NOOP FIRE UP RIGHT LEFT DOWN UPRIGHT UPLEFT DOWNRIGHT DOWNLEFT UPFIRE RIGHTFIRE LEFTFIRE DOWNFIRE UPRIGHTFIRE "
    "UPLEFTFIRE DOWNRIGHTFIRE DOWNLEFTFIRE"
)


def test_all_published_games_are_there(published_games):
    assert len(published_games) == 60
    assert set(published_games) <= set(game_names())
    assert list(game_names()) == sorted(game_names())


@pytest.mark.long(seconds=8)
def test_known_variables_are_bytes_of_the_console_in_games_that_exist():
    games = [game for game in game_names() if ram_variables(game)]
    assert games == ["breakout", "freeway", "frostbite", "ms_pacman", "pong", "seaquest", "space_invaders"]
    for known in map(ram_variables, games):
        assert len(set(known.values())) == len(known)
        assert all(0 <= byte < 128 for byte in known.values())
    assert (ram_variables("pong")["ball_x"], ram_variables("pong")["ball_y"]) == (49, 54)  # compared with screens


def test_every_game_has_actions():
    """Loading a game that the emulator does not play would end the process."""
    assert all(3 <= len(action_codes(game, "minimal")) <= 18 for game in game_names())


@pytest.mark.parametrize("most", [1, pytest.param(60, marks=pytest.mark.long(seconds=4))])
def test_games_have_the_published_numbers_of_minimal_actions(published_games, most):
    expected = {game: count for count, games in ACTION_COUNTS.items() for game in games.split()[:most]}
    expected |= dict.fromkeys(
        [game for game in published_games if game not in " ".join(ACTION_COUNTS.values())][:most], 18
    )
    assert len(expected) in (10, 60)
    assert {game: len(action_codes(game, "minimal")) for game in expected} == expected


def test_the_full_action_set_has_all_18_in_the_order_of_their_codes():
    for game in ("pong", "breakout"):
        assert action_codes(game, "full") == tuple(range(18))
        assert action_names(game, "full") == tuple(ALE_NAMES.split())


def test_names_and_codes_of_minimal_actions_belong_together():
    assert action_names("breakout", "minimal") == ("NOOP", "FIRE", "RIGHT", "LEFT")
    assert action_codes("breakout", "minimal") == (0, 1, 3, 4)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: check_game("pnog"), "game 'pnog' is unknown; did you mean 'pong'"),
        (lambda: check_game("all"), "'all' is a list of games, for the games of an experiment"),
        (lambda: check_game("FrostbiteNoFrameskip-v4"), "this is Gymnasium's id of it. Write 'frostbite'"),
        (lambda: check_game("ALE/MsPacman-v5"), "this is Gymnasium's id of it. Write 'ms_pacman'"),
        (lambda: check_game("combat"), "'combat' is for several players, but the emulator plays with one"),
        (lambda: check_game("Pong"), "game 'Pong' is unknown; did you mean 'pong'"),
        (lambda: check_game(["pong"]), "is unknown"),
        (lambda: check_game("CartPole-v1"), "did you mean 'gym.CartPole-v1', the environment of Gymnasium"),
        (lambda: check_game("mine:Maze-v0"), "did you mean 'gym.mine:Maze-v0', the environment of Gymnasium"),
        (lambda: check_game("gym.neurozoo.Maze-v0"), "Did you mean 'gym.neurozoo:Maze-v0'"),
        (lambda: check_game("gym.mine.Maze-v0"), r"doesn't exist\.$"),
        (lambda: check_game("gym:CartPole-v1"), "did you mean 'gym.CartPole-v1', the environment"),
        (lambda: check_game("gym.ALE/Pong-v5"), "this is Gymnasium's id of it. Write 'pong'"),
        (lambda: check_game("mario"), "Agents play it as 'gym.Platformer-v0'"),
        (lambda: check_game("All"), "did you mean 'all', a list for the games of an experiment"),
        (lambda: check_game("published_13"), "did you mean 'published13', a list"),
        (lambda: check_game("ball"), r"game 'ball' is unknown(?!.*'all')"),
        (lambda: check_game("MsPacman"), "did you mean 'ms_pacman'"),
        (lambda: rom_path("frostbit"), "did you mean 'frostbite'"),
        (lambda: action_names("frostbit", "minimal"), "did you mean 'frostbite'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(call, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        call()


def test_a_rom_that_is_gone_is_missed_with_the_remedy(monkeypatch, tmp_path):
    from ale_py import roms

    for gone in (tmp_path / "pong.bin", None):
        monkeypatch.setattr(roms, "get_rom_path", lambda name, path=gone: path)
        with pytest.raises(NeurozooError, match=r"ROM of 'pong' is missing.*Reinstall: pip install"):
            rom_path("pong")


def test_reference_scores_are_random_then_human():
    scores = reference_scores()
    assert len(scores) == 57
    # Section 8.4 of the specification, rounded there to the last digit given.
    assert scores["frostbite"] == pytest.approx((65.2, 4334.7), abs=0.5)
    assert scores["kangaroo"] == pytest.approx((52.0, 3035.0), abs=0.5)
    assert scores["seaquest"][0] == pytest.approx(68.4, abs=0.05)
    assert set(scores) <= set(game_names())


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: check_game("gym.CartPol-v1"), "Gymnasium cannot make the environment 'gym.CartPol-v1' here"),
        (lambda: check_game("gym.FrozenLake-v1"), "should have vectors as observations"),
        (lambda: check_behaviour("pong", "final_position"), "'pong' does not have the behaviour .* one of: none, ram"),
        (lambda: check_behaviour("hard_maze", "ram"), "one of: none, final_position"),
    ],
)
def test_a_game_or_behaviour_that_cannot_be_used_is_refused(call, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        call()


def test_lists_stand_for_their_games_each_of_them_once():
    games = ["qbert", "battle_zone", "double_dunk", "name_this_game", "phoenix", "gym.CartPole-v1"]
    assert expand_games(["qbert", "atari5", "gym.CartPole-v1"]) == games
    for name, count in (("all", len(game_names())), ("atari57", 57), ("atari5", 5), ("published13", 13)):
        games = expand_games([name])
        assert len(games) == len(set(games)) == count
        assert set(games) <= set(game_names())


def test_the_published_list_is_that_of_table_1():
    games = (
        "amidar assault asterix asteroids atlantis enduro frostbite gravitar kangaroo seaquest skiing venture zaxxon"
    )
    assert expand_games(["published13"]) == games.split()


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
