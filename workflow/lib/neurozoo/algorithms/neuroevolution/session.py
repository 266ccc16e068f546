"""The session of a neuroevolution run: an algorithm asks for episodes, an evaluator plays them."""

import math
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any, ClassVar, Self

import numpy as np

from neurozoo.algorithms.neuroevolution.base import Algorithm, Batch
from neurozoo.algorithms.neuroevolution.evolution_strategies import EvolutionStrategy
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.genetic_novelty import NoveltyGeneticAlgorithm
from neurozoo.algorithms.neuroevolution.novelty_search import (
    AdaptiveNoveltyStrategy,
    NoveltyRewardStrategy,
    NoveltyStrategy,
)
from neurozoo.algorithms.neuroevolution.recording import PopulationRecorder, recorded_behaviour
from neurozoo.algorithms.neuroevolution.settings import EvolutionSettings
from neurozoo.algorithms.neuroevolution.warm_start import Fit, Start, keep_start, read_start
from neurozoo.algorithms.results import NetworkResult
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.compute.gpus import claim_gpus
from neurozoo.environments.game_networks import layout_of
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult, make_evaluator
from neurozoo.evaluation.reference_batch import collect_reference
from neurozoo.genomes.elite_lines import elite_line, elite_tail
from neurozoo.genomes.genome import Genome, decode
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.records.published_log import ELITE_GENOME

ALGORITHMS: dict[str, type[Algorithm[Any]]] = {
    "ga": GeneticAlgorithm,
    "rs": GeneticAlgorithm,  # without parents
    "es": EvolutionStrategy,
    "ns_es": NoveltyStrategy,
    "nsr_es": NoveltyRewardStrategy,
    "nsra_es": AdaptiveNoveltyStrategy,
    "ga_ns": NoveltyGeneticAlgorithm,
}
POLL = 0.2  # seconds to wait for results between two checks for signals


class LongestFirst:
    """Starts the longest episodes first, so that fewer threads wait for the last one to end.

    An episode is expected to be as long as the last one of its genome in this generation or the one before, or else of
    its parent. Episodes of unknown length come first of all. Results do not depend on the order.
    """

    def __init__(self) -> None:
        self._generation = 0
        self._steps: dict[Genome, int] = {}
        self._steps_before: dict[Genome, int] = {}

    def genomes(self, genomes: Iterable[Genome]) -> list[Genome]:
        """Sorts genomes that are to be pinned."""
        return sorted(genomes, key=self._place)

    def episodes(self, episodes: Mapping[int, Episode]) -> dict[int, Episode]:
        """Sorts numbered episodes."""
        return dict(sorted(episodes.items(), key=lambda item: self._place(item[1].genome)))

    def learn(self, generation: int, episodes: Iterable[Episode], results: Iterable[EpisodeResult]) -> None:
        """Remembers the lengths of a generation's episodes."""
        if generation != self._generation:
            self._generation, self._steps_before, self._steps = generation, self._steps, {}
        for episode, result in zip(episodes, results, strict=True):
            self._steps[episode.genome] = result.steps

    def _place(self, genome: Genome) -> float:
        for known in (genome, genome.parent):
            for steps in (self._steps, self._steps_before):
                if known in steps:
                    return -steps[known]
        return -math.inf


class EvolutionSession:
    """Plays the episodes that an algorithm asks for. See `neurozoo.algorithms.session.Session`.

    Raises:
        NeurozooError: Game, protocol, engine, network or noise table do not fit together.
    """

    ALGORITHMS: ClassVar = ALGORITHMS

    def __init__(self, context: RunContext) -> None:
        settings = context.settings
        assert context.core is not None  # the spec says that both are needed
        assert context.noise is not None
        self._context, self._core, self._noise_file = context, context.core, context.noise
        self._protocol = context.settings.game_protocol(context.game)
        self._layout = layout_of(context.game, context.model, self._protocol)
        self._noise = open_noise_table(self._noise_file)
        if len(self._noise) < self._layout.parameter_count:
            raise NeurozooError(
                f"{context.model!r} needs a noise table of at least {self._layout.parameter_count:,} values, "
                f"but {context.noise} has {len(self._noise):,}."
            )
        self._start = self._read_start()
        self._algorithm: Algorithm[Any] = self.ALGORITHMS[context.algo](
            settings,
            entropy=context.entropy,
            layout=self._layout,
            noise=self._noise,
            protocol=self._protocol,
            start=self._start.genomes if self._start else (),
        )
        self._algorithm.threads = context.threads
        if self._layout.needs_statistics and self._algorithm.reference is None:
            raise NeurozooError(
                f"The network {context.model!r} needs statistics of observations, which {context.algo!r} does not "
                "collect. Train it with es, or choose 'dense_tanh'."
            )
        self._behaviour = self._algorithm.behaviour
        self._recorder: PopulationRecorder | None = None
        if settings.record_population:
            self._behaviour = recorded_behaviour(self._behaviour, game=context.game, protocol=self._protocol)
            self._recorder = PopulationRecorder(
                context.run_dir, behaviour=self._behaviour, game=context.game, algo=context.algo
            )
        self._reference: np.ndarray | None = None
        self._order = LongestFirst()
        self._is_between_generations = True
        self._printed_elite: list | None = None  # the last genome in this process's text log, as JSON
        self.identity = {"noise_values": len(self._noise), **(self._start.identity if self._start else {})}
        self.announcements = [f"Number of parameters: {self._layout.parameter_count}"]
        if self._start:
            self.announcements.append(f"Starts from {self._start.source}, SHA-256 {self._start.sha256}")

    def _read_start(self) -> Start | None:
        settings: EvolutionSettings = self._context.settings
        if (name := settings.start_setting) is None:
            return None
        fit = Fit(self._context.game, self._context.model, self._layout, len(self._noise))
        state_dir = self._context.state_dir if self._context.continues else None
        return read_start(getattr(settings, name), fit, state_dir=state_dir, kind=settings.STARTS_FROM[name])

    @property
    def table(self) -> tuple[str, ...]:
        """The published fields, in the published order."""
        return self._algorithm.fields

    @property
    def iteration(self) -> int:
        """Finished generations."""
        return self._algorithm.iteration

    @property
    def progress(self) -> int:
        """Counted frames so far."""
        return self._algorithm.frames

    @property
    def is_done(self) -> bool:
        """Whether the budget of frames is spent; read only between generations."""
        return self._algorithm.is_done

    def __enter__(self) -> Self:
        context, settings = self._context, self._context.settings
        if self._start:
            keep_start(self._start, context.state_dir)
        if self._layout.needs_reference and not self._layout.needs_statistics:
            # Collected again when a run continues; equal seeds give equal observations.
            self._reference = collect_reference(context.game, self._protocol, entropy=context.entropy)
        if settings.engine == "batched":
            self.announcements.append(claim_gpus(cpu_allowed=True).reason)  # before TensorFlow or JAX see them
        with ExitStack() as stack:
            self._evaluator = stack.enter_context(
                make_evaluator(
                    core=self._core,
                    noise=self._noise_file,
                    layout=self._layout,
                    game=context.game,
                    protocol=self._protocol,
                    threads=context.threads,
                    behaviour=self._behaviour,
                    engine=settings.engine,
                    slots=context.slots,
                    cluster=context.cluster,
                    cluster_dir=context.run_dir / "dask",
                )
            )
            if announcement := getattr(self._evaluator, "announcement", None):  # of the batched engine and of Dask
                self.announcements.append(announcement)
            if self._reference is not None:
                self._evaluator.set_reference(self._reference)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._stack.__exit__(kind, error, traceback)

    def advance(self, watch: Watch) -> Report | None:
        """Plays the episodes of one phase; returns the report after the last phase of a generation."""
        self._is_between_generations = False
        batch = self._algorithm.ask()
        start = time.monotonic()
        if (reference := self._algorithm.reference) is not None:
            self._evaluator.set_reference(reference)
        try:
            results = self._play(batch, watch)
        finally:
            if not batch.is_counted:
                watch.spent(untimed=time.monotonic() - start)
        if self._recorder:
            self._recorder.see(batch, results)
        record = self._algorithm.tell(results)
        if record is None:
            return None
        if self._recorder:
            self._recorder.write(self._algorithm.iteration)
        self._is_between_generations = True
        return self._make_report(record)

    def _make_report(self, record: Mapping[str, Any]) -> Report:
        printed, notes = {}, []
        if (elite := record.get(ELITE_GENOME)) is not None:  # as it differs from the last one
            printed, notes = {ELITE_GENOME: elite_tail(elite)}, [elite_line(elite, self._printed_elite)]
            self._printed_elite = elite
        standard = ("frames", "score", "score_episodes", "test_score", "test_episodes", "Iteration")
        return Report(
            iteration=record["Iteration"],
            progress=record["frames"],
            score=record["score"],
            test_score=record["test_score"],
            score_episodes=record["score_episodes"],
            test_episodes=record["test_episodes"],
            fields={name: value for name, value in record.items() if name not in standard},
            printed=printed,
            notes=notes,
        )

    def state(self) -> tuple[dict, dict[str, np.ndarray]] | None:
        """Returns the algorithm's state between generations; within a generation, the journal holds the results."""
        if not self._is_between_generations:
            return None
        return self._algorithm.get_state(), self._algorithm.get_arrays()

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues after the generation in which the state was saved."""
        self._algorithm.set_state(state, arrays)
        self.announcements = []

    def result(self) -> NetworkResult:
        """Returns the best solution so far."""
        best = self._algorithm.best
        assert best is not None  # there has been a report
        return NetworkResult(
            weights=decode(best.genome, noise=self._noise, layout=self._layout),
            origin=best.genome,
            reference=self._reference if self._algorithm.reference is None else self._algorithm.reference,
            protocol=self._protocol,
            num_actions=self._layout.num_actions,
            validation_score=best.validation_score,
            test_score=best.test_score,
            test_episodes=self._context.settings.num_test_episodes,
            iteration=best.iteration,
            frames=best.frames,
        )

    def _play(self, batch: Batch, watch: Watch) -> list[EpisodeResult]:
        """Plays the episodes that are not in the journal; returns the results of all."""
        generation = self._algorithm.iteration
        results = watch.finished_episodes(generation, batch.phase)
        open_episodes = {n: episode for n, episode in enumerate(batch.episodes) if n not in results}
        if open_episodes:
            self._evaluator.pin(self._order.genomes(batch.parents))
            self._evaluator.submit(self._order.episodes(open_episodes))
        begin = time.monotonic()
        news: Mapping[int, EpisodeResult] = {}
        try:
            while True:
                watch.advanced(
                    sum(result.frames for result in news.values()) if batch.is_counted else 0,
                    steps=sum(result.steps for result in news.values()),
                    phase=batch.phase,
                    done=len(results),
                    total=len(batch.episodes),
                    is_news=bool(news),
                )
                if len(results) == len(batch.episodes):
                    break
                news = self._evaluator.receive(timeout=POLL)
                watch.journal(generation, batch.phase, news, is_counted=batch.is_counted)
                results |= news
        finally:
            watch.spent(playing=time.monotonic() - begin)
        played = [results[number] for number in range(len(batch.episodes))]
        self._order.learn(generation, batch.episodes, played)
        return played
