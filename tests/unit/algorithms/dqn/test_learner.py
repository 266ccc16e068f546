"""What a learner plays, remembers and counts; the network does not matter here and is replaced."""

from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from neurozoo.algorithms.dqn import learner as module
from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.dqn.session import DqnSession
from neurozoo.algorithms.learner import LearnerTask
from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import output_names, protocol_of
from neurozoo.environments.vector_environments import make_vector_environment
from neurozoo.errors import NeurozooError
from neurozoo.native import processor
from neurozoo.networks.catalogue import get_network
from neurozoo.records.run_result import read_run_result

TINY = {
    "epoch_steps": 200, "learning_starts": 60, "frames": 1, "num_test_episodes": 3, "test_cutoff": 30,
    "num_envs": 1, "train_frequency": 4, "batch_size": 8, "keep_replay": False, "replay_size": 2_000,
}  # fmt: skip


def task(settings, game, layout, protocol, core):
    make = partial(make_vector_environment, game, protocol, threads=1, core=core)
    return LearnerTask(
        settings=settings,
        entropy=(settings.seed, 1),
        layout=layout,
        protocol=protocol,
        make_environments=lambda count, seed_of: make(count=count, seed_of=seed_of),
    )


class StillNetwork:
    """Counts its updates; its values prefer action 2."""

    def __init__(self, layout, settings, **given):
        self.updates = self.targets = 0
        self.num_actions = layout.num_actions
        self.samples = []

    def values(self, stacks):
        return np.tile(np.eye(self.num_actions, dtype=np.float32)[2], (len(stacks), 1))

    acting_values = values

    def update_acting(self):
        pass

    def update(self, sample):
        self.updates += 1
        self.samples.append(sample)
        return np.full(len(sample.actions), 2.0, np.float32)

    def update_target(self):
        self.targets += 1

    def theta(self):
        return np.zeros(3, np.float32)

    def get_arrays(self):
        return {}

    def set_arrays(self, arrays):
        pass


@pytest.fixture
def opened(monkeypatch, tmp_path, core):
    """Makes a learner that plays in the core: `opened(preset, **overrides)`."""
    monkeypatch.setattr(module, "make_q_network", StillNetwork)
    made = []

    def make(preset="nature", game="breakout", *, state=None, folder=tmp_path, **overrides):
        settings = resolve_settings("dqn", preset=preset, overrides=TINY | {"test_steps": None} | overrides)
        protocol = protocol_of(game, settings.protocol, action_set=settings.action_set)
        layout = get_network("small").layout(len(output_names(game, protocol)))
        learner = DeepQLearner(task(settings, game, layout, protocol, core))
        if state:
            learner.set_state(*state)
        learner.said = learner.open(folder=Path(folder), remedy="Delete it.")
        made.append(learner)
        return learner

    yield make
    for learner in made:
        learner.close()


def watch(frames, steps):
    pass


def report_of(learner):
    report = None
    while report is None:
        report = learner.learn(watch)
    return {"test_score": report.test_score, "test_episodes": report.test_episodes, **report.fields}


def test_epsilon_falls_as_in_the_original(opened):
    learner = opened("simple_dqn", learning_starts=50_000, epsilon_steps=1_000_000)
    expected = {0: 1.0, 250_000: 0.775, 999_999: 0.1000009, 1_000_000: 0.1, 2_000_000: 0.1}
    for train_steps, epsilon in expected.items():
        learner.steps = 50_000 + train_steps
        assert learner.settings.epsilon(learner.steps) == pytest.approx(epsilon, abs=1e-9)
    learner.steps = 49_999
    assert learner.settings.epsilon(learner.steps) == 1.0


@pytest.mark.parametrize(("num_envs", "target_update_period", "targets"), [(1, 8, 25), (4, 8, 25), (1, 0, 0)])
def test_epochs_have_as_many_updates_as_the_settings_say_and_none_in_the_random_phase(
    opened, num_envs, target_update_period, targets
):
    learner = opened(num_envs=num_envs, train_repeat=2, target_update_period=target_update_period)
    for epoch in (1, 2):
        report = report_of(learner)
        assert (report.get("random_steps"), report["train_steps"]) == (60 if epoch == 1 else None, 200)
        assert report["train_weight_updates"] == learner._network.updates == epoch * 2 * 50
        assert report["train_meancost"] == 2.0  # half the square of the error, which is not clipped
        assert learner._network.targets == epoch * targets
        # The result is the last epoch's network, not the best one.
        assert (learner.reported.iteration, learner.reported.score) == (epoch, report["test_score"])
        assert learner.reported.frames == learner.frames == 4 * (60 + 200 * epoch)
    assert learner.is_done


@pytest.mark.parametrize(
    ("changes", "total", "unit"),
    [
        ({"num_test_episodes": 2}, 2, "episodes of test"),
        ({"test_steps": 7, "finishes_test": True, "num_envs": 1}, 7, "steps of test"),
    ],
)
def test_progress_counts_what_a_test_has_done(opened, changes, total, unit):
    learner = opened(epoch_steps=8, **{"test_steps": None, **changes})
    told = []

    def watch(frames, steps):
        told.append((*learner.progress, frames, steps))

    for epoch in (1, 2):
        told.clear()
        while learner.learn(watch) is None:
            pass
        phases = [phase for phase, *_ in told]
        assert phases == sorted(phases, key=["random", "train", "test"].index)
        assert phases.count("random") == 0 or epoch == 1
        tested = [each for each in told if each[0] == "test"]
        assert {each[2:5] for each in tested} == {(total, unit, 0)}
        done = [each[1] for each in tested]
        assert (done, done[-1]) == (sorted(done), total)
        assert done[0] < total
        assert all(each[5] > 0 for each in tested)


@pytest.mark.parametrize(
    ("changes", "actions"),
    [({}, {0, 1, 2, 3}), ({"epsilon_start": 0.0, "epsilon_end": 0.0, "learning_starts": 0}, {2})],
)
def test_the_random_phase_plays_all_actions_and_an_epsilon_of_0_the_best(opened, changes, actions):
    learner = opened(**changes)
    learner.learn(watch)
    assert set(learner._replay.sample(64, np.random.default_rng(0)).actions.tolist()) == actions


@pytest.mark.long(seconds=7)
def test_rewards_are_clipped_for_learning_and_raw_in_the_statistics(opened):
    learner = opened(game="seaquest", num_envs=4, epoch_steps=4_000, replay_size=8_000)
    report = report_of(learner)
    assert report["train_max_game_reward"] > 20
    assert max(np.abs(sample.returns).max() for sample in learner._network.samples) == 1.0


# ---- lives and waiting


def test_a_lost_life_ends_the_episode_for_learning_but_not_the_game(opened):
    counts = {}
    for life_loss in ("terminal", "ignore"):
        report = report_of(opened(life_loss=life_loss, learning_starts=0, epoch_steps=800))
        counts[life_loss] = (report["train_nr_games"], report["train_nr_lives_games"])
    assert counts["ignore"][0] == counts["ignore"][1] == counts["terminal"][0] >= 2
    assert counts["terminal"][1] >= 5 * counts["terminal"][0]


@pytest.mark.parametrize(("dtype", "is_said"), [("mixed_bfloat16", True), ("float32", False)])
def test_a_run_in_bfloat16_says_that_another_kind_of_processor_continues_it(monkeypatch, tmp_path, dtype, is_said):
    settings = resolve_settings("dqn", preset="nature", overrides={"dtype": dtype})
    names = {"algo": "dqn", "game": "pong", "model": "nature", "run": 1}
    session = DqnSession(RunContext(**names, settings=settings, run_dir=tmp_path))
    session._learner = SimpleNamespace(get_state=lambda: {"steps": 3}, get_arrays=dict, set_state=lambda *_: None)
    monkeypatch.setattr(processor, "processor_flags", lambda: {"avx512_bf16", "amx_bf16"})
    state, arrays = session.state()
    for flags, sentences in ({"avx512_bf16", "amx_bf16"}, 0), ({"avx512_bf16"}, is_said):
        monkeypatch.setattr(processor, "processor_flags", lambda flags=flags: flags)
        session.restore(state, arrays)
        assert len(session.announcements) == sentences
    assert not is_said or "bfloat16 with amx_bf16, and goes on with avx512_bf16" in session.announcements[0]
    session.restore({"steps": 3}, arrays)  # of a state that does not say it
    assert session.announcements == []


@pytest.mark.long(seconds=6)
def test_waiting_takes_5_to_31_decisions_that_are_neither_stored_nor_steps(opened):
    learner = opened("simple_dqn", epoch_steps=2_000, learning_starts=0, train_frequency=1_000, life_loss="terminal")
    waits, actions, original = [], [], learner._wait

    def noted(environments):
        original(environments)
        waits.extend(learner._waits[environments].tolist())

    learner._wait = noted
    send = learner._environments.send
    learner._environments.send = lambda chosen: (
        actions.append((int(learner._waits[0]) > 0, int(chosen[0]))),
        send(chosen),
    )
    while learner.steps < 2_000:
        learner.learn(watch)
    assert len(waits) >= 20
    assert min(waits) >= 5
    assert max(waits) <= 31
    assert len(set(waits)) > 10
    assert {action for is_waiting, action in actions if is_waiting} == {0}
    assert len(actions) == 2_000 + learner._waited
    assert len(learner._replay) == 2_000
    assert learner.frames == 4 * (2_000 + learner._waited)


def test_screens_before_a_lost_life_are_black_in_playing_and_in_replay_as_in_deepminds_code(opened, monkeypatch):
    num_envs = 3
    random = np.random.default_rng(0)
    asked, lives = [], [[] for _ in range(num_envs)]  # the screens of each environment's present life

    def by_chance(self, stacks):
        for stack, life in zip(stacks, lives, strict=True):
            expected = np.zeros((4, 84, 84), np.uint8)
            expected[4 - len(life[-4:]) :] = life[-4:]
            np.testing.assert_array_equal(stack, expected)
        asked.extend(stack.tobytes() for stack in stacks)
        return random.random((len(stacks), self.num_actions), np.float32)

    monkeypatch.setattr(StillNetwork, "acting_values", by_chance)
    learner = opened(
        "nature",
        num_envs=num_envs,
        learning_starts=0,
        epsilon_start=0.0,
        epsilon_end=0.0,
        epoch_steps=900,
        batch_size=32,
    )
    assert learner.settings.masks_lost_lives
    remember, ends = learner._remember, []

    def noted(actions, step, is_waiting, phase):
        screens = learner._environments.screens.copy()
        remember(actions, step, is_waiting, phase)
        for environment, life in enumerate(lives):
            if step.is_over[environment] or step.is_life_lost[environment]:
                ends.append(bool(step.is_over[environment]))
                life.clear()
            is_new = step.is_over[environment]
            life.append(learner._environments.screens[environment].copy() if is_new else screens[environment])

    learner._remember = noted
    for environment, life in enumerate(lives):
        life.append(learner._environments.screens[environment].copy())
    while learner.steps < 900:
        learner.learn(watch)
    assert ends.count(False) >= 8
    assert ends.count(True) >= 1
    states = [state for sample in learner._network.samples for state in sample.screens[:, :4]]
    assert len(states) > 1_000
    assert {state.tobytes() for state in states} <= set(asked)


# ---- tests


def test_a_test_plays_whole_episodes_and_does_not_change_training(opened):
    reports = []
    for episodes in (1, 11):
        learner = opened(num_test_episodes=episodes, test_cutoff=25, epoch_steps=80)
        for _ in range(2):
            report = report_of(learner)
            assert report["test_episodes"] == report["test_nr_games"] == episodes
            assert 25 * episodes >= report["test_steps"] > 24 * episodes - 24
        reports.append({name: value for name, value in report.items() if name.startswith("train_")})
    is_time = lambda name: name.endswith(("_time", "_second"))  # noqa: E731
    first, second = ({n: v for n, v in r.items() if not is_time(n)} for r in reports)
    assert first == second


@pytest.mark.parametrize(
    ("test_steps", "finishes", "steps", "games"),
    [(130, False, 130, 2), (130, True, 150, 3), (100, True, 100, 2), (None, False, None, 3)],
)
def test_a_test_of_a_number_of_steps_drops_its_last_episode_or_finishes_it(opened, test_steps, finishes, steps, games):
    changes = {"test_steps": test_steps, "finishes_test": finishes, "test_cutoff": 50, "epoch_steps": 8}
    learner = opened(**changes)
    report = report_of(learner)
    assert steps in (None, report["test_steps"])
    assert games == report["test_nr_games"] == report["test_episodes"] == learner.reported.episodes
    assert report["test_last_exploration_rate"] == 0.05
    continued = opened(**changes, state=(learner.get_state(), learner.get_arrays()))
    assert continued.reported.episodes == games


def test_the_files_of_the_result_say_how_many_test_episodes_were_played(tmp_path):
    settings = resolve_settings("dqn", preset="simple_dqn", overrides={"test_steps": 100})
    names = {"algo": "dqn", "game": "pong", "model": "small", "run": 1}
    session = DqnSession(RunContext(**names, settings=settings, run_dir=tmp_path))
    weights = np.zeros(session._layout.parameter_count, np.float32)
    session._learner.reported = module.ReportedNetwork(weights, 1.5, iteration=2, frames=40, episodes=4)
    session.result().write(tmp_path, names)
    assert read_run_result(tmp_path)["test_episodes"] == 4  # the settings say 30


# ---- state


def test_a_learner_that_continues_plays_on_like_one_that_was_never_interrupted(opened, tmp_path):
    choices = {"num_envs": 4, "keep_replay": True, "prioritised": True, "n_steps": 3, "epoch_steps": 100}
    whole = opened(folder=tmp_path / "whole", **choices)
    expected = [report_of(whole) for _ in range(3)]
    first = opened(folder=tmp_path / "first", **choices)
    report_of(first)
    state = first.get_state(), first.get_arrays()
    first.learn(watch)  # goes on, and is lost
    second = opened(folder=tmp_path / "first", state=state, **choices)
    found = [report_of(second) for _ in range(2)]
    for name in expected[1]:
        if not name.endswith(("_time", "_per_second")):
            assert [r[name] for r in found] == [r[name] for r in expected[1:]], name
    for one, other in zip(
        second._network.samples, whole._network.samples[-len(second._network.samples) :], strict=True
    ):
        np.testing.assert_array_equal(one.screens, other.screens)


@pytest.mark.long(seconds=6)
@pytest.mark.parametrize(("prioritised", "num_envs"), [(False, 1), (True, 4)])
def test_saving_after_any_round_changes_nothing(opened, monkeypatch, prioritised, num_envs):
    errors = lambda self, sample: (self.samples.append(sample), np.arange(8, dtype=np.float32) * len(self.samples))[1]  # noqa: E731
    monkeypatch.setattr(StillNetwork, "update", errors)
    choices = {"num_envs": num_envs, "prioritised": prioritised, "n_steps": 3, "epoch_steps": 100}
    saved, uninterrupted = opened(**choices), opened(**choices)
    while saved.iteration < 2:
        saved.learn(lambda frames, steps: saved.get_state())
    while uninterrupted.iteration < 2:
        uninterrupted.learn(watch)
    assert len(saved._network.samples) >= 40
    for one, other in zip(saved._network.samples, uninterrupted._network.samples, strict=True):
        np.testing.assert_array_equal(one.rows, other.rows)
        np.testing.assert_array_equal(one.screens, other.screens)


def test_a_memory_that_was_not_kept_begins_empty_and_says_so(opened):
    first = opened(epoch_steps=80)
    report_of(first)
    second = opened(epoch_steps=80, state=(first.get_state(), first.get_arrays()))
    assert any("begins empty" in sentence for sentence in second.said)
    report_of(second)
    assert second._network.updates < first._network.updates  # it had to remember something first


def test_a_masked_learner_continues_within_a_life(opened, tmp_path):
    choices = {"num_envs": 2, "keep_replay": True, "learning_starts": 0, "epoch_steps": 600, "frames": 10_000}
    first = opened(folder=tmp_path / "first", **choices)
    while first._seen.min() == 4 or first.steps < 100:
        first._play_round()
    state, arrays = first.get_state(), first.get_arrays()
    assert min(state["seen"]) < 4
    second = opened(folder=tmp_path / "first", state=(state, arrays), **choices)
    np.testing.assert_array_equal(second._stacks(), first._stacks())


def test_a_training_that_diverges_ends_with_a_sentence(opened, monkeypatch):
    learner = opened(prioritised=True)
    update = StillNetwork.update
    monkeypatch.setattr(StillNetwork, "update", lambda self, sample: update(self, sample) * np.float32(np.nan))
    with pytest.raises(NeurozooError, match=r"diverges: after \d+ updates its loss is not finite. Lower learning_rate"):
        report_of(learner)


def test_a_training_that_diverges_in_its_last_update_before_a_test_ends_with_a_sentence(opened, monkeypatch):
    learner = opened(epoch_steps=80)
    monkeypatch.setattr(StillNetwork, "values", lambda self, screens: np.full((len(screens), 3), np.inf, np.float32))
    with pytest.raises(NeurozooError, match=r"diverges: after \d+ updates its loss is not finite"):
        report_of(learner)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"epoch_steps": 3}, "epoch_steps is 3, but 4 environments play that many steps at once"),
        ({"replay_size": 401, "batch_size": 400}, "batch_size should be below the 400 screens that the replay memory"),
        ({"replay_size": 4_000, "n_steps": 2_000}, r"at least 2,005 screens for each of 4 .* Set it to at least 8,020"),
        ({"protocol": "gymnasium", "windows": "whole", "noop_steps": [2, 5]}, "noop_steps are for Atari games"),
    ],
)
def test_settings_that_do_not_fit_are_refused(overrides, sentence):
    with pytest.raises(NeurozooError, match=sentence):
        resolve_settings("dqn", preset="demo", overrides={"num_envs": 4} | overrides)


def test_games_that_end_within_the_no_ops_after_a_lost_life_are_counted(core, tmp_path):
    """In Road Runner who stands still loses the next life, too."""
    settings = resolve_settings(
        "dqn",
        preset="simple_dqn",
        overrides={
            "learning_starts": 8000,
            "epoch_steps": 10,
            "replay_size": 2000,
            "keep_replay": False,
            "num_envs": 4,
        },
    )
    protocol = protocol_of("road_runner", "simple_dqn")
    layout = layout_of("road_runner", "simple_dqn", protocol)
    learner = DeepQLearner(task(settings, "road_runner", layout, protocol, core))
    learner.open(folder=tmp_path, remedy="")
    receive, ended = learner._environments.receive, []

    def counting():
        step = receive()
        for environment in np.flatnonzero(step.is_over | step.is_cut):
            is_waiting = learner._waits[environment] > 0
            ended.append((is_waiting, learner._returns[environment] + (0 if is_waiting else step.rewards[environment])))
        return step

    learner._environments.receive = counting
    while learner.steps < 2000:
        learner._play_round()
    assert sum(is_waiting for is_waiting, _ in ended) > len(ended) / 2
    assert sorted(learner._statistics["random"].games) == sorted(score for _, score in ended)
    learner.close()
