"""Simulates clusters that are larger than any we had, with the measured costs of a Dask scheduler.

    PYTHONPATH=workflow/lib python benchmarks/dask_plan.py          a minute on one core; docs/results/dask_plan.csv

The sizes of tasks come from the library. Scheduler and client are one server: each task takes 2.7 ms of it, and each
worker 0.3 ms per second (docs/dask.md, measured with up to 200 workers). Episodes have the measured lengths of
Frostbite (docs/results/asynchronous/lengths.csv) at 9,000 frames/s per slot. Workers have eight slots, which share the
episodes of a task. A generation begins when the one before has ended; the table has means over 20 generations.
"""

import csv
import heapq
from pathlib import Path

import numpy as np
from neurozoo.evaluation.dask_tasks import TASKS_PER_SLOT, task_size

OUTPUT = Path("docs/results/dask_plan.csv")
LENGTHS = Path("docs/results/asynchronous/lengths.csv")
TASK_SECONDS, WORKER_SECONDS = 0.0027, 0.0003  # of the server: per task, and per worker and second
THREADS = 8  # episodes at once of a worker
FRAMES_PER_SECOND, FRAME_SKIP = 9_000, 4
GENERATIONS = 20


def play_generation(lengths: np.ndarray, workers: int) -> tuple[float, int]:
    """Returns the seconds of a generation whose episodes last `lengths` seconds, and its number of tasks."""
    cost, slots = TASK_SECONDS / (1 - WORKER_SECONDS * workers), workers * THREADS
    mean, unsent, server, tasks, latest = float(lengths.mean()), len(lengths), 0.0, 0, 0.0
    idle = [(0.0, worker) for worker in range(workers)]  # a heap: the sum of when its threads are free
    free = [[0.0] * THREADS for _ in range(workers)]  # heaps: when each thread is free
    ends: list[float] = []  # of the tasks that Dask has; a heap
    while unsent:
        if len(ends) >= TASKS_PER_SLOT * slots:
            server = max(server, heapq.heappop(ends))  # the client waits for a result
        size = task_size(unsent, slots=slots, seconds=mean, threads=THREADS)
        server += cost
        worker = heapq.heappop(idle)[1]
        threads, end = free[worker], 0.0
        for seconds in lengths[len(lengths) - unsent :][:size].tolist():
            end = max(server, threads[0]) + seconds
            heapq.heapreplace(threads, end)
            latest = max(latest, end)
        heapq.heappush(idle, (sum(threads), worker))
        heapq.heappush(ends, max(threads))
        unsent -= size
        tasks += 1
    return latest, tasks


def main() -> None:
    """Simulates, prints and writes."""
    with LENGTHS.open() as file:
        steps = [int(row["steps"]) for row in csv.DictReader(file) if row["game"] == "frostbite"]
    seconds, random = np.array(steps) * FRAME_SKIP / FRAMES_PER_SECOND, np.random.default_rng(0)
    rows = []
    for episodes in (1_000, 5_000, 50_000):
        for workers in (12, 40, 125, 400, 1_250):
            outcomes = [play_generation(random.choice(seconds, episodes), workers) for _ in range(GENERATIONS)]
            slots = workers * THREADS
            took, tasks = np.mean(outcomes, axis=0)
            ideal = max(episodes * seconds.mean() / slots, seconds.max())
            rows.append((episodes, slots, f"{took:.2f}", f"{ideal:.2f}", f"{ideal / took:.2f}", f"{tasks / took:.0f}"))
            print(*rows[-1], sep=", ")
    with OUTPUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["episodes", "slots", "seconds", "ideal_seconds", "ideal_to_seconds", "tasks_per_second"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
