"""Compares the speed of a learner: this project, PyTorch, and the machine's limit, measured in turn."""

import itertools
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neurozoo.algorithms.settings import resolve_settings
from neurozoo.benchmark.learning_floor import LearningCosts, count_actor_critic, count_learning, floor_steps_per_second
from neurozoo.benchmark.machine_peak import measure_peak
from neurozoo.benchmark.report import Column, Table
from neurozoo.environments.game_networks import any_layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.machine import machine, physical_cores
from neurozoo.native.processor import processor_flags


@dataclass(frozen=True)
class Contest:
    """How this project's side of a comparison learns, and what the loop in PyTorch has of it."""

    title: str  # what a step is
    preset: str
    overrides: Mapping[str, object]
    torch_models: tuple[str, ...]  # the default first
    shared: tuple[str, ...]  # settings that the loop in PyTorch gets
    count: Callable[..., LearningCosts]  # counts the multiply-adds of a step
    warm_up: int  # steps that are not counted: random steps, and the first updates, which compile everything
    steps: int  # of a side in a turn: enough for ten updates


CONTESTS = {
    # The settings of Mnih et al. 2015, with CleanRL's changes. Every action is predicted, because the floor counts it.
    "dqn": Contest(
        title="deep Q-learning",
        preset="nature",
        overrides={
            "optimizer": "adam", "learning_rate": 1e-4, "target_update_period": 1_000, "epsilon_start": 0.0,
            "epsilon_end": 0.0, "learning_starts": 1_000, "replay_size": 100_000, "keep_replay": False,
        },
        torch_models=("nature",),
        shared=(
            "replay_size", "learning_starts", "batch_size", "train_frequency", "target_update_period", "learning_rate",
            "discount",
        ),
        count=count_learning,
        warm_up=1_200,
        steps=400,
    ),
    # The paper's settings with sticky actions, and no test in between.
    "impala": Contest(
        title="IMPALA",
        preset="impala_paper",
        overrides={
            "protocol": "machado2018", "action_set": "minimal", "optimizer_epsilon": 0.01, "epsilon_inside": False,
            "initial_accumulator": 0.0, "epoch_steps": 1_000_000_000, "frames": 1_000_000_000_000,
        },
        torch_models=("impala_shallow", "impala_deep"),
        shared=(
            "num_envs", "unroll_length", "batch_size", "learning_rate", "discount", "entropy_cost", "baseline_cost",
        ),
        count=count_actor_critic,
        warm_up=4_000,
        steps=6_400,
    ),
}  # fmt: skip


class Side:
    """A process that makes steps on request, by default without GPUs.

    Raises:
        NeurozooError: The process ended before it was ready.
    """

    def __init__(self, name: str, command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        without_gpus = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}
        self._process: Any = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment or without_gpus,
            start_new_session=True,  # Ctrl-C goes to this process only, which ends the other
        )
        try:
            self._read()
        except BaseException:
            self._process.terminate()
            self.close()
            raise

    def ask(self, steps: int) -> dict:
        """Lets it make a number of steps, and returns its answer."""
        self._process.stdin.write(f"{steps}\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            status = self._process.wait()
            raise NeurozooError(f"{self.name} ended with status {status}. Its output above says why.")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process."""
        self._process.stdin.close()
        self._process.wait()


def compare(
    *,
    algo: str = "dqn",
    game: str = "pong",
    model: str | None = None,
    torch_python: str | os.PathLike | None = None,
    steps: int | None = None,
    repeats: int = 7,
    threads: int | None = None,
    core: str | os.PathLike,
    tell: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> dict[str, object]:
    """Measures all sides in turn, again and again, so that other load on the machine affects all of them.

    Args:
        algo: `dqn` or `impala`.
        game: Atari game.
        model: Network; None for the first that the loop in PyTorch has.
        torch_python: A Python with torch, gymnasium, ale-py and opencv; None leaves that side out.
        steps: Steps of each side in a turn; None for enough of them.
        repeats: Number of turns.
        threads: Threads of each side; None for the number of physical cores.
        core: The native core.
        tell: Called with a line about the measurement that starts.

    Returns:
        Plain JSON: `machine`, `title`, `settings`, `multiply_adds_per_step`, `peak`, and `sides`: for each a name, the
        medians of `steps_per_second` and `processor_milliseconds` of a step, and the median over the turns of its
        `ratio` to this project and its `share_of_floor`.

    Raises:
        NeurozooError: A name is unknown, or a side cannot be run.
    """
    threads = threads or physical_cores()
    if algo not in CONTESTS:
        raise unknown_name("algorithm to compare", algo, CONTESTS)
    contest = CONTESTS[algo]
    steps = steps or contest.steps
    model = model or contest.torch_models[0]
    settings = resolve_settings(algo, preset=contest.preset, overrides=contest.overrides)
    layout = any_layout_of(game, model, protocol_of(game, settings.protocol, action_set=settings.action_set))
    costs = contest.count(layout, settings)
    peak_of_core = measure_peak(threads=[1], core=core)["multiply_adds_per_second"]
    shards = math.gcd(threads, settings.batch_size)  # equal parts of a batch
    in_bfloat16: dict[str, object] = {"dtype": "mixed_bfloat16"} if "avx512_bf16" in processor_flags() else {}
    variants: dict[str, dict[str, object]] = {"neurozoo": {}}
    if in_bfloat16:
        variants["neurozoo, bfloat16"] = in_bfloat16
    variants["neurozoo in Keras"] = in_keras = {"engine": "keras", "shards": shards}
    if in_bfloat16 and algo == "impala":
        variants["neurozoo in Keras, bfloat16"] = in_keras | in_bfloat16
    here = [sys.executable, "-m", "neurozoo.benchmark.learning_loop"]
    shared = {"game": game, "threads": threads, "core": os.fspath(core)}
    ours = {"algo": algo, "model": model, "preset": contest.preset, "overrides": contest.overrides, **shared}
    commands = {"floor": [*here, "floor", json.dumps(shared)]}
    for variant, changes in variants.items():
        given = {**ours, "overrides": {**contest.overrides, **changes}, "warm_up": contest.warm_up}
        commands[variant] = [*here, "learner", json.dumps(given)]
    if torch_python is not None:
        if model not in contest.torch_models:
            raise NeurozooError(
                f"PyTorch's side only has the network {' or '.join(map(repr, contest.torch_models))}, but --model is "
                f"{model!r}. Leave --torch out, or choose --model {contest.torch_models[0]}."
            )
        theirs = {name: getattr(settings, name) for name in contest.shared}
        theirs |= {"model": model} if algo == "impala" else {"epsilon": settings.epsilon_end}
        choices = {False, bool(in_bfloat16)}, (False, True), sorted({1, threads})
        for rounds, compiled, count in itertools.product(*map(sorted, choices)):
            chosen = {"threads": count, "compiled": compiled, "bfloat16": rounds}
            arguments = json.dumps({"game": game, "warm_up": contest.warm_up, **theirs, **chosen})
            kind = ", compiled" * compiled + ", bfloat16" * rounds
            name = f"PyTorch{kind}, {count} thread{'s' * (count > 1)}"
            commands[name] = [str(torch_python), str(Path(__file__).with_name(f"torch_{algo}.py")), arguments]
    turns: dict[str, list[dict]] = {name: [] for name in commands}
    sides = []
    try:
        for name, command in commands.items():
            tell(f"{name}: warming up")
            sides.append(Side(name, command))
        for turn in range(repeats):
            tell(f"turn {turn + 1} of {repeats}")
            for side in sides:
                turns[side.name].append(side.ask(steps))
    finally:
        for side in sides:
            side.close()
    peaks = [max(record["product"], threads * peak_of_core) for record in turns["floor"]]
    at_once = threads if settings.num_envs > 1 else 1  # emulators
    for record, peak in zip(turns["floor"], peaks, strict=True):
        emulator = record["emulator_seconds"]
        record["steps_per_second"] = floor_steps_per_second(costs, peak=peak, emulator_seconds=emulator / at_once)
        record["processor_milliseconds"] = 1e3 * (threads * costs.total / peak + emulator)
    return {
        "machine": machine(),
        "title": contest.title,
        "settings": {**ours, "threads": threads, "steps": steps, "repeats": repeats},
        "multiply_adds_per_step": costs.total,
        "peak": {
            "multiply_adds_per_second": statistics.median(peaks),
            "core_in_vectors_of_the_build": peak_of_core,
            "emulator_microseconds": 1e6 * statistics.median(r["emulator_seconds"] for r in turns["floor"]),
        },
        "sides": [_summary(name, turns) for name in turns],
    }


def _summary(name: str, turns: Mapping[str, Sequence[Mapping]]) -> dict[str, object]:
    own = turns[name]

    def median_ratio(other: str) -> float:
        pairs = zip(own, turns[other], strict=True)
        return statistics.median(a["steps_per_second"] / b["steps_per_second"] for a, b in pairs)

    return {
        "name": name,
        "steps_per_second": statistics.median(record["steps_per_second"] for record in own),
        "processor_milliseconds": statistics.median(record["processor_milliseconds"] for record in own),
        "least": min(record["steps_per_second"] for record in own),
        "most": max(record["steps_per_second"] for record in own),
        "ratio": median_ratio("neurozoo"),
        "share_of_floor": median_ratio("floor"),
    }


def as_table(report: Mapping) -> Table:
    """Returns a report of `compare` as a table."""
    peak, facts = report["peak"], report["settings"]
    million, billion = 1e-6 * report["multiply_adds_per_step"], 1e-9 * peak["multiply_adds_per_second"]
    note = (
        f"`{facts['model']}` in {facts['game']}, {facts['threads']} threads, medians of {facts['repeats']} turns of "
        f"{facts['steps']} steps of each side. The floor: {million:,.0f} million multiply-adds per step at "
        f"{billion:,.0f} billion per second, and {peak['emulator_microseconds']:,.0f} us for the emulator."
    )
    return Table(
        f"Steps of {report['title']} per second",
        note,
        (
            Column("side", "", "name"),
            Column("speed", "steps/s", "steps_per_second", ",.0f"),
            Column("least", "steps/s", "least", ",.0f"),
            Column("most", "steps/s", "most", ",.0f"),
            Column("processor", "ms/step", "processor_milliseconds", ".2f"),
            Column("to ours", "", "ratio", ".2f"),
            Column("of the floor", "", "share_of_floor", ".0%"),
        ),
        tuple(report["sides"]),
    )
