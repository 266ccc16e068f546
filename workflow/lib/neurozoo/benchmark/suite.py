"""All measurements, in one dictionary."""

import itertools
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from neurozoo.benchmark.alternative import measure_alternatives
from neurozoo.benchmark.apart import in_own_process, measure_memory
from neurozoo.benchmark.between import measure_decoding, measure_update
from neurozoo.benchmark.machine import machine, measure_peak, physical_cores, software
from neurozoo.benchmark.parts import Parts, measure_parts
from neurozoo.benchmark.speed import Speed, measure_speed
from neurozoo.benchmark.workload import make_workload
from neurozoo.errors import NeurozooError
from neurozoo.native import REBUILD, load_ops
from neurozoo.noise import open_noise_table

NETWORKS = ("large", "small", "recurrent_large")

# They differ in what they cost and in how much of the screen changes from step to step: a fortieth in Frostbite, nearly
# nothing in Pong, most in River Raid, which scrolls; and its episodes are short, so that starts count.
GAMES = ("frostbite", "pong", "riverraid")

UPDATED_NETWORK = "virtual_bn"  # the one that evolution strategies were published with
ALTERNATIVE_SECONDS = 2.0  # at most: it has 18 ways to measure


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
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    tell: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True),
) -> dict[str, object]:
    """Measures everything: about six minutes for the defaults on two cores.

    Args:
        networks: Network names.
        games: Atari games.
        threads: Numbers of episodes at once; None for `default_threads()`.
        seconds: Of each measurement of whole episodes.
        ops: The op library.
        noise: The noise table.
        tell: Is told what is measured next.

    Returns:
        Plain JSON: `machine`, `software`, `peak`, `results` (a `Speed` for each network, game and number of threads),
        `parts` (a `Parts` and what `judged` adds, for each network and game), `alternatives`, `memory`, `decoding`,
        `update`.

    Raises:
        NeurozooError: Something is missing or unknown, or a number is none to measure with.
    """
    threads = sorted(set(threads or default_threads()))
    if threads[0] < 1 or not 0 < seconds < math.inf:
        raise NeurozooError(
            f"The benchmark needs at least 1 thread and more than 0 seconds, but {threads[0]} and {seconds:g} came."
        )
    if not hasattr(load_ops(ops), "neurozoo_time_world"):
        raise NeurozooError(f"The op library {ops} is older than its sources, which measure more. {REBUILD}")
    workloads = [make_workload(network, game, noise=noise) for network in networks for game in games]
    open_noise_table(noise)
    files = {"ops": ops, "noise": noise}
    report: dict = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "software": software(ops),
        "settings": {"networks": list(networks), "games": list(games), "threads": threads, "seconds": seconds},
        "peak": measure_peak(threads=threads, ops=ops),
        "results": [],
        "parts": [],
    }
    for workload in workloads:
        tell(f"{workload.network} in {workload.game}")
        speeds = [measure_speed(workload, threads=count, seconds=seconds, **files) for count in threads]
        parts = measure_parts(workload, peak_multiply_adds=report["peak"]["multiply_adds_per_second"], **files)
        report["results"] += [asdict(speed) for speed in speeds]
        report["parts"].append(judged(parts, speeds[0]))
    tell("ale-py's vector environment with Keras")
    alternatives = in_own_process(
        measure_alternatives, games, networks, seconds=min(seconds, ALTERNATIVE_SECONDS), one_core=True
    )
    report["alternatives"] = [asdict(alternative) for alternative in alternatives]
    tell("memory, and what happens between episodes")
    report["memory"] = [
        in_own_process(measure_memory, workload, threads=threads[-1], **files)
        for workload in workloads
        if workload.game == games[0]
    ]
    report["decoding"] = [
        asdict(measure_decoding(network, games[0], threads=threads[-1], **files)) for network in networks
    ]
    bandwidth = 1e9 * report["peak"]["read_gigabytes_per_second"][str(threads[-1])]
    update = measure_update(UPDATED_NETWORK, games[0], threads=threads[-1], bandwidth=bandwidth, noise=noise)
    report["update"] = asdict(update)
    return report


def judged(parts: Parts, speed: Speed) -> dict[str, object]:
    """Puts the whole step beside its parts.

    Args:
        parts: What the parts cost.
        speed: What the same episodes as a whole reached, with as few threads as were measured.

    Returns:
        The fields of `parts`, and `frames_per_processor_second`; `step_microseconds`, of processor time, weights
        included; `rest_microseconds`, of these what no part explains; and `share_of_floor` and `share_of_done_floor`,
        1 for an engine that wastes nothing.
    """
    reached = speed.frames_per_processor_second
    step = 1e6 * parts.frames / parts.steps / reached
    explained = (
        parts.emulator_microseconds_per_frame * parts.frames / parts.steps
        + parts.preprocessing_microseconds_per_step
        + parts.forward_microseconds_per_step
    )
    return {
        **asdict(parts),
        "frames_per_processor_second": reached,
        "step_microseconds": step,
        "rest_microseconds": step - explained,
        "share_of_floor": reached / parts.floor_frames_per_second,
        "share_of_done_floor": reached / parts.done_floor_frames_per_second,
    }
