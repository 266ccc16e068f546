"""Tiny runs of searches through levels, which tests train, kill and continue, in processes of their own."""

import multiprocessing
import os
import signal
from pathlib import Path

from neurozoo.algorithms.quality_diversity.level_search import LevelSearchSession
from neurozoo.training import make_context, train
from neurozoo.training.state import RunState

TINY = {
    "dsage": {
        "evaluations": 60, "num_episodes": 4, "initial_solutions": 40, "inner_iterations": 4, "batch_size": 10,
        "num_emitters": 2, "initial_population": 10, "channels": 4, "occupancy_channels": 4, "residual_blocks": 1,
        "train_epochs": 4, "num_random": 9, "learning_rate": 0.01,
    },
    "map_elites": {"evaluations": 50, "num_episodes": 4, "batch_size": 8, "num_emitters": 2, "initial_population": 10},
    "cma_me": {"evaluations": 50, "num_episodes": 4, "batch_size": 8, "num_emitters": 2},
    "domain_randomization": {"evaluations": 50, "num_episodes": 4, "batch_size": 16},
}  # fmt: skip
RESULTS = ("archive.npz", "levels.parquet", "result.json")


def trained(run_dir, algo, model="plain", *, game="maze", run=1, core=None, threads=1, distributed=None, **changes):
    """Trains a tiny run and returns its folder."""
    settings = TINY[algo] | changes
    given = {"settings": settings, "run_dir": run_dir, "core": core, "threads": threads, "distributed": distributed}
    train(make_context(algo=algo, game=game, model=model, run=run, **given), terminal="log")
    return Path(run_dir)


def die_at(method, count):
    """Lets the process die when a method is called for the `count`-th time."""
    owner, name = {"propose": (LevelSearchSession, "_evaluate"), "save": (RunState, "save")}[method]
    original, calls = getattr(owner, name), 0

    def dying(*arguments, **named):
        nonlocal calls
        calls += 1
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments, **named)

    setattr(owner, name, dying)


def _train(method, count, *arguments):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    if method:
        die_at(method, count)
    trained(*arguments)


def _apart(method, count, *arguments):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tensorflow", "ribs", "neurozoo.training"])
    process = context.Process(target=_train, args=(method, count, *arguments))
    process.start()
    process.join()
    return process.exitcode


def trained_apart(run_dir, algo, model="plain"):
    """Trains a run in a process of its own; returns its folder.

    TensorFlow's sums depend on how a process has loaded it, so runs that should be equal are trained in equal ones.
    """
    assert _apart(None, 0, run_dir, algo, model) == 0
    return Path(run_dir)


def killed(run_dir, algo, model, *, method, count):
    """Trains a run in a process that kills itself; returns its folder."""
    assert _apart(method, count, run_dir, algo, model) == -signal.SIGKILL
    return Path(run_dir)
