"""Measurements in a separate process: memory, and speed on one core."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from neurozoo.benchmark.speed import Workload, measure_speed


def in_own_process(function: Callable, *arguments: object, one_core: bool = False, **named: object):
    """Calls a function of a module in a new Python process that sees no GPUs, and perhaps only one core.

    It never hears of Ctrl-C, and ends with this one.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, initializer=_prepare, initargs=(one_core,)) as pool:
        try:
            before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a new process inherits
            try:
                answer = pool.submit(function, *arguments, **named)
            finally:
                signal.signal(signal.SIGINT, before)
            return answer.result()
        except BaseException:
            for process in multiprocessing.active_children():
                process.kill()
            raise


def _prepare(one_core: bool) -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    if one_core:  # before TensorFlow counts the cores to decide on its number of threads
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure_memory(
    workload: Workload, *, threads: int, core: str | os.PathLike, noise: str | os.PathLike
) -> dict[str, object]:
    """Measures the memory of a process that plays a workload. Call it in a new process.

    Returns:
        `network`, `threads`; `peak_megabytes`, the most memory in use, including files and the noise table; and
        `own_megabytes`, the memory that a second run on the machine would need again.
    """
    smaps: dict[str, float] = {}

    def at_end() -> None:
        smaps.update(_megabytes(Path("/proc/self/smaps_rollup").read_text()))

    measure_speed(workload, threads=threads, seconds=0.0, core=core, noise=noise, at_end=at_end)
    return {
        "network": workload.network,
        "threads": threads,
        "peak_megabytes": _megabytes(Path("/proc/self/status").read_text())["VmHWM"],
        "own_megabytes": smaps["Private_Dirty"],
    }


def _megabytes(text: str) -> dict[str, float]:
    lines = (line.split() for line in text.splitlines() if line.endswith(" kB"))
    return {words[0].rstrip(":"): 1024e-6 * int(words[1]) for words in lines}
