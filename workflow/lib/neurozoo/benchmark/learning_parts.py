"""What the parts of a deep Q-learner cost: the emulator alone, prediction alone, training alone."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.benchmark.flames import record_flames, write_flames
from neurozoo.benchmark.learning_loop import advance, open_learner
from neurozoo.benchmark.report import Column, Table
from neurozoo.errors import NeurozooError, unknown_name

# Whatever the settings say: what is measured begins soon, predicts every action, and goes on without tests.
MEASURED = {
    "random_steps": 500, "epsilon_start": 0.0, "epsilon_end": 0.0, "replay_size": 20_000, "keep_replay": False,
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
) -> dict[str, object]:
    """Lets a learner train for a while, and then each of its parts do as much alone.

    Args:
        algo: An algorithm that learns by steps.
        game: Game id.
        model: Network name.
        preset: Named settings.
        overrides: Settings that are otherwise. In any case the replay memory is small, epsilon 0, so that each action
            is predicted, the random phase short, and no test comes in between.
        steps: Of each part.
        threads: What the learner may use.
        flames: Where to write a flame graph of as much training; None for none.

    Returns:
        Plain JSON: `settings`, and `parts`: for each `part`, `steps_per_second`, and `microseconds` and
        `processor_microseconds` of a step.

    Raises:
        NeurozooError: Something is unknown, or the algorithm does not learn by steps.
    """
    if algo not in ALGORITHMS:
        raise unknown_name("algorithm", algo, ALGORITHMS)
    if not issubclass(ALGORITHMS[algo], DeepQLearner):
        raise NeurozooError(
            f"{algo!r} has no emulator, prediction and training apart, as dqn has. What an episode costs is measured "
            "by: python -m neurozoo bench"
        )
    chosen = {**(overrides or {}), **MEASURED}
    with TemporaryDirectory() as folder:
        names = {"preset": preset, "overrides": chosen, "threads": threads, "folder": Path(folder)}
        learner = open_learner(game, model, **names)
        try:
            advance(learner, learner.settings.random_steps + 200)  # everything is compiled now
            rows = [_timed("all together", steps, lambda: advance(learner, steps))]
            if flames is not None:
                title = f"{algo} {preset}, {model} in {game}: {steps} steps"
                write_flames(flames, record_flames(lambda: advance(learner, steps)), title=title)
            rows += [_timed(part, steps, run) for part, run in _parts(learner, steps).items()]
        finally:
            learner.close()
    facts = {"algo": algo, "game": game, "model": model, "preset": preset, "steps": steps, "threads": threads}
    return {"settings": {**facts, **chosen}, "parts": [*rows[1:], rows[0]]}


def _parts(learner: DeepQLearner, steps: int) -> dict[str, Callable[[], int]]:
    """Returns functions that make about so many steps of one part, and tell how many."""
    worlds, network, replay = learner.parts
    s = learner.settings
    random = np.random.default_rng(0)
    rounds = -(-steps // s.worlds)
    minibatches = max(1, steps * s.train_repeat // s.train_frequency)

    def play() -> int:
        for _ in range(rounds):
            worlds.send(random.integers(worlds.num_actions, size=s.worlds))
            step = worlds.receive()
            if (ended := step.is_over | step.is_cut).any():
                worlds.start_episodes(ended)
        return rounds * s.worlds

    def predict() -> int:
        for _ in range(rounds):
            network.values(worlds.stacks)
        return rounds * s.worlds

    def train() -> int:
        for _ in range(minibatches):
            sample = replay.sample(s.batch_size, random)
            replay.update(sample.rows, network.update(sample))
        return minibatches * s.train_frequency // s.train_repeat

    return {"emulator only": play, "prediction only": predict, "training only": train}


def _timed(part: str, steps: int, run: Callable[[], int]) -> dict[str, object]:
    wall, processor = time.perf_counter(), time.process_time()
    done = run()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return {
        "part": part,
        "steps_per_second": done / wall,
        "microseconds": 1e6 * wall / done,
        "processor_microseconds": 1e6 * processor / done,
    }


def as_table(report: Mapping) -> Table:
    """Lays a report of `profile_learning` out."""
    facts = report["settings"]
    return Table(
        f"{facts['algo']} {facts['preset']}, {facts['model']} in {facts['game']}, {facts['threads']} threads",
        "A step is a decision of one world, and its share of prediction and training.",
        (
            Column("part", "", lambda part: part["part"]),
            Column("speed", "steps/s", lambda part: part["steps_per_second"], ",.0f"),
            Column("time", "us/step", lambda part: part["microseconds"], ",.0f"),
            Column("processor", "us/step", lambda part: part["processor_microseconds"], ",.0f"),
        ),
        tuple(report["parts"]),
    )
