"""Measures how many workers a Dask scheduler can keep busy, with episodes of known duration.

    python benchmarks/dask_load.py workers          16 worker processes on this machine, episodes of 10 ms to 1 s
    python benchmarks/dask_load.py crowd            more and more workers in few processes, episodes of 1.5 s
    python benchmarks/dask_load.py all --json FILE

Episodes sleep instead of play, so two cores can stand in for a cluster. The path of an episode from the algorithm to a
worker and back is measured. `crowd` puts many workers with TLS into each of a few processes. The scheduler and the
client share one process, as in training. `crowd` stops when less than 90 % of the slots are busy.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.evaluation.distributed import DistributedEvaluator
from neurozoo.genomes.genome import Genome, Mutation

PARENTS = 20  # as in the published genetic algorithm
GENES = 500  # mutations of a parent, as after 500 generations
CROWD_PROCESSES = 2
IDLE_SECONDS = 5


class SleepingEvaluator:
    """An evaluator that sleeps instead of playing: an episode lasts `max_frames` milliseconds.

    Args:
        threads: Number of episodes at once.
    """

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads
        self._waiting: list[tuple[int, Episode]] = []
        self._playing: dict[int, tuple[float, Episode]] = {}

    def pin(self, genomes: object) -> None:
        """Takes no time."""

    def submit(self, episodes: dict[int, Episode]) -> None:
        """Queues episodes."""
        self._waiting += episodes.items()

    def receive(self, *, timeout: float) -> dict[int, EpisodeResult]:
        """Sleeps until an episode is over."""
        now = time.monotonic()
        while self._waiting and len(self._playing) < self._threads:
            number, episode = self._waiting.pop(0)
            self._playing[number] = (now + episode.max_frames / 1000, episode)
        if not self._playing:
            time.sleep(0.001)
            return {}
        time.sleep(max(0.0, min(timeout, min(end for end, _ in self._playing.values()) - now)))
        now = time.monotonic()
        over = [number for number, (end, _) in self._playing.items() if end <= now]
        seconds = {number: self._playing.pop(number)[1].max_frames / 1000 for number in over}
        return {number: EpisodeResult(float(number), 1, 4, length) for number, length in seconds.items()}

    def close(self) -> None:
        """Does nothing."""


def make_sleeper(*, threads: int) -> SleepingEvaluator:
    """Makes the evaluator of a worker."""
    return SleepingEvaluator(threads)


def parents() -> list[Genome]:
    """Returns genomes as long as those of a long run."""
    return [Genome(n, tuple(Mutation(n * GENES + m, 0.002) for m in range(GENES))) for n in range(PARENTS)]


def measure(evaluator: DistributedEvaluator, *, slots: int, milliseconds: int, seconds: float) -> dict[str, float]:
    """Plays a first generation that does not count, and then a long one that does.

    Returns:
        Episodes per second; this rate as a share of the best that the slots could reach; the processor time of this
        process (scheduler and client) per second, without and with tasks, and per task; and that of the workers.
    """
    genomes, process = parents(), psutil.Process()
    size = max(2 * slots, int(slots * seconds * 1000 / milliseconds))
    evaluator.pin(genomes)
    count = 0

    def generation(size: int) -> None:
        nonlocal count
        children = {
            count + n: Episode(genomes[n % PARENTS].mutated(count + n, 0.002), 0, n, milliseconds) for n in range(size)
        }
        count += size
        evaluator.submit(children)
        left = size
        while left:
            left -= len(evaluator.receive(timeout=1.0))

    generation(4 * slots)
    begin, used = time.monotonic(), used_by(process)
    time.sleep(IDLE_SECONDS)
    idle = (used_by(process) - used) / (time.monotonic() - begin)
    begin, used, others, tasks = time.monotonic(), used_by(process), used_by_workers(process), evaluator._count
    generation(size)
    wall, busy, others = time.monotonic() - begin, used_by(process) - used, used_by_workers(process) - others
    rate = size / wall
    return {
        "slots": slots,
        "episode_ms": milliseconds,
        "episodes": size,
        "tasks": evaluator._count - tasks,
        "seconds": round(wall, 2),
        "episodes_per_second": round(rate, 1),
        "share_of_ideal": round(rate * milliseconds / 1000 / slots, 3),
        "tasks_per_second": round((evaluator._count - tasks) / wall, 1),
        "scheduler_cpu_idle": round(idle, 3),
        "scheduler_cpu": round(busy / wall, 3),
        "scheduler_ms_per_task": round(1000 * (busy - idle * wall) / (evaluator._count - tasks), 3),
        "workers_cpu": round(others / wall, 3),
    }


def used_by(process: psutil.Process) -> float:
    """Returns the seconds of processor time of a process."""
    return sum(process.cpu_times()[:2])


def used_by_workers(process: psutil.Process) -> float:
    """Returns the seconds of processor time of all workers."""
    return sum(map(used_by, process.children(recursive=True)))


def real_workers(count: int, seconds: float) -> list[dict]:
    """Measures worker processes on this machine, with episodes of several lengths."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        settings = ClusterSettings.of(f"local workers={count} least_workers={count}")
        with DistributedEvaluator(make_sleeper, settings=settings, folder=folder) as evaluator:
            wait_for(evaluator, count)
            for milliseconds in (10, 50, 200, 1000):
                row = measure(evaluator, slots=count, milliseconds=milliseconds, seconds=seconds)
                rows.append({"kind": f"{count} worker processes", **row})
                print(json.dumps(rows[-1]), flush=True)
    return rows


def wait_for(evaluator: DistributedEvaluator, slots: int, seconds: float = 240) -> None:
    """Waits until all workers are connected."""
    end = time.monotonic() + seconds
    while evaluator._client.scheduler_info(n_workers=0)["total_threads"] < slots:
        if time.monotonic() > end:
            raise TimeoutError(f"{slots} workers did not connect within {seconds:g} s")
        time.sleep(0.5)
    evaluator._slots = slots


def crowd(seconds: float, sizes: list[int] | None) -> list[dict]:
    """Measures growing numbers of workers, many in each process: the given sizes, or until they are no longer busy."""
    rows = []
    for count in sizes or (50, 100, 200, 400, 800, 1600, 3200):
        with tempfile.TemporaryDirectory() as folder, own_cluster(Path(folder), count) as evaluator:
            wait_for(evaluator, count)
            row = measure(evaluator, slots=count, milliseconds=1500, seconds=seconds)
            rows.append({"kind": f"{count} pretended workers", **row})
            print(json.dumps(rows[-1]), flush=True)
        if sizes is None and row["share_of_ideal"] < 0.9:
            break
    return rows


@contextlib.contextmanager
def own_cluster(folder: Path, count: int) -> Iterator[DistributedEvaluator]:
    """Starts a scheduler as a run does, and processes with many workers each instead of the run's own workers."""
    settings = ClusterSettings.of("local workers=1 least_workers=0")
    with DistributedEvaluator(make_sleeper, settings=settings, folder=folder) as evaluator:
        (keys,) = folder.glob("keys-*")
        address = evaluator._client.scheduler.address
        command = [sys.executable, __file__, "be-a-crowd", address, str(keys), str(count // CROWD_PROCESSES)]
        environment = os.environ | {"DASK_DISTRIBUTED__WORKER__HTTP__ROUTES": "[]"}
        processes = [subprocess.Popen(command, env=environment, start_new_session=True) for _ in range(CROWD_PROCESSES)]
        try:
            yield evaluator
        finally:
            for process in processes:
                process.kill()
                process.wait()


async def be_a_crowd(address: str, keys: Path, count: int) -> None:
    """Runs many workers in this process, until it is killed or its parent has ended."""
    import dask
    from distributed import Security, Worker

    certificate, key = str(keys / "certificate.pem"), str(keys / "key.pem")
    security = Security(
        require_encryption=True, tls_ca_file=certificate, tls_worker_cert=certificate, tls_worker_key=key
    )
    dask.config.set(
        {"distributed.admin.system-monitor.gil.enabled": False, "distributed.worker.profile.enabled": False}
    )
    workers = [
        Worker(
            address,
            nthreads=1,
            security=security,
            host="127.0.0.1",
            protocol="tls://",
            memory_limit=0,
            dashboard=False,
            dashboard_address="127.0.0.1:0",
            local_directory=str(keys.parent / "scratch"),
        )
        for _ in range(count)
    ]
    for start in range(0, count, 20):
        await asyncio.gather(*workers[start : start + 20])
    parent = os.getppid()
    while os.getppid() == parent:
        await asyncio.sleep(1)


def main() -> None:
    """Runs the measurements that the command line names."""
    if sys.argv[1:2] == ["be-a-crowd"]:
        address, keys, count = sys.argv[2:]
        asyncio.run(be_a_crowd(address, Path(keys), int(count)))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("workers", "crowd", "all"))
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--crowds", type=int, nargs="+", help="numbers of workers (default: grow until some are idle)")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="duration of each measurement (default: %(default)s)"
    )
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    rows = real_workers(options.workers, options.seconds) if options.what in ("workers", "all") else []
    rows += crowd(options.seconds, options.crowds) if options.what in ("crowd", "all") else []
    report = {"command": shlex.join(["python", *sys.argv]), "cores": os.cpu_count(), "rows": rows}
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
