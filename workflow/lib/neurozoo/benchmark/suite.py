"""Runs all measurements and returns one report."""

import itertools
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from neurozoo.benchmark.between_episodes import measure_decoding, measure_update
from neurozoo.benchmark.machine_peak import measure_peak, software
from neurozoo.benchmark.own_process import in_own_process, measure_memory
from neurozoo.benchmark.parts import measure_parts
from neurozoo.benchmark.rivals import measure_rivals
from neurozoo.benchmark.speed import make_workload, measure_speed
from neurozoo.errors import NeurozooError
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.machine import machine, physical_cores
from neurozoo.native import load_core

NETWORKS = ("large", "small", "recurrent_large")

# The games differ in cost and in how much of the screen changes from step to step: a fortieth in Frostbite, nearly
# nothing in Pong, most of it in River Raid, which scrolls. River Raid's episodes are short, so their starts count.
GAMES = ("frostbite", "pong", "riverraid")

UPDATED_NETWORK = "virtual_bn"  # the published network of evolution strategies


def default_threads() -> tuple[int, ...]:
    """Returns 1, 2, 4, ... up to the number of physical cores."""
    cores = physical_cores()
    doubled = itertools.takewhile(lambda count: count < cores, (2**power for power in itertools.count()))
    return (*doubled, cores)


def run_benchmark(
    *,
    networks: Sequence[str] = NETWORKS,
    games: Sequence[str] = GAMES,
    threads: Sequence[int] | None = None,
    seconds: float = 5.0,
    torch_python: str | os.PathLike | None = None,
    core: str | os.PathLike,
    noise: str | os.PathLike,
    tell: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> dict[str, object]:
    """Measures everything: about six minutes for the defaults on two cores.

    `threads` are numbers of threads to measure; None for `default_threads()`. Each measurement of whole episodes takes
    so many seconds. Without a Python that has PyTorch and EnvPool, nothing is compared with them. `tell` is called with
    a line about the measurement that starts.

    Returns:
        Plain JSON: `machine`, `software`, `peak`, `results` (of `measure_speed`, for each network, game and number of
        threads), `parts` (of `judged`, for each network and game), `rivals` (with PyTorch), `memory`, `decoding`,
        `update`.

    Raises:
        NeurozooError: A file is missing, a name is unknown, or a number is out of range.
    """
    threads = sorted(set(threads or default_threads()))
    if threads[0] < 1 or not 0 < seconds < math.inf:
        raise NeurozooError(
            f"The benchmark needs at least 1 thread and more than 0 seconds, but {threads[0]} and {seconds:g} came."
        )
    load_core(core)
    workloads = [make_workload(network, game, noise=noise) for network in networks for game in games]
    open_noise_table(noise)
    report: dict = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "software": software(core),
        "settings": {"networks": list(networks), "games": list(games), "threads": threads, "seconds": seconds},
        "peak": measure_peak(threads=threads, core=core),
        "results": [],
        "parts": [],
    }
    for workload in workloads:
        tell(f"{workload.network} in {workload.game}")
        speeds = [measure_speed(workload, threads=count, seconds=seconds, core=core, noise=noise) for count in threads]
        peak = report["peak"]["multiply_adds_per_second"]
        parts = measure_parts(workload, peak_multiply_adds=peak, core=core, noise=noise)
        report["results"] += speeds
        report["parts"].append(judged(parts, speeds[0]["frames_per_processor_second"]))
    if torch_python is not None:
        tell("other emulators, and populations in PyTorch")
        report["rivals"] = in_own_process(
            measure_rivals, games, networks, torch_python=torch_python, seconds=seconds, one_core=True
        )
    tell("memory, decoding of genomes, update of evolution strategies")
    report["memory"] = [
        in_own_process(measure_memory, workload, threads=threads[-1], core=core, noise=noise)
        for workload in workloads
        if workload.game == games[0]
    ]
    report["decoding"] = [
        measure_decoding(network, games[0], threads=threads[-1], core=core, noise=noise) for network in networks
    ]
    bandwidth = 1e9 * report["peak"]["read_gigabytes_per_second"][str(threads[-1])]
    report["update"] = measure_update(UPDATED_NETWORK, games[0], threads=threads[-1], bandwidth=bandwidth, noise=noise)
    return report


def judged(parts: Mapping[str, Any], reached: float) -> dict[str, Any]:
    """Compares the cost of the whole step, with the fewest threads, with the cost of its parts and with the floors.

    Returns:
        `parts`, and what was `reached`, `frames_per_processor_second`; `step_microseconds` of processor time, which
        includes making weights; `rest_microseconds`, the share of it that no part explains; and `share_of_floor` and
        `share_of_done_floor`, 1 for an engine that wastes no time.
    """
    frames = parts["frames"] / parts["steps"]
    step = 1e6 * frames / reached
    explained = (
        parts["emulator_microseconds_per_frame"] * frames
        + parts["preprocessing_microseconds_per_step"]
        + parts["forward_microseconds_per_step"]
    )
    return {
        **parts,
        "frames_per_processor_second": reached,
        "step_microseconds": step,
        "rest_microseconds": step - explained,
        "share_of_floor": reached / parts["floor_frames_per_second"],
        "share_of_done_floor": reached / parts["done_floor_frames_per_second"],
    }
