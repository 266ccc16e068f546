import json

import numpy as np
import pytest
from neurozoo.agents.frozen import open_frozen
from neurozoo.environments import make_world
from neurozoo.errors import NeurozooError
from neurozoo.figures.what_if_grid import draw_grid
from neurozoo.interventions.change import Change
from neurozoo.rollouts.episode import Episode
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.player import Player
from neurozoo.rollouts.rollout import record_rollout
from neurozoo.rollouts.what_if import COUNTERFACTUAL, FACTUAL, play_what_if
from neurozoo.rollouts.what_if_grid import measure_grid

KEYS = ("observations", "frames", "ram", "representation", "score", "actions")
STEP = 12


@pytest.fixture
def what_if(frozen_folder, rollout_file, tmp_path):
    """Plays a what-if at `STEP`: `what_if({...})` returns its outcome and both recordings."""

    def play(change, *, frozen=None, recorded=None, steps=28):
        frozen, recorded = frozen or frozen_folder("small"), recorded or rollout_file("small")
        read = Change.from_config({"step": STEP, **change})
        found = play_what_if(frozen, recorded, tmp_path / "branches", read, steps=steps)
        return found, *(np.load(tmp_path / "branches" / name) for name in (FACTUAL, COUNTERFACTUAL))

    return play


def check_equal(one, other, *, until=None, first=0):
    for key in KEYS:
        assert one[key][first:][:until].tobytes() == other[key][:until].tobytes(), key


@pytest.mark.parametrize("layer", ["conv2", "observation"])
def test_a_change_that_changes_nothing_gives_the_recorded_episode(what_if, rollout_file, tmp_path, layer):
    found, one, other = what_if({"intervention": {"layer": layer, "with": "scale"}})
    check_equal(np.load(rollout_file("small")), one)
    check_equal(one, other)
    assert (tmp_path / "branches" / FACTUAL).read_bytes() == rollout_file("small").read_bytes()
    assert (found.first_other_action, found.first_other_screen) == (None, None)
    assert found.factual == found.counterfactual


@pytest.mark.parametrize("layer", ["conv1", "observation"])
def test_an_intervention_that_changes_nothing_may_end_before_the_episode(what_if, layer):
    _, one, other = what_if({"intervention": {"layer": layer, "with": "zero"}, "duration": 3})
    check_equal(one, other, until=STEP)
    changed = [not np.array_equal(*pair) for pair in zip(one["representation"], other["representation"], strict=True)]
    assert changed.index(True) == STEP
    assert np.ptp(other["representation"][STEP : STEP + 3], axis=0).max() < 1e-5
    assert np.abs(other["representation"][STEP + 3] - other["representation"][STEP]).max() > 1e-3


def test_noise_sticky_actions_and_random_actions_go_on_as_they_were(what_if, frozen_folder, tmp_path):
    noise = {"observation_noise": 0.1, "parameter_noise": 0.01, "action_noise": 0.4, "sticky_probability": 0.25}
    recorded = tmp_path / "noisy.npz"
    record_rollout(frozen_folder("small"), recorded, max_steps=40, seed=5, **noise)
    action = np.load(recorded)["actions"][STEP]
    named = open_frozen(frozen_folder("small")).actions[action]
    _, one, other = what_if({"action": named}, recorded=recorded)
    check_equal(np.load(recorded), one)
    check_equal(one, other)


def test_memory_and_drawn_actions_of_a_recurrent_agent_go_on_as_they_were(what_if, policy_folder, tmp_path):
    frozen, recorded = policy_folder(), tmp_path / "drawn.npz"
    record_rollout(frozen, recorded, max_steps=40, seed=3)
    for change in ({"agent": str(frozen)}, {"action": open_frozen(frozen).actions[np.load(recorded)["actions"][STEP]]}):
        _, one, other = what_if(change, frozen=frozen, recorded=recorded)
        check_equal(np.load(recorded), one)
        check_equal(one, other)


def test_a_later_episode_of_a_recording_is_found_by_its_step(own_copy_under, what_if, tmp_path):
    frozen, recorded = own_copy_under(max_frames=80), tmp_path / "several.npz"
    record_rollout(frozen, recorded, episodes=3, action_noise=0.5, seed=1)
    found, one, other = what_if({"step": 50, "action": "LEFT"}, frozen=frozen, recorded=recorded)
    first = int(np.load(recorded)["starts"][2, 0])
    assert (found.episode, found.change.step) == (2, 50 - first)
    check_equal(np.load(recorded), one, first=first)
    check_equal(one, other, until=50 - first)


def twin(frozen_folder, actions, *, write=None):
    """Plays actions in the game itself; writes (address, value) before some steps; returns screens and scores."""
    frozen = open_frozen(frozen_folder("small"))
    world = make_world(frozen.game, frozen.protocol)
    world.reset(noops=1)
    screens, scores, score = [], [], 0.0
    for step, action in enumerate(actions):
        if write and step in write:
            world._emulator.setRAM(*write[step])
        screens.append(world.screen)
        scores.append(score)
        score += world.step(int(action))[1]
    return np.array(screens), np.array(scores)


def test_another_action_is_played_as_long_as_it_lasts(what_if, frozen_folder):
    found, one, other = what_if({"action": "RIGHT", "duration": 4})
    names = open_frozen(frozen_folder("small")).actions
    assert [names[action] for action in other["actions"][STEP : STEP + 4]] == ["RIGHT"] * 4
    check_equal(one, other, until=STEP)
    screens, scores = twin(frozen_folder, other["actions"])
    np.testing.assert_array_equal(screens, other["frames"])
    np.testing.assert_array_equal(scores, other["score"])
    differ = np.flatnonzero(one["actions"] != other["actions"])
    assert found.first_other_action == (differ[0] if len(differ) else None)
    assert found.counterfactual.actions == tuple(names[action] for action in other["actions"][STEP:])


def test_memory_is_written_before_each_step_of_the_change(what_if, frozen_folder):
    address, value = 99, 120  # the ball's column in Breakout
    found, one, other = what_if({"ram": [f"{address}={value}"], "duration": 2})
    screens, _ = twin(frozen_folder, other["actions"], write={STEP: (address, value), STEP + 1: (address, value)})
    np.testing.assert_array_equal(screens, other["frames"])
    assert other["ram"][STEP, address] == value != one["ram"][STEP, address]
    np.testing.assert_array_equal(one["frames"][: STEP + 1], other["frames"][: STEP + 1])
    assert found.first_other_screen == STEP + 1


def test_pixels_change_what_the_agent_sees_and_not_its_world(what_if):
    _, one, other = what_if({"pixels": "0,0,83,41=0.5", "duration": 2})
    assert (other["observations"][STEP : STEP + 2, :, :42] == 0.5).all()
    np.testing.assert_array_equal(other["observations"][STEP, :, 42:], one["observations"][STEP, :, 42:])
    np.testing.assert_array_equal(other["frames"][STEP], one["frames"][STEP])
    assert not (other["observations"][STEP + 2, :, :42] == 0.5).all()
    _, one, other = what_if({"pixels": "10,10,20,20=mean"})
    means = one["observations"].mean(axis=(0, 1, 2), dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(other["observations"][STEP, 10:21, 10:21], np.broadcast_to(means, (11, 11, 4)))


def test_another_agent_plays_on_from_the_same_state(what_if, frozen_folder):
    successor = frozen_folder("small", seed=2)
    _, one, other = what_if({"agent": str(successor)})
    check_equal(one, other, until=STEP)
    preferred = open_frozen(successor).load_keras().predict(other["observations"][STEP:], verbose=0).argmax(axis=1)
    np.testing.assert_array_equal(other["actions"][STEP:], preferred)
    assert not np.array_equal(one["actions"], other["actions"])


def test_a_recording_of_another_agent_cannot_be_replayed(what_if, frozen_folder, rollout_file):
    with pytest.raises(NeurozooError, match=r"cannot be replayed: step 0 differs\. Another agent played it"):
        what_if({"action": "LEFT"}, frozen=frozen_folder("small", seed=2))


def test_a_recording_with_a_change_says_so_and_gets_no_second_one(what_if, frozen_folder, tmp_path):
    what_if({"ram": ["99=120"]})
    recorded, sentence = tmp_path / "branches" / COUNTERFACTUAL, r"already has a change \(RAM 99 = 120\). Take another"
    with pytest.raises(NeurozooError, match=sentence):
        what_if({"action": "LEFT"}, recorded=recorded)
    with pytest.raises(NeurozooError, match=sentence):
        measure_grid(frozen_folder("small"), recorded, tmp_path / "grid.json")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"step": 40, "action": "LEFT"}, "has the steps 0 to 39, but step is 40. Choose one of them."),
        ({"action": "LEFFT"}, "action 'LEFFT' is unknown; did you mean 'LEFT'. Known: FIRE, LEFT, NOOP, RIGHT."),
        ({"ram": ["128=0"]}, "ram 128=0: the console has the addresses 0 to 127 with values from 0 to 255"),
        ({"ram": ["5=256"]}, "ram 5=256: the console has"),
        ({"ram": ["\u0664\u0669=1"]}, "ram should be ADDRESS=VALUE, such as 49=100, but is"),
        ({"ram": ["five"]}, "ram should be ADDRESS=VALUE, such as 49=100, but is 'five'"),
        ({"pixels": "0,0,1,1=e"}, "pixels should be TOP,LEFT,BOTTOM,RIGHT=VALUE or =mean"),
        ({"pixels": "0,0,1,1=--5"}, "pixels should be TOP,LEFT,BOTTOM,RIGHT=VALUE or =mean"),
        ({"pixels": "1,2,3"}, "pixels should be TOP,LEFT,BOTTOM,RIGHT=VALUE or =mean"),
        ({"pixels": "0,0,84,2=0"}, "has a map of 84 x 84, which region"),
        ({"intervention": "dark"}, "intervention 'dark' is unknown. Known: none."),
        ({"intervention": {"layer": "conv9"}}, "layer 'conv9' is unknown"),
        ({}, "A what-if needs one change: action, ram, pixels, intervention, agent. It has none."),
        ({"action": "LEFT", "ram": ["1=1"]}, "It has action and ram. Give one."),
        ({"action": "LEFT", "duration": 0}, "duration at least 1"),
    ],
)
def test_what_does_not_fit_is_refused(what_if, change, sentence):
    with pytest.raises(NeurozooError) as caught:
        what_if(change)
    assert sentence.replace("did you mean 'LEFT'.", "did you mean 'LEFT'?") in str(caught.value)


def test_an_agent_of_another_game_or_protocol_cannot_take_over(what_if, frozen_folder):
    for choices, sentence in (
        ({"game": "pong"}, "The game of ga/breakout/small/1 is breakout, but that of ga/pong/small/1 is pong."),
        ({"protocol": "machado2018"}, "The protocol of ga/breakout/small/1 is "),
    ):
        with pytest.raises(
            NeurozooError, match="can take over only in the same game under the same protocol"
        ) as caught:
            what_if({"agent": str(frozen_folder("small", **choices))})
        assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("game", "change", "sentence"),
    [
        (
            "gym.CartPole-v1",
            {"ram": ["49=1"]},
            "gym.CartPole-v1 has no console memory that could be changed. Change som",
        ),
        (
            "gym.Pendulum-v1",
            {"action": "LEFT"},
            "gym.Pendulum-v1 has continuous outputs and no actions by name. Change",
        ),
    ],
)
def test_worlds_without_memory_or_names_of_actions_say_so(what_if, frozen_folder, tmp_path, game, change, sentence):
    frozen, recorded = frozen_folder("simple", game=game), tmp_path / "rollout.npz"
    record_rollout(frozen, recorded, max_steps=20)
    with pytest.raises(NeurozooError, match=sentence):
        what_if({"step": 2, **change}, frozen=frozen, recorded=recorded)
    _, one, other = what_if({"step": 2, "pixels": "0,0,0,0=9", "duration": 3}, frozen=frozen, recorded=recorded)
    check_equal(one, other, until=2)
    assert (other["observations"][2:5] == 9).all()


def test_a_grid_of_a_world_that_saves_no_states_plays_from_the_start(frozen_folder, what_if, tmp_path):
    frozen, recorded = frozen_folder("simple", game="gym.CartPole-v1"), tmp_path / "rollout.npz"
    record_rollout(frozen, recorded)
    record = measure_grid(frozen, recorded, tmp_path / "grid.json", moments=2, duration=2)
    for moment in record["moments"]:
        for action, outcome in zip(record["actions"], moment["outcomes"], strict=True):
            change = {"step": moment["step"], "action": action, "duration": 2}
            found, *_ = what_if(change, frozen=frozen, recorded=recorded, steps=500)
            assert (outcome["score"], outcome["steps"]) == (found.counterfactual.score, found.counterfactual.steps)
            assert outcome["rejoins"] is None


@pytest.fixture
def grid(own_copy_under, tmp_path):
    """A grid of an agent whose episodes are cut at 30 steps."""
    frozen, recorded = own_copy_under(max_frames=120), tmp_path / "short.npz"
    record_rollout(frozen, recorded, action_noise=0.3)
    return frozen, recorded, measure_grid(frozen, recorded, tmp_path / "grid.json", moments=2)


def test_a_grid_has_what_a_what_if_finds(grid, what_if, tmp_path):
    frozen, recorded, record = grid
    assert record == json.loads((tmp_path / "grid.json").read_text())
    assert [moment["step"] // 15 for moment in record["moments"]] == [0, 1]
    for moment in record["moments"]:
        place = record["actions"].index(moment["action"])
        as_it_was = {name: record[name] for name in ("score", "steps", "is_cut")}
        assert moment["outcomes"][place] == {**as_it_was, "rejoins": moment["step"] + 1}
        change = {"step": moment["step"], "action": record["actions"][place - 1]}
        found, *_ = what_if(change, frozen=frozen, recorded=recorded, steps=100)
        for name in as_it_was:
            assert moment["outcomes"][place - 1][name] == getattr(found.counterfactual, name)


def test_a_grid_ends_its_episodes_after_some_steps(grid, what_if, tmp_path):
    frozen, recorded, whole = grid
    record = measure_grid(frozen, recorded, tmp_path / "grid.json", moments=2, steps=3)
    assert record["steps"] == 30  # those of the recording
    for moment, longer in zip(record["moments"], whole["moments"], strict=True):
        assert moment["step"] == longer["step"]
        for action, outcome in zip(record["actions"], moment["outcomes"], strict=True):
            change = {"step": moment["step"], "action": action}
            found, *_ = what_if(change, frozen=frozen, recorded=recorded, steps=3)
            for own, branch in ((outcome, found.counterfactual), (moment["as_it_was"], found.factual)):
                for name in ("score", "steps", "is_cut"):
                    assert own[name] == getattr(branch, name)


def test_an_episode_that_rejoins_the_recorded_one_stays_the_same(grid, what_if):
    frozen, recorded, record = grid
    rejoining = [
        (moment["step"], name, outcome["rejoins"])
        for moment in record["moments"]
        for name, outcome in zip(record["actions"], moment["outcomes"], strict=True)
        if name != moment["action"] and outcome["rejoins"]
    ]
    assert rejoining
    for step, name, rejoins in rejoining:
        _, one, other = what_if({"step": step, "action": name}, frozen=frozen, recorded=recorded, steps=100)
        for key in KEYS:
            np.testing.assert_array_equal(one[key][rejoins:], other[key][rejoins:])


@pytest.mark.parametrize("game", ["breakout", "frostbite"])
def test_a_saved_episode_goes_on_as_it_did(frozen_folder, game):
    frozen = open_frozen(frozen_folder("small", game=game))
    noise = Perturbation(observation=0.1, action=0.5, sticky_probability=0.25)
    player, world = Player(frozen, noise, seed=1), make_world(game, noise.protocol(frozen))
    episode = Episode(world, player, {"noops": 2, "seed": 4}, 3)

    def play(steps):
        return [(episode.step().seen.tobytes(), world.screen.tobytes(), episode.score) for _ in range(steps)]

    play(20)
    saved, here = episode.save(), episode.digest()
    before = play(30)
    for _ in range(2):  # a trial changes nothing of what is saved
        assert episode.digest() != here
        episode.restore(saved)
        assert episode.digest() == here
        assert play(30) == before


def test_a_grid_is_drawn_and_a_damaged_one_refused(grid, tmp_path):
    for name in ("one.png", "other.png"):
        draw_grid(tmp_path / "grid.json", [tmp_path / name])
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()
    (tmp_path / "grid.json").write_text("{}")
    with pytest.raises(NeurozooError, match=r"is no grid of what-ifs .* Make it again"):
        draw_grid(tmp_path / "grid.json", [tmp_path / "one.png"])
