"""Tasks on the workers of a Dask cluster, with their results in the order of arrival."""

import contextlib
import math
import os
import queue
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from distributed import Future, KilledWorker
from distributed.comm import CommClosedError

from neurozoo.compute.dask_clusters import open_cluster
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError
from neurozoo.evaluation.dask_worker import same

TASK_SECONDS = 1.5  # length of a task: hundreds of times Dask's overhead
MOST_TASKS_PER_SECOND = 200  # half of what one scheduler can do, see docs/dask.md; with more slots, tasks are longer
TASKS_PER_SLOT = 3  # given to Dask at a time, so that its adaptive scaling asks for more workers
CHECK_SECONDS = 2.0
MEMORY = 0.99  # decay per piece of the moving average of its seconds


class DaskTasks:
    """Sends work to a Dask cluster, a few pieces (episodes, levels) per task.

    Another worker repeats the tasks of a lost one, so a task's result must depend on nothing but its arguments.
    `announcement` is one line about the cluster, whose Dask client is `client`.
    """

    def __init__(self, settings: ClusterSettings, *, folder: str | os.PathLike) -> None:
        self._stack = contextlib.ExitStack()
        self._cluster = self._stack.enter_context(open_cluster(settings, folder=folder))
        self.client = self._cluster.client
        self.announcement = self._cluster.announcement
        self._tasks: dict[tuple[str, int], Future] = {}
        self._arrived: queue.SimpleQueue = queue.SimpleQueue()
        self._count = 0
        self._seconds = self._weight = 0.0  # decaying sums, for the average length of a piece
        self._slots, self._looked = settings.slots or 1, -math.inf
        self._is_closed = False

    def hand_out(self, unsent: deque, send: Callable[[list], None]) -> None:
        """Gives pieces to Dask while it has room: long tasks at first, shorter and shorter ones towards the end."""
        while unsent and len(self._tasks) < TASKS_PER_SLOT * self._slots:
            seconds = self._seconds / self._weight if self._weight else math.inf
            threads = self._cluster.settings.threads
            size = task_size(len(unsent), slots=self._slots, seconds=seconds, threads=threads)
            send([unsent.popleft() for _ in range(size)])

    def took(self, seconds: float) -> None:
        """Learns how long one piece took."""
        self._seconds = MEMORY * self._seconds + seconds
        self._weight = MEMORY * self._weight + 1

    def share(self, value: object, *, name: str) -> Future:
        """Sends a value once to each worker whose tasks need it, and returns it as an argument of tasks."""
        return self.client.submit(same, value, key=(name, 0))

    def send(self, function: Callable[..., Any], *arguments: object, group: str) -> None:
        """Queues a task: a function that runs on a worker, with its arguments.

        Tasks that get the same shared values have the same group. Dask queues tasks for any free worker only if their
        group is large and depends on a few small ones.
        """
        self._count += 1
        key = (group, self._count)
        future = self.client.submit(function, *arguments, key=key, pure=False, fifo_timeout="0ms")
        self._tasks[key] = future
        assert self.client.loop is not None  # the client has started
        self.client.loop.add_callback(self._watch, key, future)

    async def _watch(self, key: tuple[str, int], future: Future) -> None:
        """Waits for a task's result, in Dask's own thread, and queues it for `receive`."""
        try:
            self._arrived.put((key, True, await future.result()))
        except BaseException as error:
            is_lost = future.status in ("cancelled", "lost") or self.client.status != "running"
            self._arrived.put((key, False, None if is_lost else error))

    def check(self) -> None:
        """Looks after the cluster; call it often."""
        if self._is_closed:
            raise NeurozooError("The evaluator is closed.")
        self._cluster.check()
        if time.monotonic() - self._looked < CHECK_SECONDS:
            return
        self._looked = time.monotonic()
        self._slots = max(self._cluster.count_slots(), self._cluster.settings.slots, 1)

    def receive(self, *, timeout: float) -> list[Any]:
        """Returns the results of finished tasks; none after `timeout` seconds without any."""
        results: list[Any] = []
        with contextlib.suppress(queue.Empty):
            news = self._arrived.get(timeout=timeout)
            while True:
                key, is_finished, outcome = news
                if self._tasks.pop(key, None) is not None:
                    if not is_finished:
                        raise self._failure(outcome)
                    results.append(outcome)
                news = self._arrived.get_nowait()
        return results

    def _failure(self, error: object) -> NeurozooError:
        if isinstance(error, NeurozooError):
            return NeurozooError(f"On a worker of the Dask cluster: {error}")
        if isinstance(error, KilledWorker):
            return NeurozooError(
                f"{error.allowed_failures + 1} workers were lost, one after the other, with the same task. Do they "
                f"have enough memory? Their logs are in {self._cluster.folder / 'logs'}. What has finished is saved."
            )
        if error is None or isinstance(error, CommClosedError):
            return self._cluster.lost()
        return NeurozooError(f"A worker of the Dask cluster failed: {error!r}. What has finished is saved.")

    def drop(self) -> None:
        """Cancels all tasks that have not finished; their results will not be received."""
        tasks, self._tasks = list(self._tasks.values()), {}
        with contextlib.suppress(Exception):  # a lost cluster has nothing left to cancel
            if tasks and self.client.status == "running":
                self.client.cancel(tasks)

    def close(self, *, at_end: Callable[[], object] | None = None) -> None:
        """Drops all tasks, and ends the cluster if the run started it.

        `at_end` runs before, on each worker of a cluster that stays.
        """
        if self._is_closed:
            return
        self._is_closed = True
        if self._cluster.settings.is_address:
            self.drop()
            with contextlib.suppress(Exception):  # a lost cluster has nothing left to close
                if at_end is not None and self.client.status == "running":
                    self.client.run(at_end, on_error="ignore")
        self._tasks = {}
        self._stack.close()


def task_size(unsent: int, *, slots: int, seconds: float, threads: int = 1) -> int:
    """Returns how many of the `unsent` pieces the next task has.

    Tasks should be long enough to be efficient. Towards the end they get shorter, down to one piece, so that all
    workers finish at about the same time. If there are more slots than the scheduler can feed with such tasks, tasks
    are so long that handing out the rest takes as long as playing one of them.

    A piece takes `seconds` on average, infinite if unknown. The cluster works on `slots` tasks at once, and a worker
    plays `threads` pieces of a task at once.
    """
    seconds = max(seconds, 1e-9)
    length = max(TASK_SECONDS, slots / MOST_TASKS_PER_SECOND)
    even = min(int(length / seconds), unsent // (2 * slots))
    handed_out_meanwhile = MOST_TASKS_PER_SECOND * seconds  # tasks, while one piece is played
    fed = min(slots / handed_out_meanwhile, math.sqrt(unsent * threads / handed_out_meanwhile))
    return min(unsent, max(1, even, int(fed)))
