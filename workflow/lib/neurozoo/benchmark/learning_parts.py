"""The cost of a deep Q-learner's parts: the emulator alone, prediction alone, training alone."""

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.benchmark.flames import record_flames, write_flames
from neurozoo.benchmark.learning_floor import play_randomly, timed
from neurozoo.benchmark.learning_loop import advance, open_learner
from neurozoo.benchmark.report import Column, Table
from neurozoo.errors import NeurozooError

# These replace the given settings: learning begins soon, every action is predicted, and no test interrupts.
MEASURED = {
    "learning_starts": 500, "epsilon_start": 0.0, "epsilon_end": 0.0, "replay_size": 20_000, "keep_replay": False,
    "epoch_steps": 1_000_000_000,
}  # fmt: skip


def profile_learning(
    *,
    algo: str = "dqn",
    game: str = "pong",
    model: str = "nature",
    preset: str = "nature",
    overrides: Mapping[str, object] | None = None,
    steps: int = 1000,
    threads: int,
    flames: str | os.PathLike | None = None,
    core: str | os.PathLike | None = None,
) -> dict[str, object]:
    """Times a learner's training, and then each of its parts alone for the same number of steps.

    `MEASURED` replaces settings of `preset` and `overrides`: the replay memory is small, epsilon is 0, so that each
    action is predicted, the random phase is short, and there are no tests. `flames` is a file for a flame graph of the
    same number of training steps. The native core plays the games if it can be loaded.

    Returns:
        Plain JSON: `settings`, and `parts`: for each `part`, `steps_per_second`, and `microseconds` and
        `processor_microseconds` of a step.

    Raises:
        NeurozooError: A name is unknown, or the algorithm does not learn step by step.
    """
    if get_algorithm(algo).name != "dqn":
        raise NeurozooError(
            f"{algo!r} cannot be profiled: it has no separate emulator, prediction and training. Choose an algorithm "
            "like dqn, or measure whole episodes with: python -m neurozoo bench"
        )
    chosen = {**(overrides or {}), **MEASURED}
    with TemporaryDirectory() as folder:
        learner = open_learner(
            game, model, preset=preset, overrides=chosen, threads=threads, folder=Path(folder), core=core
        )
        try:
            advance(learner, learner.settings.learning_starts + 200)  # afterwards everything is compiled
            rows = [_row("all together", lambda: advance(learner, steps))]
            if flames is not None:
                title = f"{algo}, {model} in {game}: {steps} steps"
                write_flames(flames, record_flames(lambda: advance(learner, steps)), title=title)
            rows += [_row(part, run) for part, run in _parts(learner, steps).items()]
        finally:
            learner.close()
    facts = {"algo": algo, "game": game, "model": model, "steps": steps, "threads": threads}
    return {"settings": {**facts, **asdict(learner.settings)}, "parts": [*rows[1:], rows[0]]}


def _parts(learner: DeepQLearner, steps: int) -> dict[str, Callable[[], int]]:
    """Returns functions that make about `steps` steps of one part, and return how many they made."""
    environments, network, replay = learner.parts
    s = learner.settings
    random = np.random.default_rng(0)
    rounds = -(-steps // s.num_envs)
    minibatches = max(1, steps * s.train_repeat // s.train_frequency)

    def play() -> int:
        play_randomly(environments, rounds, random)
        return rounds * s.num_envs

    def predict() -> int:
        for _ in range(rounds):
            network.values(environments.stacks)
        return rounds * s.num_envs

    def train() -> int:
        for _ in range(minibatches):
            sample = replay.sample(s.batch_size, random)
            replay.update(sample.rows, network.update(sample))
        return minibatches * s.train_frequency // s.train_repeat

    return {"emulator only": play, "prediction only": predict, "training only": train}


def _row(part: str, run: Callable[[], int]) -> dict[str, object]:
    done, wall, processor = timed(run)
    return {
        "part": part,
        "steps_per_second": done / wall,
        "microseconds": 1e6 * wall / done,
        "processor_microseconds": 1e6 * processor / done,
    }


def as_table(report: Mapping) -> Table:
    """Returns a report of `profile_learning` as a table."""
    facts = report["settings"]
    return Table(
        f"{facts['algo']}, {facts['model']} in {facts['game']}, {facts['threads']} threads",
        "A step is a decision of one environment, with its share of prediction and training.",
        (
            Column("part", "", "part"),
            Column("speed", "steps/s", "steps_per_second", ",.0f"),
            Column("time", "us/step", "microseconds", ",.0f"),
            Column("processor", "us/step", "processor_microseconds", ",.0f"),
        ),
        tuple(report["parts"]),
    )
