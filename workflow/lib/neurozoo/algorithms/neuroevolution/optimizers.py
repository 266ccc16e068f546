"""Optimizers, which turn a gradient into a step. Everything is float32, and returned arrays never change."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from typing_extensions import override


class Optimizer(ABC):
    """Goes down a gradient.

    Attributes:
        updates: Steps so far.
        slots: float32 arrays of shape (size,) that the next step depends on, by name.
    """

    def __init__(self, stepsize: float, *, size: int, slots: str) -> None:
        self._stepsize = stepsize
        self.updates = 0
        self.slots: Mapping[str, np.ndarray] = {name: np.zeros(size, np.float32) for name in slots}

    @abstractmethod
    def step(self, gradient: np.ndarray) -> np.ndarray:
        """Returns what to add to the parameters: float32, shape (size,)."""


class Adam(Optimizer):
    """Steps of about equal size in all directions (Kingma & Ba 2014, arXiv:1412.6980), with its published constants."""

    def __init__(self, stepsize: float, *, size: int) -> None:
        super().__init__(stepsize, size=size, slots="mv")

    @override
    def step(self, gradient: np.ndarray) -> np.ndarray:
        self.updates += 1
        scale = self._stepsize * math.sqrt(1 - 0.999**self.updates) / (1 - 0.9**self.updates)
        mean = np.float32(0.9) * self.slots["m"] + np.float32(1 - 0.9) * gradient
        variance = np.float32(0.999) * self.slots["v"] + np.float32(1 - 0.999) * (gradient * gradient)
        self.slots = {"m": mean, "v": variance}
        return np.float32(-scale) * mean / (np.sqrt(variance) + np.float32(1e-8))


class Sgd(Optimizer):
    """Gradient descent with momentum 0.9.

    The newest gradient enters the velocity with the factor `share`: 1 in the published GPU code, 0.1 in the distributed
    code of 2017, whose steps are therefore 10 times smaller in the long run.
    """

    def __init__(self, stepsize: float, *, size: int, share: float) -> None:
        super().__init__(stepsize, size=size, slots="v")
        self._share = share

    @override
    def step(self, gradient: np.ndarray) -> np.ndarray:
        self.updates += 1
        velocity = np.float32(0.9) * self.slots["v"] + np.float32(self._share) * gradient
        self.slots = {"v": velocity}
        return np.float32(-self._stepsize) * velocity


def make_optimizer(name: str, *, stepsize: float, size: int) -> Optimizer:
    """Makes an optimizer by its name in the settings: `adam`, `sgd` or `sgd_2017`."""
    if name == "adam":
        return Adam(stepsize, size=size)
    return Sgd(stepsize, size=size, share={"sgd": 1.0, "sgd_2017": 1 - 0.9}[name])
