"""The session of an asynchronous run: results are told one by one, in the order in which they arrive."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, cast

from neurozoo.algorithms.neuroevolution.asynchronous import AsynchronousGeneticAlgorithm
from neurozoo.algorithms.neuroevolution.session import POLL, EvolutionSession
from neurozoo.algorithms.session import Report, RunContext, Watch
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import Episode, EpisodeResult
from neurozoo.genomes.genome import Genome
from neurozoo.records.run_log import current_log, iter_log

PHASE = "arrivals"  # the name of all episodes in the journal and in the progress line


class AsynchronousSession(EvolutionSession):
    """Keeps a constant number of episodes in flight, and writes the order of their arrival.

    Each result is written to the journal before the algorithm sees it. A run that continues tells the algorithm the
    results in the journal in their order, and plays what was in flight again: genomes and seeds are the same, so the
    run is the same up to there. The report of a generation holds its order of arrival, so that another run can repeat
    it (`repeat_arrivals`).

    Raises:
        NeurozooError: As for `EvolutionSession`; there is a Dask cluster; or the order to repeat cannot be read.
    """

    ALGORITHMS: ClassVar = {"ga": AsynchronousGeneticAlgorithm}

    def __init__(self, context: RunContext) -> None:
        if context.cluster is not None:
            raise NeurozooError(
                "selection: asynchronous changes its parents too often for a Dask cluster: its workers would wait for "
                "each other. Leave out distributed, or choose selection: generations."
            )
        super().__init__(context)
        self._stream = cast(AsynchronousGeneticAlgorithm, self._algorithm)
        settings = context.settings
        self._to_repeat = [] if settings.repeat_arrivals is None else read_arrivals(settings.repeat_arrivals)
        self._pinned: set[Genome] = set()
        self._submitted: set[int] = set()
        self._untold: dict[int, EpisodeResult] = {}  # have arrived, in this order, but the algorithm has not seen them
        workers, name = (context.slots, "slots") if settings.engine == "batched" else (context.threads, "threads")
        if settings.num_in_flight < workers:
            self.announcements.append(
                f"Only {settings.num_in_flight} episodes are in flight, so some of the {workers} {name} are idle: "
                "raise episodes_in_flight"
            )

    def advance(self, watch: Watch) -> Report | None:
        """Plays episodes until the next report."""
        self._is_between_generations = False
        begin, told = time.monotonic(), 0.0
        try:
            record = None
            for number, result in watch.finished_episodes(self._stream.iteration, PHASE).items():
                record = self._tell_one(number, result)
            while record is None:
                start = time.monotonic()
                record = self._tell_arrived(watch)
                told += time.monotonic() - start
                if record is None:
                    self._submit()
                    self._untold |= self._evaluator.receive(timeout=POLL)
        finally:
            watch.spent(playing=time.monotonic() - begin - told)
        self._is_between_generations = True
        return self._make_report(record)

    def _tell_arrived(self, watch: Watch) -> dict[str, object] | None:
        """Tells the algorithm what has arrived; returns the record of a report if one is due."""
        counted, steps, record, number = self._stream.frames, 0, None, None
        for number in self._in_turn():
            result = self._untold.pop(number)
            watch.journal(self._stream.iteration, PHASE, {number: result})
            steps += result.steps
            record = self._tell_one(number, result)
            if record is not None:
                break
        total = self._context.settings.population_size
        watch.advanced(
            self._stream.frames - counted,
            steps=steps,
            phase=PHASE,
            done=min(self._stream.children, total) if record is None else total,
            total=total,
            is_news=number is not None,
        )
        return record

    def _tell_one(self, number: int, result: EpisodeResult) -> dict[str, object] | None:
        self._submitted.discard(number)
        try:
            return self._stream.arrive(number, result)
        except KeyError as error:
            raise NeurozooError(
                f"The journal has a result of episode {number:,}, which was not in flight. {self._context.remedy}"
            ) from error

    def _in_turn(self) -> Iterator[int]:
        """Yields the numbers of results that may be told now, the next one when the one before has been told."""
        while self._untold:
            if self._stream.arrived >= len(self._to_repeat):
                yield next(iter(self._untold))
                continue
            number = self._to_repeat[self._stream.arrived]
            if number not in self._stream.draw():
                source = self._context.settings.repeat_arrivals
                raise NeurozooError(
                    f"repeat_arrivals: result {self._stream.arrived + 1:,} in {source} is of episode {number:,}, which "
                    "is not in flight here. Repeat a run with the same settings and run number."
                )
            if number not in self._untold:
                return
            yield number

    def _submit(self) -> None:
        """Submits the episodes that have been drawn since the last call."""
        new = {number: episode for number, episode in self._stream.draw().items() if number not in self._submitted}
        if not all(self._can_play(episode) for episode in new.values()):
            genomes = self._stream.genomes_in_use()
            self._evaluator.pin(genomes)
            self._pinned = set(genomes)
        for number, episode in new.items():  # one at a time: the core sorts what comes together
            self._evaluator.submit({number: episode})
        self._submitted.update(new)

    def _can_play(self, episode: Episode) -> bool:
        genome = episode.genome
        return not genome.mutations or genome in self._pinned or genome.parent in self._pinned

    def restore(self, state: Mapping, arrays: Mapping) -> None:
        """Continues after the report with which the state was saved."""
        super().restore(state, arrays)
        self._submitted, self._untold = set(), {}
        if self._to_repeat and self._stream.arrived:
            self._check_repeated(read_arrivals(str(self._context.run_dir)))

    def _check_repeated(self, arrived: Sequence[int]) -> None:
        for place, (here, there) in enumerate(zip(arrived, self._to_repeat, strict=False), start=1):
            if here != there:
                raise NeurozooError(
                    f"repeat_arrivals: result {place:,} of this run was of episode {here:,}, but in "
                    f"{self._context.settings.repeat_arrivals} it is of episode {there:,}, and a result stays. Repeat "
                    "the other run in a folder of its own (--run-dir), or leave out repeat_arrivals."
                )


def read_arrivals(source: str) -> list[int]:
    """Reads the numbers of a run's episodes in the order in which they arrived, from its folder or its `log.jsonl`.

    Raises:
        NeurozooError: There is no such log, or it is of a run with generations.
    """
    path = Path(source)
    if path.is_dir():
        if (log := current_log(path)) is None:
            raise NeurozooError(f"repeat_arrivals: {source} has no log.jsonl. Give the folder of a run.")
        path = log
    numbers: list[int] = []
    for record in iter_log(path):
        arrivals = record.get("Arrivals")
        if not isinstance(arrivals, list) or not all(type(number) is int for number in arrivals):
            raise NeurozooError(
                f"repeat_arrivals: {path} does not say in which order episodes arrived. Give a run with "
                "selection: asynchronous."
            )
        numbers += arrivals
    return numbers
