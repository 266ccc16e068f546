"""DSAGE: a surrogate is searched for levels that fill its archive, and some of these are evaluated.

Source: Bhatt et al. 2022, arXiv:2206.04199; section 1 of its description.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
from ribs.schedulers import Scheduler

from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.quality_diversity.archives import (
    LevelArchive,
    MapElitesEmitter,
    make_archive,
    one_per_region,
    random_solutions,
)
from neurozoo.algorithms.quality_diversity.direct_search import evolution_strategies
from neurozoo.algorithms.quality_diversity.level_search import LevelSearchSession, Proposal
from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.algorithms.quality_diversity.variants import VARIANTS
from neurozoo.algorithms.session import RunContext, Watch
from neurozoo.environments.level_domains import LevelDomain
from neurozoo.errors import NeurozooError
from neurozoo.native import CORE
from neurozoo.randomness import Entropy, Purpose, generator

_TOGETHER = 100  # candidates that are predicted at once: 600 would need 4 GB in large platform levels


class DsageSession(LevelSearchSession):
    """One run of DSAGE. In each iteration the surrogate learns, is searched, and its elites are evaluated.

    Nothing of a surrogate's archive is carried over to the next iteration, but the surrogate learns on.
    """

    settings: DsageSettings

    def __init__(self, context: RunContext) -> None:
        self.variant = VARIANTS[context.model]
        self.predicts_occupancy = self.variant.predicts_occupancy
        super().__init__(context)
        self._saved: Mapping[str, np.ndarray] | None = None  # the surrogate as of the last finished iteration

    @property
    def epochs(self) -> int:
        """Epochs of training per iteration."""
        return max(1, round(self.settings.train_epochs * self.variant.epochs.get(self.domain.name, 1)))

    def __enter__(self) -> Self:
        keep_to_threads(self.context.threads)
        from neurozoo.algorithms.quality_diversity.native_surrogate import SurrogateEnsemble

        self._surrogate = SurrogateEnsemble(
            self.domain,
            self.settings,
            predicts_occupancy=self.predicts_occupancy,
            rng=generator(self.context.entropy, Purpose.INITIAL_WEIGHTS),
            core=(self.context.core or Path(CORE)) if self.settings.engine == "native" else None,
            threads=self.context.threads,
        )
        if self._saved is None:
            self._saved = self._surrogate.get_arrays()
            self.announcements.append(f"Number of parameters: {self._surrogate.parameter_count}")
        else:
            try:
                self._surrogate.set_arrays(dict(self._saved))
            except (ValueError, KeyError) as error:
                raise NeurozooError(f"The state is damaged ({error}). {self.context.remedy}") from error
        return super().__enter__()  # last, because it may start a cluster

    def propose(self, watch: Watch) -> Proposal:
        """Returns random solutions at first, and later what the surrogate's archive holds."""
        s, entropy = self.settings, self.context.entropy
        if self.iteration == 0:
            rng = generator(entropy, Purpose.OFFSPRING, 0)
            return Proposal(random_solutions(self.domain, s.initial_solutions, rng))
        began = time.monotonic()
        main_loss, occupancy_loss = self._train(watch)
        trained = time.monotonic()

        def tell(done: int) -> None:
            watch.advanced(0, steps=0, phase="search", done=done, total=s.inner_iterations, unit="searches")

        archive = search(self.domain, s, lambda solutions: self._predict(solutions)[0], entropy, self.iteration, tell)
        chosen = self._choose(archive)
        parts = (chosen[begin : begin + _TOGETHER] for begin in range(0, len(chosen), _TOGETHER))
        predicted, occupancy = zip(*map(self._predict, parts), strict=True)
        return Proposal(
            chosen,
            np.concatenate(predicted),
            np.concatenate(occupancy) if self.predicts_occupancy else None,
            {
                "surrogate_elites": len(archive),
                "surrogate_loss": main_loss,
                "occupancy_loss": occupancy_loss,
                "seconds_training": trained - began,
                "seconds_searching": time.monotonic() - trained,
            },
        )

    def tell(self, batch: np.ndarray, add_info: Mapping[str, np.ndarray]) -> None:
        """Keeps the surrogate that proposed this batch: the next iteration begins with it."""
        if self.iteration and hasattr(self, "_surrogate"):
            self._saved = self._surrogate.get_arrays()

    def state(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Returns also the surrogate after its last finished iteration."""
        state, arrays = super().state()
        saved = self._saved or {}
        return state, arrays | {f"surrogate-{name}-{self.iteration}": array for name, array in saved.items()}

    def restore(self, state: Mapping, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues also with this surrogate."""
        super().restore(state, arrays)
        self._saved = {name: arrays[f"surrogate-{name}-{self.iteration}"] for name in ("weights", "updates")}

    # ---- inside

    def _train(self, watch: Watch) -> tuple[float, float]:
        s, entropy = self.settings, self.context.entropy
        levels = np.concatenate(self.batches)
        levels = levels[~levels["failed"]]
        if s.train_sample_size is not None:
            levels = levels[-s.train_sample_size :]
        targets = np.column_stack([levels["objective"], self.measures_of(levels)])
        shown = np.ascontiguousarray(levels["level"])
        if s.endpoints == "neither":
            shown = self.domain.decode(levels["solution"])
        losses = (0.0, 0.0)
        for epoch in range(self.epochs):
            rng = generator(entropy, Purpose.MINIBATCH, self.iteration, epoch)
            losses = self._surrogate.train_epoch(shown, targets, np.ascontiguousarray(levels["occupancy"]), rng)
            watch.advanced(0, steps=0, phase="surrogate", done=epoch + 1, total=self.epochs, unit="epochs")
        return losses

    def _predict(self, solutions: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        levels = self.domain.decode(solutions)
        if self.settings.endpoints == "both":
            levels = self.domain.with_endpoints(levels)
        predicted, occupancy = self._surrogate.predict(levels)
        if not np.isfinite(predicted).all():
            raise NeurozooError(
                f"The surrogate predicts numbers that are not finite in iteration {self.iteration + 1}. Lower "
                f"learning_rate, which is {self.settings.learning_rate}."
            )
        return predicted, occupancy

    def _choose(self, archive: LevelArchive) -> np.ndarray:
        s, selection = self.settings, self.variant.selection
        found = archive.data(["solution", "index"])
        order = np.argsort(found["index"], kind="stable")
        solutions, cells = found["solution"][order], found["index"][order]
        rng = generator(self.context.entropy, Purpose.CANDIDATE, self.iteration)
        if selection == "regions":
            return solutions[one_per_region(cells, s.dims(self.domain), s.coarse_dims(self.domain), rng)]
        # The budget may cut the last batch short; in the order of cells it would leave out a corner of the archive.
        shuffled = solutions[rng.permutation(len(cells))]
        return shuffled[: s.num_random] if selection == "random" else shuffled


def search(
    domain: LevelDomain,
    settings: DsageSettings,
    predict: Callable[[np.ndarray], np.ndarray],
    entropy: Entropy,
    iteration: int,
    tell: Callable[[int], None],
) -> LevelArchive:
    """Fills a new archive with predictions.

    Solutions of whole numbers are searched by MAP-Elites, real ones by CMA-ME, as published. `predict` returns
    objective and both measures of solutions: float32, shape (solutions, 3). `tell` gets the number of finished
    iterations.
    """
    archive = make_archive(domain, settings)
    archive.draw_from(generator(entropy, Purpose.EMITTER, iteration))
    rngs = [generator(entropy, Purpose.EMITTER, iteration, number) for number in range(settings.num_emitters)]
    emitters: list[Any]
    if domain.num_values is None:
        emitters = evolution_strategies(archive, domain, rngs, sigma0=settings.sigma0, batch_size=settings.batch_size)
    else:
        emitters = [MapElitesEmitter(archive, settings, domain) for _ in rngs]
        for emitter, rng in zip(emitters, rngs, strict=True):
            emitter.rng = rng
    scheduler = Scheduler(archive, emitters)
    nothing = np.zeros(settings.num_emitters * settings.batch_size, np.int64)
    for done in range(1, settings.inner_iterations + 1):
        predicted = predict(scheduler.ask())
        scheduler.tell(predicted[:, 0], predicted[:, 1:], evaluation=nothing)
        tell(done)
    return archive
