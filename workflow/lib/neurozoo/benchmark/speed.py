"""Speed of an engine that plays whole episodes."""

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from neurozoo.benchmark.workload import Workload
from neurozoo.evaluation import EpisodeResult, Evaluator, make_evaluator
from neurozoo.evaluation.reference import collect_reference


@dataclass(frozen=True)
class Speed:
    """The measured speed for one network, game and number of threads.

    Attributes:
        network: Network name.
        game: Game id.
        engine: Name of the engine.
        threads: Number of episodes at once.
        episodes: Number of episodes that were counted.
        frames_per_second: Emulator frames of all threads per second of wall time.
        frames_per_second_per_core: Frames per second of busy thread time, which includes making weights.
        frames_per_processor_second: Frames per second of processor time, which does not depend on other load.
        steps_per_second_per_core: Decisions, each one forward pass, per second of busy thread time.
    """

    network: str
    game: str
    engine: str
    threads: int
    episodes: int
    frames_per_second: float
    frames_per_second_per_core: float
    frames_per_processor_second: float
    steps_per_second_per_core: float


def native_evaluator(
    workload: Workload, *, threads: int, ops: str | os.PathLike, noise: str | os.PathLike
) -> Evaluator:
    """Makes the op library's engine."""
    return make_evaluator(
        game=workload.game, layout=workload.layout, protocol=workload.protocol, ops=ops, noise=noise, threads=threads
    )


# Engines by name: each entry makes an evaluator for a workload.
ENGINES: dict[str, Callable[..., Evaluator]] = {"native": native_evaluator}


def measure_speed(
    workload: Workload,
    *,
    threads: int,
    seconds: float,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    engine: str = "native",
    at_end: Callable[[], None] | None = None,
) -> Speed:
    """Plays the workload's episodes again and again, as a generation does, and counts the frames.

    The clock starts and stops while episodes run, so no thread is idle during the measurement.

    Args:
        workload: The episodes to play.
        threads: Number of episodes at once.
        seconds: Least duration of the measurement; it ends with a complete round of the workload.
        ops: The op library.
        noise: The noise table.
        engine: A key of `ENGINES`.
        at_end: Called at the end, while the engine is still open.

    Raises:
        NeurozooError: A file is missing or a name is unknown.
    """
    numbers = itertools.count()
    with ENGINES[engine](workload, threads=threads, ops=ops, noise=noise) as evaluator:
        if workload.layout.needs_reference:
            evaluator.set_reference(collect_reference(workload.game, workload.protocol, entropy=(0, 1)))
        evaluator.pin(workload.parents)

        def submit(count: int) -> None:
            chosen = itertools.islice(numbers, count)
            evaluator.submit({number: workload.episodes[number % len(workload.episodes)] for number in chosen})

        def receive() -> list[EpisodeResult]:
            news = evaluator.receive(timeout=1.0)
            submit(len(news))
            return list(news.values())

        submit(3 * threads)  # for each thread one episode that plays and two that wait
        warm_up = 0
        while warm_up < threads:
            warm_up += len(receive())
        results: list[EpisodeResult] = []
        begin, processor = time.perf_counter(), time.process_time()
        while not results or len(results) % len(workload.episodes) or time.perf_counter() - begin < seconds:
            results += receive()
        wall, processor = time.perf_counter() - begin, time.process_time() - processor
        if at_end is not None:
            at_end()
    frames, busy = sum(r.frames for r in results), sum(r.seconds for r in results)
    return Speed(
        network=workload.network,
        game=workload.game,
        engine=engine,
        threads=threads,
        episodes=len(results),
        frames_per_second=frames / wall,
        frames_per_second_per_core=frames / busy,
        frames_per_processor_second=frames / processor,
        steps_per_second_per_core=sum(r.steps for r in results) / busy,
    )
