import dataclasses

import numpy as np
import pytest
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.observations import observation_shape
from neurozoo.environments.protocols import Protocol, get_protocol, output_names, protocol_of, start_actions
from neurozoo.errors import NeurozooError

WITHOUT_FIRE = "asterix crazy_climber freeway journey_escape kung_fu_master ms_pacman skiing tutankham"


def test_fire_is_pressed_in_all_games_but_the_published_eight(published_games):
    protocol = get_protocol("uber2018")
    assert [game for game in published_games if not start_actions(game, protocol)] == WITHOUT_FIRE.split()


def test_an_episode_starts_with_the_second_and_the_third_minimal_action_whatever_set_the_network_chooses_from():
    for action_set in ("minimal", "full"):
        assert start_actions("breakout", get_protocol("uber2018", action_set=action_set)) == (1, 3)
    assert start_actions("breakout", get_protocol("machado2018")) == ()


def test_protocols_are_the_published_ones():
    uber, machado = get_protocol("uber2018"), get_protocol("machado2018")
    assert (uber.sticky_probability, uber.max_noops, uber.presses_fire, uber.max_frames) == (0, 30, True, 400_000)
    assert (uber.action_set, uber.preprocessing, uber.frame_skip) == ("minimal", "published_bilinear", 4)
    assert (machado.sticky_probability, machado.max_noops, machado.presses_fire) == (0.25, 0, False)
    assert (machado.action_set, machado.preprocessing, machado.max_frames) == ("full", "area", 108_000)
    rivers = [get_protocol(name) for name in ("river_fixed", "river_split", "river_faithful")]
    assert [river.rules for river in rivers] == ["fixed", "fixed", "faithful"]


@pytest.mark.parametrize(
    ("name", "noops", "max_frames"),
    [
        ("uber2018", range(1, 31), 400_000),
        ("nature2015", range(1, 31), 18_000),  # 5 minutes of 60 frames per second
        ("machado2018", [0], 108_000),
        ("simple_dqn", range(20, 125, 4), 500_000),  # 5 to 31 decisions; the 125,000 steps of a test phase
    ],
)
def test_episodes_begin_and_end_as_published(name, noops, max_frames):
    protocol = get_protocol(name)
    drawn = {protocol.draw_noops(np.random.default_rng(seed)) for seed in range(1_000)}
    assert sorted(drawn) == list(noops)
    assert protocol.max_frames == max_frames


def test_random_starts_can_be_chosen_and_left_out():
    few, none = (get_protocol("simple_dqn", noop_steps=pair) for pair in ((1, 2), (0, 0)))
    assert {few.draw_noops(np.random.default_rng(seed)) for seed in range(99)} == {4, 8}
    assert (few.noop_steps, none.noop_steps, get_protocol("nature2015").noop_steps) == ((1, 2), None, None)
    assert none.draw_noops(np.random.default_rng(0)) == 0


def test_a_protocol_comes_back_from_its_record():
    protocol = get_protocol("simple_dqn")
    record = dataclasses.asdict(protocol)
    assert Protocol.from_record(record) == protocol
    del record["seeds"]
    with pytest.raises(ValueError, match="a protocol without seeds"):
        Protocol.from_record(record)


@pytest.mark.parametrize(
    ("game", "choice", "has_chance"),
    [
        ("pong", "uber2018", False),
        ("pong", "simple_dqn", False),
        ("pong", "machado2018", True),
        ("pong", "gym_v4", True),
        ("hard_maze", "hard_maze", False),
        ("river_crossing", "river_fixed", True),
        ("gym.CartPole-v1", "gymnasium", True),
    ],
)
def test_what_is_random_after_the_start_of_an_episode(game, choice, has_chance):
    assert protocol_of(game, choice).has_chance == has_chance


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
        ("maze", "maze", (5, 5, 4), 3),
        ("gym.CartPole-v1", "gymnasium", (1, 1, 4), 2),
        ("gym.Pendulum-v1", "gymnasium", (1, 1, 3), 1),
    ],
)
def test_a_network_fits_what_a_game_shows_and_takes(game, protocol, observation, outputs):
    record = protocol_of(game, protocol)
    layout = layout_of(game, "simple", record)
    assert layout.observation_shape == observation_shape(game, record).observation == observation
    assert layout.num_actions == len(output_names(game, record)) == outputs


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: protocol_of("pong", "river_fixed"), "'pong' cannot be played .* one of: uber2018, machado2018"),
        (lambda: protocol_of("hard_maze", "uber2018"), "one of: hard_maze"),
        (lambda: protocol_of("pong", observation="rgb"), "observation of the protocol 'uber2018' cannot be chosen"),
        (lambda: protocol_of("river_crossing", observation="rbg"), "observation 'rbg' is unknown; did you mean 'rgb'"),
        (lambda: protocol_of("pong", start_state="2018"), "2018 is not known for 'pong', only for frostbite"),
        (
            lambda: layout_of("hard_maze", "large", protocol_of("hard_maze")),
            "has no pictures as observations .* but got 'large'",
        ),
        (
            lambda: layout_of("maze", "small", protocol_of("maze")),
            "'maze' has no pictures .* such as 'simple', but got 'small'",
        ),
    ],
)
def test_a_protocol_or_network_that_does_not_fit_the_game_is_refused(call, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        call()


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: get_protocol("uber2019"), "protocol 'uber2019' is unknown; did you mean 'uber2018'"),
        (lambda: get_protocol(["uber2018"]), "protocol .* is unknown"),
        (lambda: get_protocol("uber2018", action_set="ful"), "action set 'ful' is unknown; did you mean 'full'"),
    ],
)
def test_an_unknown_protocol_or_choice_is_refused_with_the_nearest(call, complaint):
    with pytest.raises(NeurozooError, match=complaint):
        call()
