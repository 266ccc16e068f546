"""The replay memory against a slow twin that keeps the whole stream, row by row, and reads the rules off it."""

import dataclasses
import itertools

import numpy as np
import pytest
from neurozoo.algorithms.dqn.replay import Replay

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
    """Plays games of random lengths in some worlds, tells the memory, and remembers everything."""

    def __init__(self, replay, *, worlds, windows, seed=0):
        self.replay, self.worlds, self.windows = replay, worlds, windows
        self.random = np.random.default_rng(seed)
        self.rows = [[] for _ in range(worlds)]
        self.segments = [0] * worlds
        self.is_over = [windows == "padded"] * worlds

    def screen(self, world):
        """The world, the number of the row and the segment, so that no two screens of a test are equal."""
        number = len(self.rows[world])
        return np.array([[world + 1, number % 256, number // 256], [self.segments[world] % 256, 7, 7]], np.uint8)

    def go(self, count):
        for _ in range(count):
            going = np.flatnonzero(self.random.random(self.worlds) < 0.8)  # not all worlds are equally quick
            ready = [world for world in going if not self.is_over[world]]
            waiting = [world for world in going if self.is_over[world]]
            if waiting:
                self.begin(waiting)
            if ready:
                self.step(ready)

    def begin(self, worlds):
        for world in worlds:
            self.segments[world] += 1
            self.is_over[world] = False
        screens = np.array([self.screen(world) for world in worlds])
        if self.windows == "whole":
            self.replay.seam(np.array(worlds))
            return
        self.replay.begin(np.array(worlds), screens)
        for world, screen in zip(worlds, screens, strict=True):
            self.rows[world].append(Row(screen, 0, 0.0, False, self.segments[world], True))

    def step(self, worlds):
        size = len(worlds)
        screens = np.array([self.screen(world) for world in worlds])
        actions = self.random.integers(18, size=size)
        rewards = self.random.choice([-2.5, -1, 0, 0.25, 1, 7], size=size)
        terminals = self.random.random(size) < 0.08
        breaks = self.random.random(size) < 0.04  # a game cut off, or over, or the seam before a test phase
        self.replay.append(np.array(worlds), actions, rewards, screens, terminals)
        for world, *row in zip(worlds, screens, actions, rewards, terminals, strict=True):
            self.rows[world].append(Row(*row, self.segments[world]))
        for world, is_terminal, is_break in zip(worlds, terminals, breaks, strict=True):
            if self.windows == "whole" and is_terminal:
                self.segments[world] += 1
            self.is_over[world] = bool(is_break)

    def valid(self, *, length, history, steps):
        """The rows that may be drawn, {(world, number), ...}, by the words of the specification."""
        valid = set()
        for world, rows in enumerate(self.rows):
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
                        valid.add((world, number))
                        break
                else:
                    valid.add((world, number))
        return valid

    def check(self, sample, *, history, steps, discount, bounds):
        """Compares a batch with the stream, element by element."""
        for entry, name in enumerate(sample.rows.tolist()):
            world, number = name % self.worlds, name // self.worlds
            rows = self.rows[world]
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


def make(*, windows="padded", capacity=120, worlds=3, **options):
    return Replay(capacity=capacity, worlds=worlds, shape=SHAPE, windows=windows, **options)


def named(rows, worlds):
    return {(row % worlds, row // worlds) for row in rows.tolist()}


@pytest.mark.parametrize(("windows", "steps"), KINDS)
@pytest.mark.parametrize("prioritised", [False, True])
@pytest.mark.parametrize(("worlds", "history", "slack"), [(1, 4, 0), (3, 4, 0), (3, 2, 7)])
def test_what_is_drawn_is_what_the_stream_allows_and_nothing_is_left_out(
    windows, steps, prioritised, worlds, history, slack
):
    length = 40
    replay = make(
        windows=windows,
        capacity=length * worlds,
        worlds=worlds,
        history=history,
        steps=steps,
        slack=slack,
        prioritised=prioritised,
        discount=0.9,
    )
    stream = Stream(replay, worlds=worlds, windows=windows, seed=worlds + steps)
    random = np.random.default_rng(1)
    wrapped = 0
    for _ in range(14):
        stream.go(11)
        assert len(replay) == sum(min(length, len(rows)) for rows in stream.rows)
        valid = stream.valid(length=length, history=history, steps=steps)
        assert named(replay.valid_rows(), worlds) == valid
        assert replay.can_sample == bool(valid)
        if not valid:
            continue
        sample = replay.sample(300, random)
        drawn = named(sample.rows, worlds)
        assert drawn <= valid
        assert len(drawn) > 0.7 * len(valid)
        stream.check(sample, history=history, steps=steps, discount=0.9, bounds=(-1, 1))
        wrapped += len(stream.rows[0]) > 2 * length
    assert wrapped > 3


@pytest.mark.parametrize(("windows", "steps"), KINDS)
def test_every_row_is_drawn_equally_often(windows, steps):
    replay = make(windows=windows, steps=steps)
    stream = Stream(replay, worlds=3, windows=windows)
    stream.go(200)
    valid = replay.valid_rows()
    counts = np.unique(replay.sample(200 * len(valid), np.random.default_rng(0)).rows, return_counts=True)[1]
    assert len(counts) == len(valid)
    # Chi-square: mean len(valid) - 1, standard deviation its root times the root of 2.
    chi_square = ((counts - 200) ** 2 / 200).sum()
    assert abs(chi_square - len(valid)) < 5 * np.sqrt(2 * len(valid))
