"""One side of a comparison of learners: a process that makes a given number of steps on request.

`python -m neurozoo.benchmark.learning_loop floor|learner ARGUMENTS` reads numbers of steps from standard input and
answers each with a line of JSON. `torch_dqn.py` and `torch_impala.py` do the same in another Python.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.dqn.learner import DeepQLearner
from neurozoo.algorithms.impala.learner import ImpalaLearner
from neurozoo.algorithms.learner import LearnerTask
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.benchmark.learning_floor import EmulatorAlone, measure_product, timed
from neurozoo.environments.game_networks import any_layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.environments.vector import AtariVectorEnvironment
from neurozoo.native import usable_core

Learner = DeepQLearner | ImpalaLearner


class _Enough(Exception):
    """Raised when the requested number of steps has been made."""


def advance(learner: Learner, steps: int) -> int:
    """Lets a learner make at least `steps` steps, and returns how many it made."""
    first = learner.steps

    def watch(frames: int, played: int) -> None:
        if learner.steps >= first + steps:
            raise _Enough

    try:
        while True:
            learner.learn(watch)
    except _Enough:
        return learner.steps - first


def open_learner(
    game: str,
    model: str,
    *,
    preset: str,
    overrides: dict,
    threads: int,
    folder: Path,
    core: str | os.PathLike | None = None,
) -> DeepQLearner:
    """Makes a new, untrained deep Q-learner of an Atari game. A replay memory in files is in `folder`.

    The native core plays the games, and computes the network, if it can be loaded.
    """
    task, found = _task("dqn", game, model, preset, overrides, threads, core)
    learner = DeepQLearner(task)
    network_core = found if task.settings.computes_natively(model) else None
    learner.open(folder=folder, remedy="Delete it.", network_core=network_core, threads=threads)
    return learner


def open_actor_critic(
    game: str, model: str, *, preset: str, overrides: dict, threads: int, core: str | os.PathLike | None = None
) -> ImpalaLearner:
    """Makes a new, untrained learner of `impala`. The arguments are those of `open_learner`."""
    keep_to_threads(threads)
    task, found = _task("impala", game, model, preset, overrides, threads, core)
    learner = ImpalaLearner(task)
    learner.open(network_core=found if task.settings.computes_natively(model) else None, threads=threads)
    return learner


def _task(
    algo: str, game: str, model: str, preset: str, overrides: dict, threads: int, core: str | os.PathLike | None
) -> tuple[LearnerTask, Path | None]:
    """Returns what a learner learns, and the native core if it can be loaded."""
    settings = resolve_settings(algo, preset=preset, overrides=overrides)
    protocol, found = protocol_of(game, settings.protocol, action_set=settings.action_set), usable_core(core)[0]
    task = LearnerTask(
        settings=settings,
        entropy=(settings.seed, 1),
        layout=any_layout_of(game, model, protocol),
        protocol=protocol,
        make_environments=lambda count, seed_of: AtariVectorEnvironment(
            game, protocol, count=count, threads=threads, seed_of=seed_of, core=found
        ),
    )
    return task, found


def answer(side: Callable[[int], dict]) -> None:
    """Reads numbers of steps from standard input, and prints the side's answers, until the input ends."""
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        print(json.dumps(side(int(line))), flush=True)


def main() -> None:
    """Runs the side that is named on the command line."""
    kind, given = sys.argv[1], json.loads(sys.argv[2])
    if kind == "floor":
        emulator = EmulatorAlone(given["game"], core=given["core"])
        threads = given["threads"]
        answer(lambda _: {"product": measure_product(threads=threads), "emulator_seconds": emulator.seconds()})
        return
    with TemporaryDirectory() as folder:
        warm_up, algo = given.pop("warm_up"), given.pop("algo")
        learner = open_actor_critic(**given) if algo == "impala" else open_learner(**given, folder=Path(folder))
        advance(learner, warm_up)

        def side(steps: int) -> dict:
            done, wall, processor = timed(lambda: advance(learner, steps))
            return {"steps_per_second": done / wall, "processor_milliseconds": 1e3 * processor / done}

        answer(side)
        learner.close()


if __name__ == "__main__":
    main()
