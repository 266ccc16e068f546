"""Training by episodes: an algorithm asks for them, an evaluator plays them."""

import time
from contextlib import ExitStack
from types import TracebackType

import numpy as np

from neurozoo.algorithms.base import Algorithm, Batch
from neurozoo.clusters.gpus import claim_gpus
from neurozoo.evaluation import EpisodeResult, make_evaluator
from neurozoo.training.clock import Clock
from neurozoo.training.order import LongestFirst
from neurozoo.training.watched import POLL, Watched


class EvolutionSession:
    """Plays what an algorithm asks for; a context manager, as its evaluator is one.

    Args:
        algorithm: Who asks.
        watched: What it is watched by.
        reference: Observations for virtual batch norm; None for other networks.
        engine: `native` or `batched`.
        cluster: The Dask cluster that plays the episodes; None for this process.
        evaluator: The other arguments of `neurozoo.evaluation.make_evaluator`.
    """

    def __init__(
        self, algorithm: Algorithm, watched: Watched, *, reference: np.ndarray | None, engine: str, cluster, **evaluator
    ) -> None:
        self._algorithm = algorithm
        self._watched = watched
        self._reference = reference
        self._choices = {"engine": engine, "cluster": cluster, "behaviour": algorithm.behaviour, **evaluator}
        self._is_announced = engine == "batched" or bool(cluster)
        self._order = LongestFirst()

    def __enter__(self) -> "EvolutionSession":
        reporter = self._watched.reporter
        if self._choices["engine"] == "batched":
            reporter.say(claim_gpus(cpu_allowed=True).reason)  # before TensorFlow or JAX see them
        with ExitStack() as stack:
            self._evaluator = stack.enter_context(make_evaluator(**self._choices))
            if self._is_announced:
                reporter.say(self._evaluator.announcement)
            if self._reference is not None:
                self._evaluator.set_reference(self._reference)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, traceback)

    def advance(self, clock: Clock) -> tuple[dict | None, float, float]:
        """Plays one batch.

        Returns:
            The report if it was a generation's last, else None; seconds of episodes that do not count, and seconds in
            which episodes were being played.
        """
        batch = self._algorithm.ask()
        start = time.monotonic()
        played, playing = self._play(batch)
        uncounted = 0.0 if batch.is_counted else time.monotonic() - start
        return self._algorithm.tell(played), uncounted, playing

    def _play(self, batch: Batch) -> tuple[list[EpisodeResult], float]:
        """Returns the results, and the seconds in which episodes were being played."""
        state, reporter, heartbeat, interruption = self._watched
        generation = self._algorithm.iteration
        results = state.finished_episodes(generation, batch.phase)
        open_episodes = {n: episode for n, episode in enumerate(batch.episodes) if n not in results}
        if open_episodes:
            self._evaluator.hold(self._order.genomes(batch.held))
            self._evaluator.submit(self._order.episodes(open_episodes))
        begin = time.monotonic()
        steps = 0
        while len(results) < len(batch.episodes):
            interruption.check()
            news = self._evaluator.receive(timeout=POLL)
            state.journal(generation, batch.phase, news)
            results |= news
            steps += sum(result.steps for result in news.values())
            frames = sum(result.frames for result in news.values()) if batch.is_counted else 0
            heartbeat.beat(
                frames=frames, has_news=bool(news), phase=batch.phase, done=len(results), total=len(batch.episodes)
            )
            reporter.progress(
                frames=frames,
                steps=steps,
                seconds=time.monotonic() - begin,
                done=len(results),
                total=len(batch.episodes),
            )
        seconds = time.monotonic() - begin
        interruption.check()
        played = [results[number] for number in range(len(batch.episodes))]
        self._order.learn(generation, batch.episodes, played)
        return played, seconds
