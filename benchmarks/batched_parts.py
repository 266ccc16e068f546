"""What a step of one half of the batched engine's slots takes: the networks, the copies, the environments.

    KERAS_BACKEND=jax PYTHONPATH=workflow/lib python benchmarks/batched_parts.py NETWORK SLOTS THREADS

Prints medians in milliseconds as a line of JSON, for Frostbite. `networks_alone` has its planes on the device and many
steps in a queue, so that no copy and no answer is waited for. It needs JAX. docs/gpu.md has the figures of an H100.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable

import jax
import numpy as np
from neurozoo.benchmark.workload import make_workload
from neurozoo.evaluation.array_backends import make_backend
from neurozoo.evaluation.slot_networks import SlotNetworks
from neurozoo.evaluation.world_pool import PLAYING, WorldPool

OPS, NOISE = "results/native/libneurozoo_ops.so", "results/noise/table.f32"
GAME, STEPS = "frostbite", 100


def milliseconds(act: Callable[[], object], times: int) -> list[float]:
    """Calls a function again and again and returns the wall time of each call."""
    spent = []
    for _ in range(times):
        begin = time.perf_counter()
        act()
        spent.append(1e3 * (time.perf_counter() - begin))
    return spent


def main(network: str, slots: int, threads: int) -> None:
    """Measures and prints."""
    load = make_workload(network, GAME, noise=NOISE)
    backend, half, rng = make_backend(), slots // 2, np.random.default_rng(0)
    networks = SlotNetworks(load.layout, slots=half, backend=backend)
    theta = rng.normal(scale=0.05, size=load.layout.parameter_count).astype(np.float32)
    for slot in range(half):
        networks.load(slot, networks.on_device(theta))
    copies = milliseconds(lambda: jax.block_until_ready(networks.on_device(theta)), 20)

    height, width, _ = load.layout.observation_shape
    planes, begun = rng.random((half, height, width, 1), dtype=np.float32), np.zeros(half, bool)
    there = backend.array(planes), backend.array(begun)
    np.asarray(networks.step(*there))  # compiles
    steps = milliseconds(lambda: np.asarray(networks.step(planes, begun)), STEPS)
    (queued,) = milliseconds(lambda: jax.block_until_ready([networks.step(*there) for _ in range(STEPS)]), 1)

    how = {"game": GAME, "protocol": load.protocol, "worlds": slots, "threads": threads, "behaviour": "none"}
    with contextlib.closing(WorldPool(OPS, **how)) as worlds:
        worlds.start(list(range(slots)), [load.episodes[slot % len(load.episodes)] for slot in range(slots)])

        def advance(first: int) -> np.ndarray:
            return worlds.advance(first, rng.random((half, load.layout.num_actions), dtype=np.float32))[2]

        for first in (0, half):
            advance(first)  # the resets
        environments = milliseconds(lambda: advance(0), 60)
        assert (advance(0) == PLAYING).all()
    print(
        json.dumps(
            {
                "network": network,
                "slots": slots,
                "threads": threads,
                "device": backend.device,
                "networks_alone": queued / STEPS,
                "networks_and_copies": float(np.median(steps)),
                "environments": float(np.median(environments)),
                "weights_of_an_agent": float(np.median(copies)),
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
