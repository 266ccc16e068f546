"""Several surrogates that predict together: each begins with other weights and sees the levels in another order."""

from collections.abc import Iterator, Sequence

import numpy as np

from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.algorithms.quality_diversity.surrogate import Surrogate
from neurozoo.environments.level_domains import LevelDomain


class SurrogateEnsemble:
    """Predicts the mean of what its members predict. One member has the bytes of a `Surrogate`.

    Args:
        domain: The domain of the levels.
        settings: `ensemble` is the number of members.
        predicts_occupancy: Whether the members predict the occupancy.
        rng: Draws the initial weights, one member after the other.

    Attributes:
        members: The surrogates.
    """

    def __init__(
        self, domain: LevelDomain, settings: DsageSettings, *, predicts_occupancy: bool, rng: np.random.Generator
    ) -> None:
        self.members: Sequence[Surrogate] = [
            Surrogate(domain, settings, predicts_occupancy=predicts_occupancy, rng=rng)
            for _ in range(settings.ensemble)
        ]

    @property
    def parameter_count(self) -> int:
        """Number of weights that learn, of all members."""
        return sum(member.parameter_count for member in self.members)

    def predict(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns mean predictions; see `Surrogate.predict`."""
        predicted, occupancy = zip(*(member.predict(levels) for member in self.members), strict=True)
        if len(self.members) == 1:
            return predicted[0], occupancy[0]
        mean = np.stack(predicted).mean(axis=0)
        known = [each for each in occupancy if each is not None]
        return mean, np.stack(known).mean(axis=0) if known else None

    def train(
        self, levels: np.ndarray, targets: np.ndarray, occupancy: np.ndarray, rngs: Iterator[np.random.Generator]
    ) -> Iterator[tuple[float, float]]:
        """Lets all members learn; see `Surrogate.train`. An epoch's generator shuffles for one after the other.

        Yields:
            The mean losses of the members.
        """
        for rng in rngs:
            losses = [next(member.train(levels, targets, occupancy, iter([rng]))) for member in self.members]
            first, second = np.mean(losses, axis=0).tolist()
            yield first, second

    def get_arrays(self) -> dict[str, np.ndarray]:
        """Returns the arrays of all members, one after the other; `set_arrays` takes them."""
        arrays = [member.get_arrays() for member in self.members]
        return {"weights": np.concatenate([each["weights"] for each in arrays]), "updates": arrays[0]["updates"]}

    def set_arrays(self, arrays: dict[str, np.ndarray]) -> None:
        """Continues from what `get_arrays` returned.

        Raises:
            ValueError: They belong to other networks.
        """
        weights, count = arrays["weights"], len(self.members)
        if len(weights) % count:
            raise ValueError(f"{count} surrogates have {len(weights)} weights")
        for member, own in zip(self.members, np.split(weights, count), strict=True):
            member.set_arrays({"weights": own, "updates": arrays["updates"]})
