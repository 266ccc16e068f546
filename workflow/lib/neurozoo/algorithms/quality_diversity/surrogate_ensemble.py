"""What DSAGE asks: one surrogate or several, in the core or in Keras."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from neurozoo.algorithms.quality_diversity.native_surrogate import NativeSurrogate
from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.algorithms.quality_diversity.surrogate import Surrogate
from neurozoo.environments.level_domains import LevelDomain


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
