"""The search distribution of evolution strategies: weights that follow the gradient of a smoothed score."""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Literal

import numpy as np

from neurozoo.algorithms.neuroevolution.settings import GradientSettings
from neurozoo.errors import NeurozooError
from neurozoo.genomes.genome import Genome, Weights
from neurozoo.genomes.noise_table import weighted_sum

TiedRanks = Literal["order", "average"]


def centered_ranks(fitness: np.ndarray, *, ties: TiedRanks = "order") -> np.ndarray:
    """Replaces scores, shape (population,), by their ranks, so that one lucky episode cannot steer a step.

    The published code leaves the order of equal scores to an unstable sort, and so to the version of NumPy. Here, with
    `order` the earlier one of two equal scores gets the lower rank. With `average` equal scores get the mean of their
    ranks: a population of equal scores has ranks of 0, where `order` would prefer the second of each mirrored pair.

    Returns:
        Shape (population,), float32 in [-0.5, 0.5], summing to 0.

    Source: Salimans et al. 2017, arXiv:1703.03864 (rank transformation).
    """
    ranks = np.empty(len(fitness), np.float32)
    if ties == "average":
        _, group, sizes = np.unique(fitness, return_inverse=True, return_counts=True)
        ranks[:] = (np.cumsum(sizes) - (sizes + 1) / 2)[group]  # the last rank of each group minus half its width
    else:
        ranks[fitness.argsort(kind="stable")] = np.arange(len(fitness), dtype=np.float32)
    return ranks / np.float32(len(fitness) - 1) - np.float32(0.5)


def adam(
    gradient: np.ndarray, slots: Mapping[str, np.ndarray], *, updates: int, stepsize: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Steps of about equal size in all directions (Kingma & Ba 2014, arXiv:1412.6980), with its published constants.

    Args:
        gradient: float32, shape (parameters,).
        slots: Of the last step, by name: float32, shape (parameters,); zeros before the first one.
        updates: Number of this step, from 1.
        stepsize: Length scale of a step.

    Returns:
        What to add to the parameters to go down the gradient, and the new slots. Everything is float32.
    """
    scale = stepsize * math.sqrt(1 - 0.999**updates) / (1 - 0.9**updates)
    mean = np.float32(0.9) * slots["m"] + np.float32(1 - 0.9) * gradient
    variance = np.float32(0.999) * slots["v"] + np.float32(1 - 0.999) * (gradient * gradient)
    return np.float32(-scale) * mean / (np.sqrt(variance) + np.float32(1e-8)), {"m": mean, "v": variance}


def sgd(
    gradient: np.ndarray, slots: Mapping[str, np.ndarray], *, updates: int, stepsize: float, share: float = 1.0
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Gradient descent with momentum 0.9; see `adam`.

    The newest gradient enters the velocity with the factor `share`: 1 in the published GPU code, 0.1 in the distributed
    code of 2017, whose steps are therefore 10 times smaller in the long run.
    """
    velocity = np.float32(0.9) * slots["v"] + np.float32(share) * gradient
    return np.float32(-stepsize) * velocity, {"v": velocity}


Optimizer = Callable[..., tuple[np.ndarray, dict[str, np.ndarray]]]
# By their names in the settings, with the names of their slots.
OPTIMIZERS: dict[str, tuple[Optimizer, str]] = {
    "adam": (adam, "mv"),
    "sgd": (sgd, "v"),
    "sgd_2017": (partial(sgd, share=1 - 0.9), "v"),
}


class SearchDistribution:
    """The mean of a search distribution, with its optimizer.

    Attributes:
        theta: Current weights, float32, shape (parameters,), read-only.
        genome: The weights as a genome; perturbed weights are its children.
    """

    def __init__(self, theta: np.ndarray, *, settings: GradientSettings) -> None:
        self._settings = settings
        self._optimizer, slots = OPTIMIZERS[settings.optimizer]
        self._slots = {name: np.zeros(len(theta), np.float32) for name in slots}
        self._updates = 0
        self._place(theta)

    def _place(self, theta: np.ndarray) -> None:
        weights = Weights.of(theta)
        self.theta = weights.theta
        self.genome = Genome(weights)

    def perturbed(self, indices: Iterable[int], *, power: float) -> list[Genome]:
        """Returns mirrored pairs: for each index the weights plus, then minus `power` times that slice of noise."""
        return [self.genome.mutated(int(index), sign * power) for index in indices for sign in (1, -1)]

    def follow(
        self, fitness: np.ndarray, *, indices: Iterable[int], noise: np.ndarray, threads: int
    ) -> dict[str, float]:
        """Takes one step up the estimated gradient.

        Args:
            fitness: float32, shape (2 * indices,), of the perturbed weights, in their order.
            indices: Where the slices of noise start.
            noise: The noise table.
            threads: Threads that add up the gradient, which does not depend on their number.

        Returns:
            `Norm` and `GradNorm`, squared lengths of the new weights and of the gradient; `UpdateRatio`, length of the
            step divided by that of the old weights.

        Raises:
            NeurozooError: The new weights are not finite numbers of single precision.

        Source: Salimans et al. 2017, arXiv:1703.03864; as published, the gradient is not divided by the power.
        """
        plus, minus = fitness.reshape(-1, 2).T
        gradient = weighted_sum(noise, indices, plus - minus, count=len(self.theta), threads=threads)
        gradient /= np.float32(len(fitness))
        self._updates += 1
        descent = np.float32(self._settings.l2coeff) * self.theta - gradient
        step, self._slots = self._optimizer(
            descent, self._slots, updates=self._updates, stepsize=self._settings.stepsize
        )
        lengths = [_squared_length(vector) for vector in (self.theta, gradient, step)]
        if not np.isfinite(self.theta + step).all() or not np.isfinite(lengths).all():
            raise NeurozooError(
                f"The weights have grown beyond all numbers in update {self._updates}. Lower stepsize, "
                "l2coeff or mutation_power."
            )
        self._place(self.theta + step)
        return {
            "Norm": _squared_length(self.theta),
            "GradNorm": lengths[1],
            "UpdateRatio": (lengths[2] / lengths[0]) ** 0.5 if lengths[0] else 0.0,
        }

    def get_state(self) -> dict:
        """Returns everything but the arrays, as plain JSON."""
        return {"updates": self._updates}

    def get_arrays(self, prefix: str = "") -> dict[str, np.ndarray]:
        """Returns the weights and the optimizer's slots; names contain the number of updates: `theta-00012`."""
        named = {"theta": self.theta, **self._slots}
        return {f"{prefix}{name}-{self._updates:05}": array for name, array in named.items()}

    def set_state(self, state: Mapping, arrays: Mapping[str, np.ndarray], prefix: str = "") -> None:
        """Continues from what `get_state` and `get_arrays` returned."""
        self._updates = int(state["updates"])
        found = {name: arrays[f"{prefix}{name}-{self._updates:05}"] for name in ("theta", *self._slots)}
        for name, array in found.items():
            if array.shape != self.theta.shape or array.dtype != np.float32:
                raise ValueError(f"{name} should be float32 of shape {self.theta.shape}")
        self._place(found.pop("theta"))
        self._slots = found


def _squared_length(vector: np.ndarray) -> float:
    return float(np.square(vector, dtype=np.float64).sum())  # not a product of the linear algebra library
