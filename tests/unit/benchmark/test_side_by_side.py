"""Sides that are measured in turn."""

import json
import sys

import pytest
from neurozoo.benchmark import side_by_side
from neurozoo.benchmark.side_by_side import Side, as_table, compare
from neurozoo.errors import NeurozooError

ECHO = (
    "import sys\nprint('{}', flush=True)\nfor line in sys.stdin: print('{\"steps\": ' + line.strip() + '}', flush=True)"
)


def test_a_side_answers_until_it_is_closed():
    side = Side("echo", [sys.executable, "-c", ECHO])
    assert [side.ask(3), side.ask(5)] == [{"steps": 3}, {"steps": 5}]
    side.close()


def test_a_side_that_cannot_begin_is_named():
    with pytest.raises(NeurozooError, match="PyTorch ended with status 3"):
        Side("PyTorch", [sys.executable, "-c", "import sys; sys.exit(3)"])


SPEEDS = {
    "neurozoo": [100, 50, 10],
    "neurozoo, bfloat16": [300, 300, 300],
    "neurozoo in Keras": [9, 9, 9],
    "PyTorch, 1 thread": [50, 20, 40],
    "PyTorch, 2 threads": [10, 10, 10],
    "PyTorch, compiled, 1 thread": [10, 10, 10],
    "PyTorch, compiled, 2 threads": [10, 10, 10],
    "PyTorch, bfloat16, 1 thread": [10, 10, 10],
    "PyTorch, bfloat16, 2 threads": [10, 10, 10],
    "PyTorch, compiled, bfloat16, 1 thread": [10, 10, 10],
    "PyTorch, compiled, bfloat16, 2 threads": [10, 10, 10],
}


class FakeSide:
    """Answers with a speed that changes from turn to turn, as the machine's does."""

    def __init__(self, name, command):
        self.name, self.turn, self.command = name, 0, command

    def ask(self, steps):
        self.turn += 1
        if self.name == "floor":
            return {"product": 1e9, "emulator_seconds": 0.0}
        return {"steps_per_second": SPEEDS[self.name][self.turn - 1], "processor_milliseconds": 5.0}

    def close(self):
        pass


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(side_by_side, "processor_flags", lambda: {"avx512_bf16"})
    monkeypatch.setattr(side_by_side, "Side", FakeSide)
    monkeypatch.setattr(side_by_side, "measure_peak", lambda **_: {"multiply_adds_per_second": 141e9})


def test_ratios_are_medians_of_the_turns_not_ratios_of_medians(fake):
    report = compare(torch_python="python", repeats=3, threads=2, core="no.so", tell=lambda line: None)
    sides = {side["name"]: side for side in report["sides"]}
    assert list(sides) == ["floor", *SPEEDS]
    assert sides["PyTorch, 1 thread"]["ratio"] == pytest.approx(0.5)  # of 0.5, 0.4 and 4
    # Two cores of 141 billion are more than the product reached, and a step needs 282 million.
    assert sides["floor"]["steps_per_second"] == pytest.approx(282e9 / report["multiply_adds_per_step"])
    assert sides["neurozoo"]["share_of_floor"] == pytest.approx(50 / sides["floor"]["steps_per_second"])
    assert "of the floor" in as_table(report).as_text()


def test_emulators_of_many_environments_play_at_once(monkeypatch, fake):
    def ask(self, steps):
        if self.name == "floor":
            return {"product": 1e30, "emulator_seconds": 0.01}
        return {"steps_per_second": 1.0, "processor_milliseconds": 5.0}

    monkeypatch.setattr(FakeSide, "ask", ask)
    for algo, speed in (("dqn", 100), ("impala", 200)):
        report = compare(algo=algo, repeats=1, threads=2, core="no.so", tell=lambda line: None)
        assert report["sides"][0]["steps_per_second"] == pytest.approx(speed)


def test_impala_is_measured_in_keras_with_a_shard_per_thread_and_in_bfloat16_too(monkeypatch, fake):
    asked = {}

    def ask(self, steps):
        asked[self.name] = self.command
        if self.name == "floor":
            return {"product": 1e9, "emulator_seconds": 0.0}
        return {"steps_per_second": 3.0 if self.name == "neurozoo" else 4.5, "processor_milliseconds": 5.0}

    monkeypatch.setattr(FakeSide, "ask", ask)
    report = compare(algo="impala", repeats=1, threads=2, core="no.so", tell=lambda line: None)
    assert [(side["name"], side["ratio"]) for side in report["sides"][1:]] == [
        ("neurozoo", 1),
        ("neurozoo, bfloat16", 1.5),
        ("neurozoo in Keras", 1.5),
        ("neurozoo in Keras, bfloat16", 1.5),
    ]
    names = ("", " in Keras", " in Keras, bfloat16")
    one, halves, other = (json.loads(asked[f"neurozoo{name}"][-1]) for name in names)
    overrides = one.pop("overrides")
    assert "shards" not in overrides
    in_keras = overrides | {"engine": "keras", "shards": 2}
    assert halves.pop("overrides") == in_keras
    assert other.pop("overrides") == in_keras | {"dtype": "mixed_bfloat16"}
    assert other == halves == one


@pytest.mark.parametrize(("algo", "sentence"), [("dqn", "'nature', but"), ("impala", "'impala_shallow' or 'impala_d")])
def test_pytorch_has_few_networks(fake, algo, sentence):
    model = "small" if algo == "dqn" else "impala_gym_simple"
    with pytest.raises(NeurozooError, match=f"only has the network {sentence}"):
        compare(algo=algo, model=model, torch_python="python", repeats=1, core="no.so")


def test_other_algorithms_are_not_compared(fake):
    with pytest.raises(NeurozooError, match="algorithm to compare 'ga' is unknown"):
        compare(algo="ga", core="no.so")
