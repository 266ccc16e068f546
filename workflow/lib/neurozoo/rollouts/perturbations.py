"""The noise that a rollout adds to observations, weights and actions, to test how robust an agent is.

Source: Such et al. 2018, arXiv:1812.07069, and its code.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.agents.frozen import FrozenModel
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.interventions.change import Change
from neurozoo.interventions.intervention import INPUT, Intervention

if TYPE_CHECKING:
    import keras

# Last entry of the seed: each kind of noise has its own generator; 4 is that of `intervened`.
OBSERVATION, ACTION, PARAMETER, SHUFFLED = 1, 2, 3, 5


@dataclass(frozen=True)
class Perturbation:
    """Noise that makes a game harder than in training; by default there is none.

    Each draw depends only on the rollout's seed, the kind of noise and, except for parameters, the episode's number.
    """

    # Standard deviation of Gaussian noise on every number of the observation, as a part of the observations' range
    # where they have one. Drawn anew in every step for the whole stack, as in the Atari Zoo. Not clipped.
    observation: float = 0.0
    # Standard deviation of Gaussian noise on the kernels of the convolutions, or on those of the dense layers if there
    # are no convolutions. Drawn once per rollout.
    parameter: float = 0.0
    action: float = 0.0  # probability in every step of a random action, drawn uniformly
    # Probability per frame that the emulator repeats the previous action; None for the protocol's. (The Atari Zoo
    # repeats whole steps.)
    sticky_probability: float | None = None
    intervention: Intervention | None = None  # what is replaced inside the network
    change: Change | None = None  # what changes from one step of the episode on

    @property
    def record(self) -> dict[str, Any]:
        """The fields by name, for files; without an intervention or a change, if there is none."""
        named = ("intervention", "change")
        return {name: value for name, value in asdict(self).items() if name not in named or value is not None}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Perturbation":
        """Reads a `record`.

        Raises:
            TypeError, NeurozooError: It is not one.
        """
        intervention, change = record.get("intervention"), record.get("change")
        return cls(**{
            **record,
            "intervention": intervention and Intervention.from_record(intervention),
            "change": change and Change.from_record(change),
        })  # fmt: skip

    @property
    def played_intervention(self) -> Intervention | None:
        """The intervention of the whole episode or of its change.

        Raises:
            NeurozooError: There are both.
        """
        changed = None if self.change is None else self.change.intervention
        if self.intervention and changed:
            raise NeurozooError(
                f"The episode was played with an intervention ({self.intervention.label}), and a network can have only "
                "one. Take a recording without one, such as rollout.npz."
            )
        return self.intervention or changed

    @property
    def changes_observation(self) -> bool:
        """Whether the agent sees something else than its world shows."""
        intervention = self.played_intervention
        return self.observation > 0 or (intervention is not None and intervention.layer == INPUT)

    def protocol(self, frozen: FrozenModel) -> Protocol:
        """Returns the agent's protocol, with this perturbation's sticky probability, after a `check`."""
        self.check(frozen)
        if self.sticky_probability is None:
            return frozen.protocol
        return replace(frozen.protocol, sticky_probability=self.sticky_probability)

    def check(self, frozen: FrozenModel) -> None:
        """Refuses a perturbation that does not suit the agent.

        Raises:
            NeurozooError: A number is out of range, or the agent's world has no actions or no emulator.
        """
        if self.change is not None:
            self.change.check(frozen.game, frozen.protocol, frozen.actions)
        for name in ("observation", "parameter"):
            value = getattr(self, name)
            if not (value >= 0 and math.isfinite(value)):
                raise NeurozooError(f"{name}_noise should be a standard deviation >= 0, but is {value}.")
        for name, chance in (("action_noise", self.action), ("sticky_probability", self.sticky_probability)):
            if chance is not None and not 0 <= chance <= 1:
                raise NeurozooError(f"{name} should be a probability from 0 to 1, but is {chance}.")
        if self.action and frozen.is_continuous:
            raise NeurozooError(
                f"{frozen.game} has continuous outputs, so there is no random action to play. Leave action_noise at 0."
            )
        if self.sticky_probability is not None and frozen.protocol.world != "atari":
            raise NeurozooError(
                f"{frozen.game} has no emulator that could repeat actions. Leave sticky_probability out; action_noise "
                "works in every world with discrete actions."
            )


def perturb_kernels(model: "keras.Model", noise: float, *, seed: int) -> None:
    """Adds noise to a model's kernels, see `Perturbation`; one that ends earlier gets the same noise in its layers."""
    import keras

    generator = np.random.default_rng([seed, 0, PARAMETER])
    convolutions = [layer for layer in model.layers if isinstance(layer, keras.layers.Conv2D)]
    for layer in convolutions or [layer for layer in model.layers if isinstance(layer, keras.layers.Dense)]:
        draws = generator.standard_normal(layer.kernel.shape, np.float32)
        layer.kernel.assign(layer.kernel + np.float32(noise) * draws)


def shuffle_weights(part: "keras.Model | keras.Layer", random: np.random.Generator) -> None:
    """Shuffles each array of weights: what has learned nothing, with weights of the same distribution."""
    part.set_weights([random.permuted(array.ravel()).reshape(array.shape) for array in part.get_weights()])
