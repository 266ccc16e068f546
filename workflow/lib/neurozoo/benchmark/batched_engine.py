"""Speed of the batched engine, and how long it waits for environments and networks."""

import itertools
import os
import time
from dataclasses import dataclass

from neurozoo.benchmark.workload import make_workload
from neurozoo.evaluation import DEFAULT_SLOTS
from neurozoo.evaluation.batched import BatchedEvaluator
from neurozoo.evaluation.reference import collect_reference


@dataclass(frozen=True)
class BatchedSpeed:
    """The measured speed for one network and game.

    Attributes:
        network: Network name.
        game: Game id.
        backend: Keras' backend.
        device: Device that computed the networks.
        slots: Number of episodes at once.
        threads: Threads that step the environments.
        episodes: Episodes that ended during the measurement.
        frames_per_second: Emulator frames per second of wall time. If the frame skip is random, its mean is used.
        decisions_per_second: Decisions of all agents.
        emulator_share: Share of the time in which at least one environment was stepped. For the rest, all waited for
            networks.
    """

    network: str
    game: str
    backend: str
    device: str
    slots: int
    threads: int
    episodes: int
    frames_per_second: float
    decisions_per_second: float
    emulator_share: float


def measure_batched(
    network: str,
    game: str,
    *,
    threads: int,
    seconds: float,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    slots: int = DEFAULT_SLOTS,
    protocol: str | None = None,
) -> BatchedSpeed:
    """Plays the benchmark's episodes again and again, as a generation does, and counts the frames.

    The count starts when all slots play and everything is compiled.

    Args:
        network: Network name.
        game: Game id of an Atari game.
        threads: Threads that step the environments.
        seconds: Duration of the measurement.
        ops: The op library.
        noise: The noise table.
        slots: Number of episodes at once.
        protocol: Name of the evaluation protocol; None for the game's own.

    Raises:
        NeurozooError: Something is missing or unknown, or the slots do not fit into memory.
    """
    import keras

    load = make_workload(network, game, noise=noise, protocol=protocol)
    numbers = itertools.count()
    with BatchedEvaluator(
        ops=ops, noise=noise, layout=load.layout, game=game, protocol=load.protocol, threads=threads, slots=slots
    ) as evaluator:
        if load.layout.needs_reference:
            evaluator.set_reference(collect_reference(game, load.protocol, entropy=(0, 1)))
        evaluator.pin(load.parents)

        def submit(count: int) -> None:
            chosen = itertools.islice(numbers, count)
            evaluator.submit({number: load.episodes[number % len(load.episodes)] for number in chosen})

        def play_on() -> int:
            """Lets both halves of the slots make a step, and queues a new episode for each that ended."""
            finished = len(evaluator.receive(timeout=0.0))
            submit(finished)
            return finished

        submit(3 * slots)  # for each slot one episode that plays and two that wait
        while evaluator.usage.decisions < 10 * slots:
            play_on()
        begin, before, episodes = time.perf_counter(), evaluator.usage, 0
        while (wall := time.perf_counter() - begin) < seconds:
            episodes += play_on()
        after, device = evaluator.usage, evaluator.device
    decisions = after.decisions - before.decisions
    fewest, most = load.protocol.least_frame_skip or load.protocol.frame_skip, load.protocol.frame_skip
    return BatchedSpeed(
        network=network,
        game=game,
        backend=keras.backend.backend(),
        device=device,
        slots=slots,
        threads=threads,
        episodes=episodes,
        frames_per_second=decisions * (fewest + most) / 2 / wall,
        decisions_per_second=decisions / wall,
        emulator_share=(after.world_seconds - before.world_seconds) / wall,
    )
