"""The replay memory against a slow twin that keeps the whole stream, row by row, and applies the rules to it."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from neurozoo.algorithms.dqn.replay import Replay
from neurozoo.compute import memory
from neurozoo.errors import NeurozooError

SHAPE = (2, 3)
KINDS = list(itertools.product(["whole", "padded"], [1, 3]))


@dataclasses.dataclass
class Row:
    screen: np.ndarray
    action: int
    reward: float
    is_terminal: bool
    segment: int
    is_first_screen: bool = False


class Stream:
    """Plays games of random lengths in some environments, and stores them in the memory and in a list."""

    def __init__(self, replay, *, num_envs, windows, seed=0):
        self.replay, self.num_envs, self.windows = replay, num_envs, windows
        self.random = np.random.default_rng(seed)
        self.rows = [[] for _ in range(num_envs)]
        self.segments = [0] * num_envs
        self.is_over = [windows == "padded"] * num_envs

    def screen(self, environment):
        """The environment, the number of the row and the segment, so that no two screens of a test are equal."""
        number = len(self.rows[environment])
        return np.array(
            [[environment + 1, number % 256, number // 256], [self.segments[environment] % 256, 7, 7]], np.uint8
        )

    def go(self, count):
        for _ in range(count):
            going = np.flatnonzero(self.random.random(self.num_envs) < 0.8)  # not all environments are equally quick
            ready = [environment for environment in going if not self.is_over[environment]]
            waiting = [environment for environment in going if self.is_over[environment]]
            if waiting:
                self.begin(waiting)
            if ready:
                self.step(ready)

    def begin(self, environments):
        for environment in environments:
            self.segments[environment] += 1
            self.is_over[environment] = False
        screens = np.array([self.screen(environment) for environment in environments])
        self.replay.begin(np.array(environments), screens)
        if self.windows == "whole":
            return
        for environment, screen in zip(environments, screens, strict=True):
            self.rows[environment].append(Row(screen, 0, 0.0, False, self.segments[environment], True))

    def step(self, environments):
        size = len(environments)
        screens = np.array([self.screen(environment) for environment in environments])
        actions = self.random.integers(18, size=size)
        rewards = self.random.choice([-2.5, -1, 0, 0.25, 1, 7], size=size)
        terminals = self.random.random(size) < 0.08
        breaks = self.random.random(size) < 0.04  # a game cut off, or over, or the seam before a test phase
        self.replay.append(np.array(environments), actions, rewards, screens, terminals)
        for environment, *row in zip(environments, screens, actions, rewards, terminals, strict=True):
            self.rows[environment].append(Row(*row, self.segments[environment]))
        for environment, is_terminal, is_break in zip(environments, terminals, breaks, strict=True):
            if self.windows == "whole" and is_terminal:
                self.segments[environment] += 1
            self.is_over[environment] = bool(is_break)

    def valid(self, *, length, history, steps):
        """The rows that may be drawn, {(environment, number), ...}, by the words of the specification."""
        valid = set()
        for environment, rows in enumerate(self.rows):
            oldest = max(0, len(rows) - length)
            for number in range(oldest, len(rows)):
                row = rows[number]
                before = rows[max(0, number - history) : number]
                mine = [number - back for back in range(1, history + 1) if number >= back]
                mine = [other for other in mine if rows[other].segment == row.segment]
                if row.is_first_screen or (self.windows == "whole" and len(mine) < history):
                    continue
                if self.windows == "whole" and any(other.is_terminal for other in before):
                    raise AssertionError("the twin is wrong")
                if any(other < oldest for other in mine) or number + steps > len(rows):
                    continue
                for ahead in rows[number : number + steps]:
                    if ahead.segment != row.segment:
                        break  # cut off without a terminal
                    if ahead.is_terminal:
                        valid.add((environment, number))
                        break
                else:
                    valid.add((environment, number))
        return valid

    def check(self, sample, *, history, steps, discount, bounds):
        """Compares a batch with the stream, element by element."""
        for entry, name in enumerate(sample.rows.tolist()):
            environment, number = name % self.num_envs, name // self.num_envs
            rows = self.rows[environment]
            row = rows[number]
            for back in range(1, history + 1):
                expected = np.zeros(SHAPE)
                if number >= back and rows[number - back].segment == row.segment:
                    expected = rows[number - back].screen
                assert (sample.screens[entry, history - back] == expected).all()
            total, is_over = 0.0, False
            for ahead in range(steps):
                now = rows[number + ahead]
                assert (sample.screens[entry, history + ahead] == now.screen).all()
                total += discount**ahead * (np.clip(now.reward, *bounds) if bounds else now.reward)
                if now.is_terminal:
                    is_over = True
                    break
            assert sample.actions[entry] == row.action
            assert sample.returns[entry] == pytest.approx(total, abs=1e-6)
            assert sample.discounts[entry] == pytest.approx(0.0 if is_over else discount**steps)


def make(*, windows="padded", capacity=120, num_envs=3, **options):
    return Replay(capacity=capacity, num_envs=num_envs, shape=SHAPE, windows=windows, **options)


def named(rows, num_envs):
    return {(row % num_envs, row // num_envs) for row in rows.tolist()}


@pytest.mark.parametrize(("windows", "steps"), KINDS)
@pytest.mark.parametrize("prioritised", [False, True])
@pytest.mark.parametrize(("num_envs", "history", "slack"), [(1, 4, 0), (3, 2, 7)])
def test_all_valid_rows_are_drawn_and_no_others(windows, steps, prioritised, num_envs, history, slack):
    length = 40
    replay = make(
        windows=windows,
        capacity=length * num_envs,
        num_envs=num_envs,
        history=history,
        steps=steps,
        slack=slack,
        prioritised=prioritised,
        discount=0.9,
    )
    stream = Stream(replay, num_envs=num_envs, windows=windows, seed=num_envs + steps)
    random = np.random.default_rng(1)
    wrapped = 0
    for _ in range(14):
        stream.go(11)
        assert len(replay) == sum(min(length, len(rows)) for rows in stream.rows)
        valid = stream.valid(length=length, history=history, steps=steps)
        assert named(replay.valid_rows(), num_envs) == valid
        assert replay.can_sample == bool(valid)
        if not valid:
            continue
        sample = replay.sample(300, random)
        drawn = named(sample.rows, num_envs)
        assert drawn <= valid
        assert len(drawn) > 0.7 * len(valid)
        stream.check(sample, history=history, steps=steps, discount=0.9, bounds=(-1, 1))
        wrapped += len(stream.rows[0]) > 2 * length
    assert wrapped > 3


@pytest.mark.parametrize(("windows", "steps"), KINDS)
def test_every_row_is_drawn_equally_often(windows, steps):
    replay = make(windows=windows, steps=steps)
    stream = Stream(replay, num_envs=3, windows=windows)
    stream.go(200)
    valid = replay.valid_rows()
    counts = np.unique(replay.sample(200 * len(valid), np.random.default_rng(0)).rows, return_counts=True)[1]
    assert len(counts) == len(valid)
    # Chi-square: mean len(valid) - 1, standard deviation its root times the root of 2.
    chi_square = ((counts - 200) ** 2 / 200).sum()
    assert abs(chi_square - len(valid)) < 5 * np.sqrt(2 * len(valid))


# By hand: one environment, two lives of four and six rows; the screen after row i is i + 1 everywhere.
TERMINALS = [False, False, False, True, False, False, False, False, False, True, False]


def by_hand(**options):
    replay = make(num_envs=1, history=2, discount=0.5, **options)
    if options["windows"] == "padded":
        replay.begin([0], np.full((1, *SHAPE), 100, np.uint8))
    for row, is_terminal in enumerate(TERMINALS):
        replay.append([0], [row], [row / 4], np.full((1, *SHAPE), row + 1, np.uint8), [is_terminal])
    return replay


def drawn(replay, *, count=300):
    """Returns {action: (screens, return, discount)}; in `by_hand` the action is the number of the row."""
    sample = replay.sample(count, np.random.default_rng(0))
    each = zip(sample.screens[:, :, 1, 2].tolist(), sample.returns.tolist(), sample.discounts.tolist(), strict=True)
    return dict(zip(sample.actions.tolist(), each, strict=True))


def test_masked_windows_by_hand_show_nothing_from_before_a_lost_life():
    # DeepMind's code zeroes all screens before the last terminal; the next life begins with the terminal's own screen.
    found = drawn(by_hand(windows="padded", masks_terminals=True, capacity=20))
    assert {row: screens for row, (screens, *_) in found.items()} == {
        0: [0, 100, 1], 1: [100, 1, 2], 2: [1, 2, 3], 3: [2, 3, 4],
        4: [0, 4, 5], 5: [4, 5, 6], 6: [5, 6, 7], 7: [6, 7, 8], 8: [7, 8, 9], 9: [8, 9, 10],
        10: [0, 10, 11],
    }  # fmt: skip
    assert {row for row, (*_, discount) in found.items() if discount == 0} == {3, 9}


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_rewards_are_scaled_and_clipped_when_drawn_and_may_be_fractions(scale):
    replay = make(num_envs=1, windows="whole", history=1, reward_scale=scale, reward_bounds=(-1, 0.5))
    for row, reward in enumerate([0, -7, 0.25, 3]):
        replay.append([0], [row], [reward / scale], np.zeros((1, *SHAPE)), [False])
    assert {action: value[1] for action, value in drawn(replay).items()} == {1: -1.0, 2: 0.25, 3: 0.5}


def assert_equal(one, other):
    for field in dataclasses.fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


@pytest.mark.parametrize("prioritised", [False, True])
def test_two_transitions_among_many_rows_are_found_and_none_is_refused(prioritised):
    replay = make(capacity=6_000, num_envs=1, windows="whole", prioritised=prioritised)

    def append(lengths):
        for length in lengths:
            for row in range(length):
                replay.append([0], [0], [0], np.zeros((1, *SHAPE)), [row == length - 1])

    append([4] * 700)
    assert not replay.can_sample
    append([5, 5] + [4] * 500)
    assert replay.can_sample
    assert replay.valid_rows().tolist() == [2_804, 2_809]
    rows = replay.sample(1_000, np.random.default_rng(0)).rows
    assert set(rows.tolist()) == {2_804, 2_809}
    assert (rows == 2_804).mean() == pytest.approx(0.5, abs=0.06)


def test_rows_are_drawn_in_proportion_to_their_priorities_and_weighted_against_it():
    replay = make(num_envs=2, capacity=200, prioritised=True, exponent=0.5)
    stream = Stream(replay, num_envs=2, windows="padded", seed=3)
    stream.go(250)
    rows = replay.valid_rows()
    errors = np.random.default_rng(0).normal(size=len(rows)) * 4
    replay.update(rows, errors)
    sample = replay.sample(300 * len(rows), np.random.default_rng(1), beta=0.7)
    chances = np.sqrt(np.abs(errors) + 1e-6)
    chances /= chances.sum()
    counts = (sample.rows[:, None] == rows).sum(axis=0)
    assert counts.sum() == len(sample.rows)
    expected = chances * len(sample.rows)
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert abs(chi_square - len(rows)) < 5 * np.sqrt(2 * len(rows))
    chance_of = dict(zip(rows.tolist(), chances, strict=True))
    weights = np.array([(len(rows) * chance_of[row]) ** -0.7 for row in sample.rows.tolist()])
    np.testing.assert_allclose(sample.weights, weights / weights.max(), rtol=1e-5)


def test_without_priorities_all_weights_are_1_and_errors_are_ignored():
    replay = make()
    Stream(replay, num_envs=3, windows="padded").go(50)
    before = replay.sample(32, np.random.default_rng(1))
    replay.update(before.rows, np.full(32, 9.0))
    assert_equal(replay.sample(32, np.random.default_rng(1)), before)
    np.testing.assert_array_equal(before.weights, 1)


def test_new_rows_have_the_highest_priority_so_far_and_overwritten_rows_are_ignored():
    replay = make(num_envs=1, capacity=40, windows="whole", history=1, prioritised=True, exponent=1.0)

    def append(count):
        for _ in range(count):
            replay.append([0], [0], [0], np.zeros((1, *SHAPE)), [False])

    append(30)
    replay.update(np.arange(1, 30), np.array([5.0] + [1e-3] * 28))
    append(1)
    rows = replay.sample(1000, np.random.default_rng(0)).rows
    assert set(rows.tolist()) == {1, 30} | set(rows.tolist()) & set(range(2, 30))
    assert (rows == 30).mean() == pytest.approx(0.5, abs=0.06)
    append(20)
    replay.update(np.array([1, 5, 50]), np.array([1e9, 1e9, 1e-6]))  # 1 and 5 have been overwritten
    rows = replay.sample(1000, np.random.default_rng(0)).rows
    assert rows.min() > 11
    assert not (rows == 50).any()
    counts = np.unique(rows[rows >= 30], return_counts=True)[1]
    assert len(counts) == 20
    assert counts.min() > 20  # of 50 expected: no row got the priority of rows 1 and 5


@pytest.mark.parametrize(("windows", "steps"), KINDS)
@pytest.mark.parametrize("prioritised", [False, True])
@pytest.mark.parametrize("before", [25, 200])
def test_a_killed_run_continues_from_its_saved_state_although_rows_were_added(
    tmp_path, windows, steps, prioritised, before
):
    options = {"windows": windows, "steps": steps, "prioritised": prioritised}
    options |= {"slack": 30, "capacity": 90, "folder": tmp_path}

    def play(replay, stream, count, *, seed):
        """Plays and learns; returns the batches."""
        random, samples = np.random.default_rng(seed), []
        for _ in range(count):
            stream.go(1)
            if replay.can_sample:
                samples.append(replay.sample(16, random))
                replay.update(samples[-1].rows, random.normal(size=16) * 3)
        return samples

    replay = make(**options)
    stream = Stream(replay, num_envs=3, windows=windows)
    play(replay, stream, before, seed=1)
    state = json.dumps(replay.get_state())
    arrays = replay.get_arrays()
    twin = {name: getattr(stream, name) for name in ("segments", "is_over")}
    kept = {name: list(value) for name, value in twin.items()}
    lengths, kept_random = [len(rows) for rows in stream.rows], stream.random.bit_generator.state
    uninterrupted = play(replay, stream, 28, seed=2)

    def resumed():
        other = make(**options)
        other.set_state(json.loads(state), arrays)
        again = Stream(other, num_envs=3, windows=windows)
        again.rows = [rows[:length] for rows, length in zip(stream.rows, lengths, strict=True)]
        again.segments, again.is_over = list(kept["segments"]), list(kept["is_over"])
        again.random.bit_generator.state = kept_random
        return other, again

    for count in (9, 28):  # killed once more, then to the end
        other, again = resumed()
        samples = play(other, again, count, seed=2)
        for one, same in zip(uninterrupted, samples, strict=False):
            assert_equal(one, same)
    assert len(samples) == len(uninterrupted) > 20


def test_what_a_continued_run_adds_is_there_when_it_continues_once_more(tmp_path):
    options = {"slack": 30, "capacity": 90, "folder": tmp_path, "prioritised": True}
    replay, uninterrupted = make(**options), make(**{**options, "folder": None})
    stream, twin = (Stream(each, num_envs=3, windows="padded") for each in (replay, uninterrupted))
    for _ in range(12):
        stream.go(20)
        twin.go(20)
        priorities = replay.get_arrays()["priorities"]
        assert (priorities > 0).sum() <= len(replay)  # rows that cannot be drawn have no priority
        state = replay.get_state()
        stream.replay = replay = make(**options)
        replay.set_state(state, {"priorities": priorities})
    assert replay.valid_rows().tolist() == uninterrupted.valid_rows().tolist()
    sample = replay.sample(300, np.random.default_rng(0))
    assert named(sample.rows, 3) <= stream.valid(length=30, history=4, steps=1)
    stream.check(sample, history=4, steps=1, discount=0.99, bounds=(-1, 1))


def saved(folder, **options):
    """Returns the options and the state of a memory with files."""
    options = {"num_envs": 2, "capacity": 60, "slack": 5, "folder": folder, "windows": "padded", **options}
    replay = make(**options)
    Stream(replay, num_envs=2, windows="padded").go(100)
    return options, replay.get_state(), replay


def test_more_rows_than_the_slack_are_refused_until_the_state_is_saved_again(tmp_path):
    replay = saved(tmp_path)[2]
    screens = np.zeros((1, *SHAPE), np.uint8)
    for _ in range(2):
        for _ in range(5):
            replay.begin([1], screens)
        with pytest.raises(ValueError, match="6 rows of an environment since the state was saved, but slack is 5"):
            replay.begin([1], screens)
        replay.begin([0], screens)
        replay.get_state()


def test_without_a_folder_a_state_says_that_nothing_is_kept_and_gives_an_empty_memory():
    replay = make(prioritised=True)
    stream = Stream(replay, num_envs=3, windows="padded")
    stream.go(100)
    state = json.loads(json.dumps(replay.get_state()))
    assert not state["is_kept"]
    assert replay.get_arrays() == {}
    stream.go(100)  # there is no slack
    replay = make(prioritised=True)
    replay.set_state(state, {})
    assert len(replay) == 0
    assert not replay.can_sample


def test_a_new_memory_does_not_touch_files_until_it_is_used(tmp_path):
    options, state, _ = saved(tmp_path)
    contents = (tmp_path / "screens.npy").read_bytes()
    replay = make(**options)
    assert (tmp_path / "screens.npy").read_bytes() == contents
    replay.begin([0], np.zeros((1, *SHAPE)))  # the start of a new run
    assert not replay.can_sample
    assert (tmp_path / "screens.npy").read_bytes() != contents
    with pytest.raises(NeurozooError, match="hold other rows than the saved state knows"):
        make(**options).set_state(state, {})


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def empty(path):
    path.write_bytes(b"")


def reshape(path):
    np.save(path, np.zeros(3, np.load(path).dtype))


def retype(path):
    np.save(path, np.load(path).astype(np.float64))


def to_folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("name", "harm"),
    [
        ("screens", lambda path: path.unlink()),
        *(("actions", cut), ("rewards", empty), ("terminals", reshape), ("ages", retype), ("screens", to_folder)),
    ],
)
def test_a_missing_or_damaged_file_is_named_together_with_what_to_do(tmp_path, name, harm):
    options, state, _ = saved(tmp_path)
    path = tmp_path / f"{name}.npy"
    harm(path)
    with pytest.raises(NeurozooError, match="Delete it all") as error:
        make(**options, remedy="Delete it all.").set_state(state, {})
    assert str(path) in str(error.value)


def test_a_memory_that_does_not_fit_is_refused_with_the_numbers(monkeypatch, tmp_path):
    monkeypatch.setattr(memory, "available_memory", lambda: 5_000_000_000)
    with pytest.raises(NeurozooError) as error:
        Replay(capacity=1_000_000, num_envs=1, windows="whole")
    assert "needs 7.1 GB of memory, but 5.0 GB are available. Choose a smaller replay_size" in str(error.value)
    assert "keep_replay: true" in str(error.value)
    monkeypatch.setattr(memory, "available_disk", lambda folder: 1_000_000_000)
    with pytest.raises(NeurozooError, match=r"needs 7.1 GB on the disk of .*, but 1.0 GB are available"):
        Replay(capacity=1_000_000, num_envs=1, windows="whole", folder=tmp_path)


def test_a_disk_that_is_too_small_after_all_is_noticed_at_the_first_row(small_disk):
    message, left = small_disk(
        """
import numpy as np
from neurozoo.compute import memory
from neurozoo.algorithms.dqn.replay import Replay
memory.available_disk = lambda folder: 10**9  # as if another program took the space afterwards
replay = Replay(capacity=10_000, num_envs=1, windows="whole", folder=sys.argv[1])
message = refusal(lambda: replay.append([0], [0], [0], np.zeros((1, 84, 84)), [False]))
print(json.dumps([message, os.listdir(sys.argv[1])]))
"""
    )
    assert "needs 70.7 MB in" in message
    assert "No space left on device" in message
    assert "smaller replay_size" in message
    assert left == []
