"""The surrogate in the core, with the predictions and updates of `Surrogate`, several times as fast; and ensembles."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

import keras
import numpy as np
from keras import layers

from neurozoo.algorithms.native_learner import ADAM, FIRST_SLOT, ONLINE, NativeLearner
from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.algorithms.quality_diversity.surrogate import NUM_OUTPUTS, Surrogate
from neurozoo.environments.level_domains import LevelDomain
from neurozoo.networks.native_plan import LearnerPlan, same_padding

_PARTS = {  # of a layer of the core, by the name of the variable in Keras
    "kernel": "w",
    "bias": "b",
    "gamma": "gain",
    "beta": "offset",
    "moving_mean": "mean",
    "moving_variance": "variance",
}


class NativeSurrogate(Surrogate):
    """A surrogate whose Keras model says what to compute, draws the first weights and names the arrays of a state.

    Results differ from those of Keras by the rounding of sums only. They depend neither on the number of threads nor on
    the processor's vectors.

    Args: those of `Surrogate`, and `core`, `threads` and `is_narrow` of `NativeLearner`.

    Raises:
        NeurozooError: The library does not fit, or a thread cannot be started.
    """

    def __init__(
        self,
        domain: LevelDomain,
        settings: DsageSettings,
        *,
        predicts_occupancy: bool,
        rng: np.random.Generator,
        core: Path,
        threads: int = 1,
        is_narrow: bool = False,
    ) -> None:
        super().__init__(domain, settings, predicts_occupancy=predicts_occupancy, rng=rng)
        self._plan, self._variables = _plan_of(self.main, self.predictor)
        self._learner = NativeLearner(
            np.array(self._plan, np.int64),
            scale=1.0,
            optimizer=ADAM,
            epsilon=1e-8,
            core=core,
            threads=threads,
            is_narrow=is_narrow,
            has_bfloat16=settings.dtype != "float32",
        )
        self._give_arrays()

    def predict(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Predicts with the statistics of training; see `Surrogate.predict`."""
        return self._split(self._learner.ask(ONLINE, self._on_canvas(levels), is_rounded=True))

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of `Surrogate.get_arrays`."""
        for place, variables in self._arrays():
            shape = (*variables[0].shape[:-1], sum(each.shape[-1] for each in variables))
            values = self._rolled(self._learner.get(*place, shape), place, -1)
            for variable, part in zip(variables, np.split(values, len(variables), axis=-1), strict=True):
                variable.assign(part)
        self._trainer.optimizer.iterations.assign(self._learner.steps)
        return super().get_arrays()

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned; see `Surrogate.set_arrays`."""
        super().set_arrays(arrays)
        self._give_arrays()

    def _give_arrays(self) -> None:
        """Sets the arrays of the core to those of Keras."""
        for place, variables in self._arrays():
            values = np.concatenate([keras.ops.convert_to_numpy(each) for each in variables], axis=-1)
            self._learner.set(*place, self._rolled(values, place, 1))
        self._learner.steps = int(keras.ops.convert_to_numpy(self._trainer.optimizer.iterations))

    def _arrays(self) -> Iterator[tuple[tuple[int, int, str], list[keras.Variable]]]:
        """Yields the place of each array in the core, and the variables that hold it in Keras, side by side."""
        moments = self._trainer.optimizer.variables[2:]  # after steps and learning rate: two of each weight
        numbers = {id(each): number for number, each in enumerate(self.model.trainable_variables)}
        for (layer, part), variables in self._variables.items():
            yield (ONLINE, layer, part), variables
            for slot in range(2 if variables[0].trainable else 0):
                yield (FIRST_SLOT + slot, layer, part), [moments[2 * numbers[id(each)] + slot] for each in variables]

    def _rolled(self, values: np.ndarray, place: tuple[int, int, str], by: int) -> np.ndarray:
        """Moves the input that is no tile: Keras has it last, the core first."""
        _, layer, part = place
        return np.roll(values, by, axis=2) if part == "w" and layer > 0 and self._plan[layer].tiles else values

    def _on_canvas(self, levels: np.ndarray) -> np.ndarray:
        padding = [(0, 0), *((0, self.canvas - size) for size in levels.shape[1:])]
        return np.ascontiguousarray(np.pad(levels, padding), np.uint8)

    def _split(self, results: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns outputs in their units, and the occupancy, of what the core gives."""
        outputs = self._in_units(results[:, :NUM_OUTPUTS])
        return outputs, self._occupancy_of(results) if self.predicts_occupancy else None

    def _occupancy_of(self, results: np.ndarray) -> np.ndarray:
        height, width = self._domain.shape
        return results[:, NUM_OUTPUTS:].reshape(-1, self.canvas, self.canvas)[:, :height, :width]

    def _learn(self, batches: Iterable[dict[str, np.ndarray]]) -> np.ndarray:
        return sum((self._update(batch) for batch in batches), np.zeros(2))

    def _update(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        """Learns from a batch once, and returns both losses; see `Trainer.compute_loss`."""
        results = self._learner.forward(self._on_canvas(batch["levels"]))
        outputs, occupancy = self._split(results)
        deltas = np.zeros_like(results)
        errors = (outputs - batch["targets"]) / (1 if self._sizes is None else self._sizes)
        deltas[:, :NUM_OUTPUTS] = 2 / errors.size * errors
        losses = np.array([np.mean(np.square(errors)), 0.0])
        if occupancy is not None:
            wrong = occupancy - batch["occupancy"]
            losses[1] = np.mean(np.square(wrong))
            self._occupancy_of(deltas)[:] = self._settings.occupancy_weight * 2 / wrong.size * wrong
        self._learner.step(deltas, learning_rate=self._settings.learning_rate)
        return losses


def _plan_of(
    main: keras.Model, predictor: keras.Model | None
) -> tuple[list[LearnerPlan], dict[tuple[int, str], list[keras.Variable]]]:
    """Returns the layers of the core, and which variables hold their arrays: those of heads lie side by side."""
    plan: list[LearnerPlan] = []
    variables: dict[tuple[int, str], list[keras.Variable]] = {}
    for network in [main] if predictor is None else [predictor, main]:
        is_first = True  # this network sees the tiles
        for layer in network.layers:
            match layer:
                case layers.Conv2D():
                    before, after = layer.input.shape[1:], layer.output.shape[1:]
                    kernel, stride = layer.kernel_size[0], layer.strides[0]
                    top, left = same_padding(before[:2], after[:2], kernel, stride)
                    computed = plan[-1].out_channels if plan else 0
                    tiles = before[-1] - computed if is_first else 0
                    row = (0, *before, *after, kernel, stride, top, left, 0, 0, 0, 0, 0, 0, tiles)
                    plan.append(LearnerPlan(*row))
                    is_first = False
                case layers.BatchNormalization():
                    plan[-1] = plan[-1]._replace(momentum=round(100 * layer.momentum))
                case layers.LeakyReLU():
                    plan[-1] = plan[-1]._replace(is_relu=1, leak=round(100 * layer.negative_slope))
                case layers.ReLU():
                    plan[-1] = plan[-1]._replace(is_relu=1)
                case layers.Add():
                    plan[-1] = plan[-1]._replace(adds=1)
                case layers.Dense() if not plan[-1].is_dense:
                    last = plan[-1]
                    seen = (last.out_height, last.out_width, last.out_channels)
                    plan.append(LearnerPlan(1, *seen, 1, 1, NUM_OUTPUTS, 0, 0, 0, 0, 1, 0, 0))
            for variable in layer.weights:
                variables.setdefault((len(plan) - 1, _PARTS[variable.name]), []).append(variable)
    return plan, variables


class SurrogateEnsemble:
    """Several surrogates, `ensemble` of the settings, whose mean prediction counts; they have an interface of one.

    Their initial weights and the order of levels differ. One member has the bytes of a `Surrogate`. If there is a core,
    it computes them, in `threads` threads; if not, Keras does.
    """

    def __init__(
        self,
        domain: LevelDomain,
        settings: DsageSettings,
        *,
        predicts_occupancy: bool,
        rng: np.random.Generator,
        core: Path | None = None,
        threads: int = 1,
    ) -> None:
        make = partial(NativeSurrogate, core=core, threads=threads) if core else Surrogate
        self.members = [
            make(domain, settings, predicts_occupancy=predicts_occupancy, rng=rng) for _ in range(settings.ensemble)
        ]

    @property
    def parameter_count(self) -> int:
        """Number of weights that learn, of all members."""
        return sum(member.parameter_count for member in self.members)

    def predict(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns mean predictions; see `Surrogate.predict`."""
        predicted, occupancy = zip(*(member.predict(levels) for member in self.members), strict=True)
        return np.mean(predicted, axis=0), None if occupancy[0] is None else np.mean(occupancy, axis=0)

    def train_epoch(
        self, levels: np.ndarray, targets: np.ndarray, occupancy: np.ndarray, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Lets one member learn after the other, and returns their mean losses; see `Surrogate.train_epoch`."""
        losses = [member.train_epoch(levels, targets, occupancy, rng) for member in self.members]
        first, second = np.mean(losses, axis=0).tolist()
        return first, second

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of all members, one after the other; `set_arrays` takes them."""
        arrays = [member.get_arrays() for member in self.members]
        return {"weights": np.concatenate([each["weights"] for each in arrays]), "updates": arrays[0]["updates"]}

    def set_arrays(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned; raises `ValueError` if it belongs to other networks."""
        for member, own in zip(self.members, np.array_split(arrays["weights"], len(self.members)), strict=True):
            member.set_arrays({"weights": own, "updates": arrays["updates"]})
