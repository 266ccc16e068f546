import dataclasses

import pytest
from neurozoo.errors import NeurozooError
from neurozoo.games import (
    PROTOCOLS,
    action_codes,
    action_names,
    check_behaviour,
    check_game,
    game_names,
    get_protocol,
    layout_of,
    observation_shape,
    output_names,
    protocol_of,
    reference_scores,
    rom_path,
    start_actions,
)

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
WITHOUT_FIRE = "asterix crazy_climber freeway journey_escape kung_fu_master ms_pacman skiing tutankham"
ALE_NAMES = (
    "NOOP FIRE UP RIGHT LEFT DOWN UPRIGHT UPLEFT DOWNRIGHT DOWNLEFT UPFIRE RIGHTFIRE LEFTFIRE DOWNFIRE UPRIGHTFIRE "
    "UPLEFTFIRE DOWNRIGHTFIRE DOWNLEFTFIRE"
)


def test_all_published_games_are_there(published_games):
    assert len(published_games) == 60
    assert set(published_games) <= set(game_names())
    assert list(game_names()) == sorted(game_names())


def test_games_have_the_published_numbers_of_minimal_actions(published_games):
    expected = {game: count for count, games in ACTION_COUNTS.items() for game in games.split()}
    assert {game: len(action_codes(game, "minimal")) for game in published_games} == {
        game: expected.get(game, 18) for game in published_games
    }


def test_the_full_action_set_has_all_18_in_the_order_of_their_codes():
    for game in ("pong", "breakout"):
        assert action_codes(game, "full") == tuple(range(18))
        assert action_names(game, "full") == tuple(ALE_NAMES.split())


def test_names_and_codes_of_minimal_actions_belong_together():
    assert action_names("breakout", "minimal") == ("NOOP", "FIRE", "RIGHT", "LEFT")
    assert action_codes("breakout", "minimal") == (0, 1, 3, 4)


def test_fire_is_pressed_in_all_games_but_the_published_eight(published_games):
    protocol = get_protocol("uber2018")
    assert [game for game in published_games if not start_actions(game, protocol)] == WITHOUT_FIRE.split()


def test_an_episode_starts_with_the_second_and_the_third_minimal_action_whatever_set_the_network_chooses_from():
    for action_set in ("minimal", "full"):
        assert start_actions("breakout", get_protocol("uber2018", action_set=action_set)) == (1, 3)
    assert start_actions("breakout", get_protocol("machado2018")) == ()


OF_OTHER_WORLDS = {"least_frame_skip": None, "start_state": "today", "world": "atari", "rules": "", "observation": ""}


def test_protocols_are_the_published_ones():
    uber, machado = get_protocol("uber2018"), get_protocol("machado2018")
    assert dataclasses.asdict(uber) == {
        "name": "uber2018",
        "sticky_probability": 0.0,
        "max_noops": 30,
        "presses_fire": True,
        "max_frames": 400_000,
        "action_set": "minimal",
        "preprocessing": "published_bilinear",
        "frame_skip": 4,
        **OF_OTHER_WORLDS,
    }
    assert dataclasses.asdict(machado) == {
        "name": "machado2018",
        "sticky_probability": 0.25,
        "max_noops": 0,
        "presses_fire": False,
        "max_frames": 108_000,
        "action_set": "full",
        "preprocessing": "area",
        "frame_skip": 4,
        **OF_OTHER_WORLDS,
    }


@pytest.mark.parametrize(
    ("game", "protocol"),
    [
        ("pong", "uber2018"),
        ("river_crossing", "river_fixed"),
        ("hard_maze", "hard_maze"),
        ("gym.CartPole-v1", "gymnasium"),
    ],
)
def test_every_game_has_a_protocol_of_its_own(game, protocol):
    assert protocol_of(game).name == protocol


@pytest.mark.parametrize(
    ("game", "protocol", "observation", "outputs"),
    [
        ("pong", "uber2018", (84, 84, 4), 6),
        ("pong", "machado2018", (84, 84, 4), 18),
        ("frostbite", "gym_v4", (210, 160, 3), 18),
        ("air_raid", "gym_v4", (250, 160, 3), 6),
        ("river_crossing", "river_fixed", (84, 84, 4), 18),
        ("river_crossing", "river_faithful", (20, 20, 3), 18),
        ("hard_maze", "hard_maze", (1, 1, 11), 2),
        ("gym.CartPole-v1", "gymnasium", (1, 1, 4), 2),
        ("gym.Pendulum-v1", "gymnasium", (1, 1, 3), 1),
    ],
)
def test_a_network_fits_what_a_game_shows_and_takes(game, protocol, observation, outputs):
    record = protocol_of(game, protocol)
    layout = layout_of(game, "simple", record)
    assert layout.observation_shape == observation_shape(game, record).observation == observation
    assert layout.num_actions == len(output_names(game, record)) == outputs


def test_the_river_can_be_seen_in_four_ways():
    shapes = {
        kind: observation_shape("river_crossing", protocol_of("river_crossing", observation=kind)).observation
        for kind in ("pixels", "rgb", "greyscale", "objects")
    }
    assert shapes == {"pixels": (84, 84, 4), "rgb": (20, 20, 3), "greyscale": (20, 20, 1), "objects": (20, 20, 6)}


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: protocol_of("pong", "river_fixed"), "'pong' cannot be played .* but under: uber2018, machado2018"),
        (lambda: protocol_of("hard_maze", "uber2018"), "but under: hard_maze"),
        (lambda: protocol_of("pong", observation="rgb"), "observation of the protocol 'uber2018' cannot be chosen"),
        (lambda: protocol_of("river_crossing", observation="rbg"), "observation 'rbg' is unknown; did you mean 'rgb'"),
        (lambda: protocol_of("pong", start_state="2018"), "2018 is not known for 'pong', only for frostbite"),
        (lambda: check_game("gym.CartPol-v1"), "no environment that Gymnasium can make here"),
        (lambda: check_game("gym.FrozenLake-v1"), "should be seen as a vector of numbers"),
        (lambda: layout_of("hard_maze", "large", protocol_of("hard_maze")), "seen as a vector, .* but 'large' came"),
        (lambda: check_behaviour("pong", "final_position"), "'pong' does not give the behaviour .* but: none, ram"),
        (lambda: check_behaviour("hard_maze", "ram"), "but: none, final_position"),
    ],
)
def test_what_does_not_fit_a_game_is_refused(call, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        call()


def test_a_protocol_is_written_down_with_what_was_chosen_of_it():
    facts = protocol_of("river_crossing", observation="objects").facts
    assert list(facts.items()) == [
        ("protocol", "river_fixed"),
        ("action_set", "minimal"),
        ("observation", "objects"),
        ("start_state", "today"),
    ]


def test_a_protocol_with_another_action_set_keeps_the_rest():
    changed = get_protocol("uber2018", action_set="full")
    assert changed.action_set == "full"
    assert dataclasses.replace(changed, action_set="minimal") == PROTOCOLS["uber2018"]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: check_game("pnog"), "game 'pnog' is unknown; did you mean 'pong'"),
        (lambda: check_game("Pong"), "game 'Pong' is unknown; did you mean 'pong'"),
        (lambda: check_game(["pong"]), "is unknown"),
        (lambda: rom_path("frostbit"), "did you mean 'frostbite'"),
        (lambda: action_names("frostbit", "minimal"), "did you mean 'frostbite'"),
        (lambda: get_protocol("uber2019"), "protocol 'uber2019' is unknown; did you mean 'uber2018'"),
        (lambda: get_protocol(["uber2018"]), "protocol .* is unknown"),
        (lambda: get_protocol("uber2018", action_set="ful"), "action set 'ful' is unknown; did you mean 'full'"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(call, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        call()


def test_a_rom_that_is_gone_is_missed_with_the_remedy(monkeypatch, tmp_path):
    from ale_py import roms

    for gone in (tmp_path / "pong.bin", None):
        monkeypatch.setattr(roms, "get_rom_path", lambda name, path=gone: path)
        with pytest.raises(NeurozooError, match=r"ROM of 'pong' .* is missing\. Reinstall: pip install"):
            rom_path("pong")


def test_every_published_game_has_a_rom(published_games):
    assert all(rom_path(game).stat().st_size >= 2048 for game in published_games)


def test_reference_scores_are_random_then_human():
    scores = reference_scores()
    assert len(scores) == 57
    # Section 8.4 of the specification, rounded there to the last digit given.
    assert scores["frostbite"] == pytest.approx((65.2, 4334.7), abs=0.5)
    assert scores["kangaroo"] == pytest.approx((52.0, 3035.0), abs=0.5)
    assert scores["seaquest"][0] == pytest.approx(68.4, abs=0.05)
    assert set(scores) <= set(game_names())
