"""What an intervention changes: a set of channels or units of a layer, or a region of the input."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from neurozoo.errors import NeurozooError, unknown_name

INPUT = "observation"  # the layer that stands for what the agent sees
With = Literal["zero", "constant", "mean", "scale", "resample", "patch"]
_MOST = float(np.finfo(np.float32).max)  # of numbers
OF_RECORDINGS = ("mean", "resample", "patch")  # take their values from a recorded episode


@dataclass(frozen=True)
class Intervention:
    """Replaces activations, behind the activation function, in every step of an episode.

    `zero`: by 0. `constant`: by `value`. `mean`: by each channel's mean over a recording and all places. `scale`: by
    `factor` times their value. `resample`: by the activations at a random step of a recording, another one in each
    step. `patch`: by those at one `step` of it.

    Raises:
        NeurozooError: The kind is unknown; or a number is out of range, or does not belong to the kind.
    """

    layer: str  # name of a layer, or `observation` for the network's input
    channels: tuple[int, ...] | None = None  # channels, or units of a dense layer; None for all
    with_: With = "zero"
    factor: float = 1.0  # of `scale`
    # (first row, first column, last row, last column) of the map, all inside; None for the whole map
    region: tuple[int, int, int, int] | None = None
    step: int = 0  # of `patch`
    value: float = 0.0  # of `constant`

    def __post_init__(self) -> None:
        if self.with_ not in get_args(With):
            raise unknown_name("with", self.with_, get_args(With))
        if self.channels is not None and not (_are_places(self.channels) and self.channels):
            raise NeurozooError(f"channels should be numbers from 0, such as [3, 7], but are {_shown(self.channels)}.")
        for name, kind, usual in (("factor", "scale", 1.0), ("step", "patch", 0), ("value", "constant", 0.0)):
            if getattr(self, name) != usual and self.with_ != kind:
                raise NeurozooError(f"{name} belongs to with: {kind}, but with is {self.with_}. Leave {name} out.")
        numbers = (self.factor, self.value)
        are_numbers = all(type(number) in (int, float) and abs(number) <= _MOST for number in numbers)
        if not are_numbers or not _are_places((self.step,)):
            raise NeurozooError(
                f"factor and value should be numbers and step a whole number from 0, but are {self.factor!r}, "
                f"{self.value!r} and {self.step!r}."
            )
        if self.region is not None:
            is_region = _are_places(self.region) and len(self.region) == 4
            if not (is_region and self.region[0] <= self.region[2] and self.region[1] <= self.region[3]):
                raise NeurozooError(
                    "region should be [first row, first column, last row, last column], counted from 0, but is "
                    f"{_shown(self.region)}."
                )

    @classmethod
    def from_config(cls, entry: Mapping[str, Any]) -> "Intervention":
        """Reads an entry under `interventions` of the configuration.

        Raises:
            NeurozooError: A key is unknown, or the layer is missing; or as `Intervention`.
        """
        fields_of = {field.name.rstrip("_"): field.name for field in fields(cls)}
        for key in entry:
            if key not in fields_of:
                raise unknown_name("key", key, fields_of, owner="an intervention")
        if entry.get("layer") is None:
            raise NeurozooError(f"An intervention needs a layer, such as conv2 or {INPUT}. Add the key layer.")
        given: dict[str, Any] = {fields_of[key]: value for key, value in entry.items() if value is not None}
        given = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
        return cls(**given)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Intervention":
        """Reads what `dataclasses.asdict` gives, by way of JSON.

        Raises:
            TypeError, NeurozooError: It is not one.
        """
        given: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in record.items()}
        return cls(**given)

    @property
    def label(self) -> str:
        """What changes, in a few words."""
        part = "" if self.channels is None else f" {', '.join(map(str, self.channels))}"
        where = "" if self.region is None else f" in {', '.join(map(str, self.region))}"
        amount = {"constant": self.value, "scale": self.factor, "patch": self.step}.get(self.with_)
        return f"{self.layer}{part}{where}: {self.with_}" + ("" if amount is None else f" {amount:g}")

    def mask(self, shape: Sequence[int]) -> np.ndarray:
        """Returns which activations change: bool, in the shape of the layer's activation, without a batch axis.

        Raises:
            NeurozooError: A channel or the region lies outside.
        """
        known = shape[-1]
        if wrong := [channel for channel in self.channels or () if channel >= known]:
            raise NeurozooError(f"The layer {self.layer!r} has channels 0 to {known - 1}, but got {wrong[0]}.")
        mask = np.zeros(shape, bool)
        chosen = slice(None) if self.channels is None else list(self.channels)
        if self.region is None:
            mask[..., chosen] = True
            return mask
        top, left, bottom, right = self.region
        if len(shape) != 3 or bottom >= shape[0] or right >= shape[1]:
            has = f"a map of {shape[0]} x {shape[1]}" if len(shape) == 3 else "no map"
            raise NeurozooError(f"The layer {self.layer!r} has {has}, which region {list(self.region)} does not fit.")
        inside = np.zeros_like(mask)
        inside[top : bottom + 1, left : right + 1, chosen] = True
        return inside


def _are_places(value: object) -> bool:
    """Whether they are whole numbers from 0; what people write may be anything."""
    return isinstance(value, tuple) and all(type(number) is int and number >= 0 for number in value)


def _shown(value: object) -> object:
    return [*value] if isinstance(value, tuple) else value


def check_layer(name: str, known: Sequence[str]) -> None:
    """Refuses a layer that a network does not have; the message suggests the nearest name."""
    if name not in (INPUT, *known):
        raise unknown_name("layer", name, [INPUT, *known])
