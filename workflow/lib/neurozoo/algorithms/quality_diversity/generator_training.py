"""Trains the generator of platform levels, so that a killed training continues to the same weights, and judges it.

Random numbers depend on the seed and the number of the update, so a state is weights, moments and that number.

Source: sections 5.2 and 13.5 of the description of DSAGE.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import keras
import numpy as np

from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.quality_diversity.generator_settings import GeneratorSettings
from neurozoo.algorithms.quality_diversity.level_networks import (
    NUM_TILES,
    critic_network,
    export,
    gan_steps,
    generator_network,
)
from neurozoo.environments.platformer.acceptance import judge
from neurozoo.environments.platformer.corpus import Corpus
from neurozoo.environments.platformer.generator import SOLUTION_SIZE, Generator
from neurozoo.environments.platformer.simulator import CORE
from neurozoo.errors import NeurozooError
from neurozoo.files import write_json, written_whole
from neurozoo.files.npz import DAMAGE, read_npz
from neurozoo.machine import provenance

SAVE_SECONDS = 60.0  # between two states
_REPORT_STEPS = 100
_JUDGED = 1000  # levels of the judgement


class GeneratorTraining:
    """One training, from levels, uint8, shape (levels, 16, 56): networks, optimizers, and how far they have come.

    `step` counts updates of the generator. Raises `NeurozooError` if the backend of Keras is not TensorFlow.
    """

    def __init__(self, settings: GeneratorSettings, levels: np.ndarray) -> None:
        if keras.backend.backend() != "tensorflow":
            raise NeurozooError("Training a generator needs TensorFlow: set KERAS_BACKEND=tensorflow, or leave it out.")
        self.settings, self.step = settings, 0
        self._levels = levels
        self._chances = level_chances(levels, settings.rarity) if settings.rarity else None
        rng = np.random.default_rng([settings.seed, 0])
        self._generator, self._critic = generator_network(settings, rng), critic_network(settings, rng)
        self._update_critic, self._update_generator, self._optimizers = gan_steps(
            self._generator, self._critic, settings
        )
        self._average = [np.array(each) for each in self._generator.get_weights()]

    def advance(self) -> tuple[float, float]:
        """Makes one update of the generator, after those of the critic.

        Returns the critic's last estimate of the distance between real and generated levels, and the generator's loss.
        """
        settings, rng = self.settings, np.random.default_rng([self.settings.seed, 1, self.step])
        for _ in range(settings.critic_steps_before(self.step)):
            chosen = rng.choice(len(self._levels), size=settings.batch_size, p=self._chances)
            distance = self._update_critic(
                self._levels[chosen], self._solutions(rng), rng.random(settings.batch_size, np.float32)
            )
        loss = self._update_generator(self._solutions(rng))
        self.step += 1
        if settings.averaging:
            # Early on the average forgets faster, so that it does not hold on to the initial weights.
            kept = np.float32(min(settings.averaging, self.step / (self.step + 9)))
            for average, weight in zip(self._average, self._generator.get_weights(), strict=True):
                average += (1 - kept) * (weight - average)
        return distance, loss

    def generator(self) -> Generator:
        """Returns the generator as it is now, or the average of its weights."""
        if not self.settings.averaging:
            return export(self._generator, self.settings)
        now = self._generator.get_weights()
        self._generator.set_weights(self._average)
        found = export(self._generator, self.settings)
        self._generator.set_weights(now)
        return found

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns what the rest of the training depends on; `set_arrays` takes it."""
        variables = {f"variable_{number}": np.array(each) for number, each in enumerate(self._variables)}
        averages = {f"average_{number}": each for number, each in enumerate(self._average)}
        return {"step": np.array(self.step, np.int64), **variables, **averages}

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned."""
        for number, each in enumerate(self._variables):
            each.assign(arrays[f"variable_{number}"])
        self._average = [arrays[f"average_{number}"] for number in range(len(self._average))]
        self.step = int(arrays["step"])

    @property
    def _variables(self) -> list[keras.Variable]:
        optimizers = [each for optimizer in self._optimizers for each in optimizer.variables]
        return [*self._generator.weights, *self._critic.weights, *optimizers]

    def _solutions(self, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_normal((self.settings.batch_size, SOLUTION_SIZE), np.float32)


def level_chances(levels: np.ndarray, rarity: float) -> np.ndarray:
    """Returns how likely each level is drawn, so that tiles of few levels are learned, too: shape (levels,), sum 1.

    `rarity` is that of `GeneratorSettings`.
    """
    has = np.stack([(levels == tile).any(axis=(1, 2)) for tile in range(NUM_TILES)], axis=1)
    rarest = np.where(has, has.mean(axis=0), 1.0).min(axis=1)
    weights = rarest**-rarity
    return weights / weights.sum()


def train_generator(
    settings: GeneratorSettings,
    corpus: Corpus,
    *,
    state: str | os.PathLike,
    report: Callable[[str], None] = print,
) -> Generator:
    """Trains a generator, or continues a training that was killed.

    The `.npz` of the `state` is written at the end, too: with more `steps`, the same call continues. `report` takes
    lines about the progress.

    Raises:
        NeurozooError: The state is damaged, of other settings or levels, or further than `steps`; or a weight is not
            finite.
    """
    training = GeneratorTraining(settings, corpus.levels)
    # What the state depends on. The number of updates may grow.
    others = {name: value for name, value in asdict(settings).items() if name != "steps"}
    facts = repr((sorted(others.items()), int(corpus.levels.astype(np.int64).sum()), corpus.levels.shape))
    if Path(state).exists():
        _restore(training, state, facts)
        if training.step > settings.steps:
            raise NeurozooError(
                f"{state} has {training.step:,} updates already, but steps is {settings.steps:,}. Ask for at least as "
                "many, or write the generator to another folder."
            )
        report(f"Continuing after {training.step:,} updates of {state}")
    saved = time.monotonic()
    while training.step < settings.steps:
        distance, loss = training.advance()
        if training.step % _REPORT_STEPS == 0 or training.step == settings.steps:
            report(f"update {training.step:,} of {settings.steps:,}: distance {distance:.3f}, loss {loss:.3f}")
        if not np.isfinite([distance, loss]).all():
            raise NeurozooError(
                f"Update {training.step:,} of the generator gave numbers that are not finite. Lower the learning_rate."
            )
        if time.monotonic() - saved >= SAVE_SECONDS:
            _save(training, state, facts)
            saved = time.monotonic()
    _save(training, state, facts)
    return training.generator()


def _save(training: GeneratorTraining, state: str | os.PathLike, facts: str) -> None:
    with written_whole(state) as temporary:
        np.savez(temporary, allow_pickle=False, facts=np.array(facts), **training.get_arrays())


def _restore(training: GeneratorTraining, state: str | os.PathLike, facts: str) -> None:
    remedy = "Delete it to begin again, or write the generator to another folder."
    try:
        arrays = read_npz(state, growth=2)  # arrays may be larger than their file
        if str(arrays.pop("facts", "")) != facts:
            raise NeurozooError(f"{state} is the state of a training with other settings or levels. {remedy}")
        training.set_arrays(arrays)
    except (*DAMAGE, OSError) as error:
        raise NeurozooError(f"{state} cannot be continued: {error}. {remedy}") from error


def make_generator(
    settings: GeneratorSettings,
    corpus: Corpus,
    output: str | os.PathLike,
    *,
    state: str | os.PathLike,
    threads: int = 1,
    core: str | os.PathLike = CORE,
    report: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Trains a generator, judges it, and writes both: an `.npz` of weights, and a JSON of the same name beside it.

    Networks and core have so many threads. For the rest, see `train_generator`.

    Returns:
        The content of the JSON: `settings`, `parameters`, `acceptance` (see `judge`) and where it comes from.
    """
    keep_to_threads(threads)
    trained = train_generator(settings, corpus, state=state, report=report)
    trained.write(output)
    report(f"Judging {_JUDGED:,} of its levels")
    record = {
        "settings": asdict(settings),
        "parameters": sum(array.size for name, array in trained.arrays.items() if name != "rectifies"),
        "acceptance": judge(trained.decode, count=_JUDGED, threads=threads, core=core),
        "corpus_rejected": corpus.num_rejected,
        **provenance(),
    }
    write_json(Path(output).with_suffix(".json"), record)
    return record
