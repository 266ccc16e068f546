"""The learner is one rollout behind, goes on exactly where it stopped, and learns."""

import time
from dataclasses import replace
from functools import partial

import keras
import numpy as np
import pytest
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.impala.network import ActorCritic
from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.algorithms.learner import play_test
from neurozoo.compute.mpi import ALONE, Alone
from neurozoo.errors import NeurozooError
from neurozoo.networks.catalogue import get_keras_network
from neurozoo.randomness import Purpose, generator
from toys import SMALL, SMALL_Q, Catch, Counting, task

SETTINGS = replace(
    PRESETS["impala_paper"],
    frames=4 * 3 * 4 * 8,  # 8 rollouts
    epoch_steps=3 * 4 * 4,
    num_envs=3,
    batch_size=1,
    unroll_length=4,
    num_test_episodes=2,
    test_cutoff=6,
    learning_rate=0.01,
)


class Stop(Exception):
    pass


class Watch:
    """Counts the calls, and raises at one of them."""

    def __init__(self, stop=None):
        self.calls, self.stop = 0, stop

    def __call__(self, frames, steps):
        self.calls += 1
        if self.calls == self.stop:
            raise Stop


def make(settings=SETTINGS, *, toy=Counting, model=SMALL, run=1, ranks=ALONE):
    # Layers get the names that they have in a new process: TensorFlow sorts by them, which changes the order of sums.
    keras.utils.clear_session()
    network = get_keras_network(model) if isinstance(model, str) else model
    layout = network.layout(toy.num_actions, toy.shape)
    return ImpalaLearner(task(settings, layout, toy, run=run, ranks=ranks))


def finished(learner, watch=None):
    """Learns to the end of the budget; returns the reports."""
    reports = []
    learner.open()
    try:
        while not learner.is_done:
            if report := learner.learn(watch or Watch()):
                reports.append(report)
    finally:
        learner.close()
    return reports


def learn_on(learner, watch, reports):
    while True:
        if report := learner.learn(watch):
            reports.append(report)


TIMES = ("steps_per_s", "frames_per_s", "wait_data_share")


def timeless(report):
    return replace(report, fields={name: each for name, each in report.fields.items() if name not in TIMES})


@pytest.fixture(scope="module")
def uninterrupted():
    """A learner at its end, its reports, and how often its watch was called."""
    learner, watch = make(), Watch()
    return learner, [timeless(report) for report in finished(learner, watch)], watch.calls


def test_reports_have_the_columns_of_the_specification(uninterrupted):
    _, reports, _ = uninterrupted
    assert [report.iteration for report in reports] == [1, 2]
    assert [report.progress for report in reports] == [4 * 48, 4 * 96]
    columns = {
        *("update", "steps", "compat_counter", "learning_rate", "loss_total", "loss_pg", "loss_baseline"),
        *("loss_entropy", "entropy_mean", "value_mean", "grad_norm", "rho_mean", "rho_clipped_share", "lag_mean"),
        *("lag_max", "queue_len", "learners", "actors"),
    }
    for report in reports:
        assert columns <= set(report.fields)
        assert all(np.isfinite(report.fields[name]) for name in columns)
    first, last = (report.fields for report in reports)
    assert (last["update"], last["steps"]) == (24, 96)
    assert last["compat_counter"] == 24 * (1 * 4 + 1)
    assert (first["learning_rate"], last["learning_rate"]) == (0.005, 0.0)
    # The first rollout is learned from at once, all others are one rollout old.
    assert (first["lag_mean"], first["lag_max"]) == (3 / 4, 1)
    assert (last["lag_mean"], last["lag_max"]) == (1.0, 1)
    assert first["loss_total"] == pytest.approx(
        first["loss_pg"] + first["loss_baseline"] + first["loss_entropy"], rel=1e-4
    )


def test_scores_are_those_of_whole_games(uninterrupted):
    _, reports, _ = uninterrupted
    # Games of environment 0 end every 3 steps, of environment 1 every 5 steps: their points by the 16th step.
    scores = [6, 15, 24, 33, 42, 15, 40, 65]
    assert reports[0].score == pytest.approx(np.mean(scores))
    assert (reports[0].score_episodes, reports[0].fields["games"]) == (8, 8)
    assert (reports[0].fields["game_score_min"], reports[0].fields["game_score_max"]) == (6, 65)


def test_every_game_has_a_row_in_its_report(uninterrupted):
    _, reports, _ = uninterrupted
    # When it ended, in frames (12 for each step of the three environments, ...), who learned and played, environment,
    # score, the sum of rewards clipped to 1, steps, and that the row stands for one game.
    assert reports[0].fields["Episodes"] == [
        [12 * 3, 0, 0, 0, 6, 3, 3, 1], [12 * 5, 0, 0, 1, 15, 5, 5, 1], [12 * 6, 0, 0, 0, 15, 3, 3, 1],
        [12 * 9, 0, 0, 0, 24, 3, 3, 1], [12 * 10, 0, 0, 1, 40, 5, 5, 1], [12 * 12, 0, 0, 0, 33, 3, 3, 1],
        [12 * 15, 0, 0, 0, 42, 3, 3, 1], [12 * 15, 0, 0, 1, 65, 5, 5, 1],
    ]  # fmt: skip
    ends = [row[0] for row in reports[1].fields["Episodes"]]
    assert ends == sorted(12 * step for step in (18, 21, 24, 27, 30, 20, 25, 30))


def test_only_the_last_epoch_is_tested_by_default(uninterrupted):
    _, reports, _ = uninterrupted
    assert (reports[0].test_score, reports[0].test_episodes) == (None, None)
    # Game 0 has 3 steps, game 1 5 steps.
    assert (reports[1].test_score, reports[1].test_episodes) == ((6 + 15) / 2, 2)


def test_progress_counts_the_steps_of_an_epoch_and_the_games_of_a_test():
    # Epochs end within a rollout; the environments of a test play on when their share of the games is done.
    learner = make(replace(SETTINGS, test_period=1, epoch_steps=SETTINGS.epoch_steps - 1, num_test_episodes=3))
    told = []

    def watch(frames, steps):
        told.append((*learner.progress, frames, steps))

    assert [report.test_episodes for report in finished(learner, watch)] == [3, 3]
    trained, tested = ([each for each in told if each[0] == phase] for phase in ("train", "test"))
    assert len(trained) + len(tested) == len(told)
    assert {each[2:4] for each in trained} == {(SETTINGS.epoch_steps - 1, "steps of train")}
    assert max(each[1] for each in trained) == SETTINGS.epoch_steps - 1
    assert {each[2:5] for each in tested} == {(3, "episodes of test", 0)}
    done = [each[1] for each in tested]
    assert (min(done), max(done)) == (0, 3)
    assert {each[5] for each in tested} == {1, 2, 3}  # only environments with an open game


def stopped_at(stop, learner, make_one=make):
    """Stops a learner at a call of its watch; returns its phase, another one with its state, and its reports."""
    found = []
    learner.open()
    with pytest.raises(Stop):
        learn_on(learner, Watch(stop), found)
    state, arrays = learner.get_state(), {name: array.copy() for name, array in learner.get_arrays().items()}
    learner.close()
    other = make_one()
    other.set_state(state, arrays)
    return learner.progress[0], other, found


def assert_goes_on(learner, found, expected, reports):
    """Lets a learner go on to its end, with the reports `found` before."""
    assert not learner.is_done
    found += finished(learner)
    assert [timeless(report) for report in found] == reports
    np.testing.assert_array_equal(learner.reported.weights, expected.reported.weights)


def test_a_learner_that_is_stopped_again_and_again_goes_on_exactly(uninterrupted):
    """At its first step, while a thread learns, later, and in its last test, when it has spent its budget."""
    calls, found, learner = 0, [], make()
    for stop in (1, 5, 30, uninterrupted[2]):
        phase, learner, more = stopped_at(stop - calls, learner)
        calls, found = stop, found + more
    assert phase == "test"
    assert_goes_on(learner, found, *uninterrupted[:2])


def test_all_learning_is_in_the_time_of_an_epoch():
    """A state waits for the rollout that is being learned from, which must not be outside of all clocks."""
    learner, began = make(), time.perf_counter()
    update = learner._learn_from

    def slow(rollout):
        time.sleep(0.1)
        return update(rollout)

    learner._learn_from = slow
    reports = finished(learner)
    seconds = sum(report.fields["TimestepsThisIter"] / report.fields["steps_per_s"] for report in reports)
    rollouts = SETTINGS.frames // 4 // (SETTINGS.unroll_length * SETTINGS.num_envs)
    assert 0.1 * rollouts <= seconds <= time.perf_counter() - began
    assert all(report.fields["wait_data_share"] <= 1 for report in reports)


def test_names_of_arrays_stand_for_one_content():
    learner = make()
    learner.open()
    contents = {}
    watch = Watch(1)
    for _ in range(10):
        with pytest.raises(Stop):
            learner.learn(watch)
        watch.stop = watch.calls + 1
        learner.get_state()
        for name, array in learner.get_arrays().items():
            assert contents.setdefault(name, array.tobytes()) == array.tobytes(), name
    learner.close()


def test_the_acting_weights_have_learned_from_all_rollouts_but_the_last(monkeypatch):
    learner = make()
    learner.open()
    network = learner.network
    learned = [network.theta()]  # after so many rollouts
    monkeypatch.setattr(learner, "_finish_learning", _remembering(learner, network, learned))
    acted = []
    watch = Watch()
    while learner.frames < learner.settings.frames:
        learner._play_step(watch)
        if learner._player.step == 1:
            acted.append(network.get_arrays()["acting"])
        if learner._player.is_rollout_over:
            learner._finish_rollout()
    learner.close()
    assert len(acted) == 8
    np.testing.assert_array_equal(acted[0], learned[0])
    for rollout in range(1, 8):
        np.testing.assert_array_equal(acted[rollout], learned[rollout - 1])
        assert (acted[rollout] != learned[rollout]).any()


def test_what_an_environment_raises_is_not_taken_for_a_damaged_state():
    class Broken(Counting):
        def reset(self, index, rng):
            raise KeyError("level_table")

    with pytest.raises(KeyError, match="level_table"):
        finished(make(toy=Broken))


class SixteenSquared(Counting):
    """Where a kernel is larger than the picture, TensorFlow's gradients in bfloat16 are wrong, sometimes infinite."""

    shape = (16, 16, 1)


@pytest.mark.parametrize(
    ("proximal", "dtype"),
    [
        *(("acting", "float32"), ("learning", "float32")),
        pytest.param("learning", "mixed_bfloat16", marks=pytest.mark.long(seconds=5)),
    ],
)
def test_a_rollout_is_learned_from_with_the_answers_of_the_chosen_network(monkeypatch, proximal, dtype):
    seen = []
    update = ActorCritic.update

    def update_and_remember(self, batch, *, learning_rate):
        figures = update(self, batch, learning_rate=learning_rate)
        seen.append((batch.get("weights"), figures["rho_mean"], figures["rho_clipped_share"]))
        return figures

    monkeypatch.setattr(ActorCritic, "update", update_and_remember)
    settings = replace(PPO, proximal_policy=proximal, dtype=dtype, learning_rate=0.01, clip_ratio=0.01)
    reports = finished(make(settings, toy=Counting if dtype == "float32" else SixteenSquared))
    firsts = seen[:: 3 * 3]  # of three minibatches in three epochs
    assert len(firsts) == 8
    assert reports[-1].fields["lag_max"] == 1
    for number, (weights, ratio, clipped_share) in enumerate(firsts):
        if proximal == "acting":
            assert weights is None
            assert (clipped_share > 0) == (number > 0)  # the first rollout is as old as the network
        else:
            assert ratio == pytest.approx(1, abs=1e-3)
            assert clipped_share == 0
            assert np.allclose(weights, 1) == (number == 0)


def _remembering(learner, network, learned):
    finish = learner._finish_learning

    def finish_and_remember():
        is_learning = learner._learning is not None
        finish()
        if is_learning:
            learned.append(network.theta())

    return finish_and_remember


def test_a_test_plays_each_numbered_game_once():
    class Fixed:
        def initial_state(self, batch):
            return ()

        def step(self, inputs, state, rng):
            from neurozoo.agents.policies import NetworkOutputs, PolicyStep

            batch = len(inputs.observation)
            outputs = NetworkOutputs(np.zeros((batch, 4), np.float32), baseline=np.zeros(batch, np.float32))
            return PolicyStep(rng.integers(4, size=batch), outputs, state)

    seeds, made = [], []

    def environments(count, seed_of):
        made.append(Counting(count, lambda *which: seeds.append((*which, seed_of(*which))) or seeds[-1][-1]))
        return made[0]

    settings = replace(SETTINGS, num_test_episodes=3)
    test = play_test(task(settings, None, environments), Fixed(), 0, beat=lambda steps, done: None)
    assert test.scores == {0: 6.0, 1: 15.0, 2: 21.0}
    assert made[0].closed
    assert seeds[1] == (1, 0, generator((0, 1), Purpose.TEST_EPISODE, 0, 1).integers(2**31))


PPO = replace(SETTINGS, objective="ppo", epochs=3, optimizer="adam", optimizer_epsilon=1e-5, max_gradient_norm=0.5)
DECOUPLED = replace(PPO, proximal_policy="learning")
PQN = replace(PPO, objective="pqn", optimizer="radam", epsilon_steps=48)


MINIBATCHES = {"epochs": 2, "batch_size": 8, "minibatches": "steps"}


@pytest.mark.long(seconds=8)
@pytest.mark.parametrize(("settings", "stop"), [(PPO, 4), (DECOUPLED, 14), (PQN, 14)])
def test_ppo_and_pqn_go_on_exactly_after_a_stop(settings, stop):
    model = SMALL_Q if settings is PQN else SMALL
    make_one = partial(make, settings, model=model)
    expected = make_one()
    reports = [timeless(report) for report in finished(expected)]
    assert reports[-1].fields["update"] == 3 * 3 * 8  # epochs, minibatches, rollouts
    _, other, found = stopped_at(stop, make_one(), make_one)
    assert_goes_on(other, found, expected, reports)


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("impala_shallow", {}),
        # With the others' settings, one of four seeds learned; with these, all four.
        pytest.param(
            "impala_shallow_lstm", {"frames": 4 * 48_000, "learning_rate": 0.001}, marks=pytest.mark.long(seconds=20)
        ),
        pytest.param("impala_shallow", MINIBATCHES | {"objective": "ppo"}, marks=pytest.mark.long(seconds=13)),
        pytest.param(
            "impala_shallow",
            MINIBATCHES | {"objective": "ppo", "proximal_policy": "learning"},
            marks=pytest.mark.long(seconds=13),
        ),
        pytest.param(
            SMALL_Q, MINIBATCHES | {"objective": "pqn", "optimizer": "radam"}, marks=pytest.mark.long(seconds=10)
        ),
    ],
)
def test_catch_is_learned(model, changes):
    settings = replace(
        SETTINGS,
        frames=4 * 24_000,
        epoch_steps=2_000,
        num_envs=16,
        batch_size=16,
        unroll_length=5,
        num_test_episodes=50,
        test_cutoff=None,
        learning_rate=0.003,
        optimizer="adam",
        optimizer_epsilon=1e-8,
        epsilon_steps=5_000,
        test_epsilon=0.0,
    )
    settings = replace(settings, **changes)
    reports = finished(make(settings, toy=Catch, model=model))
    # Of 2 points: a player who knows nothing catches less than every other ball.
    assert reports[0].score < 0
    assert reports[-1].test_score > 1.5


def test_a_training_that_diverges_ends_with_a_sentence():
    with pytest.raises(NeurozooError, match=r"diverges: after \d+ updates its loss is not finite. Lower learning_rate"):
        finished(make(replace(SETTINGS, learning_rate=1e30)))


class Follower(Alone):
    """A second learner whose orders are given here; rank 0 takes `pause` seconds before the last report's first."""

    index, is_leader = 1, False

    def __init__(self, arrays, *, pause):
        self.sent, self._arrays = [], arrays
        self._orders = iter(["play", "finish"] * 3 + ["report", pause] + ["play", "finish"] * 3 + ["report", "stop"])

    def receive(self, rank):
        return {}, self._arrays

    def send(self, rank, facts, arrays):
        self.sent.append(facts)

    def next_order(self):
        order = next(self._orders)
        if isinstance(order, float):
            time.sleep(order)
            return next(self._orders)
        return order


def test_a_learner_that_follows_does_not_count_the_tests_of_rank_0_as_waiting_for_data():
    settings = replace(SETTINGS, learners=2)
    first = make(settings)
    first.open()
    arrays = {f"network-{name}": array for name, array in first.network.get_arrays().items()}
    first.close()
    ranks, began = Follower(arrays, pause=3.0), time.perf_counter()
    make(settings, ranks=ranks).follow()
    (_, last) = ranks.sent
    assert 0 < last["waited"] < max(3.0, time.perf_counter() - began - 3.0)
