"""Learners on a GPU: steps per second beside loops in PyTorch, and how long Pong takes; for `gpu.sh`.

    KERAS_BACKEND=jax python -m neurozoo.benchmark.gpu --core LIBRARY --threads 16 --save gpu.json

Each row is a process of its own, which gets the whole device.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from neurozoo.algorithms.impala.presets import PRESETS
from neurozoo.benchmark.learning_loop import advance, open_actor_critic
from neurozoo.benchmark.side_by_side import Side
from neurozoo.environments.protocols import protocol_of
from neurozoo.environments.vector import AtariVectorEnvironment
from neurozoo.files import write_json
from neurozoo.machine import machine

GAME = "pong"
# The same number of steps in a rollout and in an update for all.
NETWORKS = {"pqn": "nature_layer_norm", "ppo": "impala_shallow", "vtrace": "impala_shallow"}
STARTS = {"pqn": "neurozoo_pqn", "ppo": "neurozoo", "vtrace": "impala_paper"}
_SHARED = (
    "num_envs", "unroll_length", "batch_size", "epochs", "learning_rate", "discount", "gae_lambda", "clip_ratio",
    "entropy_cost", "baseline_cost", "max_gradient_norm",
)  # fmt: skip


def overrides(objective: str, num_envs: int) -> dict[str, Any]:
    """Returns what differs from the preset of an objective: more environments, and no test within the measurement."""
    common = {"protocol": "machado2018", "num_envs": num_envs, "shards": 1, "epoch_steps": 10**9, "frames": 10**12}
    batch_size = num_envs // (2 if objective == "vtrace" else 16)
    return common | {"unroll_length": 20 if objective == "vtrace" else 16, "batch_size": batch_size}


def measure_environments(*, count: int, threads: int, core: Path, seconds: float) -> float:
    """Returns frames per second of two groups of environments that take turns, without any network: the floor."""
    import numpy as np

    protocol = protocol_of(GAME, "machado2018", action_set="minimal")
    groups = [
        AtariVectorEnvironment(
            GAME, protocol, count=count, threads=threads, seed_of=lambda *address: sum(address), core=core
        )
        for _ in range(2)
    ]
    random = np.random.default_rng(0)
    for group in groups:
        group.send(random.integers(group.num_actions, size=count))
    begin, steps = time.perf_counter(), 0
    while (spent := time.perf_counter() - begin) < seconds:
        for group in groups:
            result = group.receive()
            if (ended := result.is_over | result.is_cut).any():
                group.start_episodes(ended)
            group.send(random.integers(group.num_actions, size=count))
            steps += count
    for group in groups:
        group.receive()
        group.close()
    return protocol.frame_skip * steps / spent


def measure_learner(objective: str, *, num_envs: int, threads: int, core: Path, seconds: float) -> dict[str, float]:
    """Returns frames per second of a learner, and the seconds that it took to start and compile."""
    begin = time.perf_counter()
    wanted = overrides(objective, num_envs) | {"engine": "batched"}
    learner = open_actor_critic(
        GAME, NETWORKS[objective], preset=STARTS[objective], overrides=wanted, threads=threads, core=core
    )
    rollout = learner.settings.num_envs * learner.settings.unroll_length
    advance(learner, 4 * rollout)
    began, steps = time.perf_counter(), 0
    while (spent := time.perf_counter() - began) < seconds:
        steps += advance(learner, rollout)
    learner.close()
    return {"frames_per_second": 4 * steps / spent, "start_seconds": began - begin}


def measure_torch(
    objective: str, *, num_envs: int, threads: int, seconds: float, is_compiled: bool, device: str
) -> dict[str, float]:
    """Returns the same of the loop in PyTorch, `torch_gpu.py`."""
    settings = replace(PRESETS[STARTS[objective]], **overrides(objective, num_envs))
    given = {name: getattr(settings, name) for name in _SHARED}
    given |= {"game": GAME, "model": NETWORKS[objective], "objective": objective, "threads": threads}
    rollout = settings.num_envs * settings.unroll_length
    given |= {"compiled": is_compiled, "device": device, "warm_up": 4 * rollout}
    command = [sys.executable, str(Path(__file__).with_name("torch_gpu.py")), json.dumps(given)]
    begin = time.perf_counter()
    side = Side("PyTorch", command, environment=os.environ)
    began, speeds = time.perf_counter(), []
    while time.perf_counter() - began < seconds:
        speeds.append(side.ask(2 * rollout)["steps_per_second"])
    side.close()
    return {"frames_per_second": 4 * len(speeds) / sum(1 / each for each in speeds), "start_seconds": began - begin}


def main() -> None:
    """Measures what the command line names, or all of it, each in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--core", type=Path, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--num-envs", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--device", default="cuda", help="of PyTorch")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--row", nargs=2, help="one row alone, such as `neurozoo pqn`")
    options = parser.parse_args()
    common = {"num_envs": options.num_envs, "threads": options.threads, "seconds": options.seconds}
    if options.row:
        side, objective = options.row
        if side == "environments":
            speed = measure_environments(
                count=options.num_envs // 2, threads=options.threads, core=options.core, seconds=options.seconds
            )
            row = {"frames_per_second": speed}
        elif side == "neurozoo":
            row = measure_learner(objective, core=options.core, **common)
        else:
            row = measure_torch(objective, is_compiled=side == "compiled", device=options.device, **common)
        print(json.dumps({"side": side, "objective": objective, **row}))
        return
    rows = []
    sides = [("environments", "none")]
    sides += [(side, objective) for objective in NETWORKS for side in ("neurozoo", "eager", "compiled")]
    for side, objective in sides:
        command = [sys.executable, "-m", "neurozoo.benchmark.gpu", *sys.argv[1:], "--row", side, objective]
        answer = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        failed = {"side": side, "objective": objective, "status": answer.returncode}
        rows.append(failed if answer.returncode else json.loads(answer.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]), flush=True)
        if options.save:
            write_json(options.save, {"machine": machine(), "game": GAME, **common, "rows": rows})


if __name__ == "__main__":
    main()
