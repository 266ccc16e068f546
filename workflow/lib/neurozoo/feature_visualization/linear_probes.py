"""Linear probes: ridge regressions from a layer to variables of the game, tested on episodes that they never saw.

A layer has more units than there are states, so all is computed from inner products of states (`kernel`): the same
numbers as from all units of the layer, without a choice among them.

Sources: Alain and Bengio 2016, arXiv:1610.01644 (probes); Belrose et al. 2023, arXiv:2306.03819 (LEACE: a layer without
covariance with a variable has no linear probe for it that is better than its mean).
"""

from dataclasses import dataclass

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.interventions.activations import Erasure

FOLDS = 5
MANY_EPISODES = 10  # from which on folds are made of whole episodes; fewer are cut into blocks of time
BLOCKS = 20  # of time, of all episodes together
GAP = 50  # steps: training states are at least so far from test states, which they would resemble
PENALTIES = 10.0 ** np.arange(-3, 4)  # times the mean squared size of centred activations


@dataclass(frozen=True)
class Folds:
    """Which states of a recording are tested together. All arrays have shape (states,).

    Raises:
        NeurozooError: The recording is too short for folds.
    """

    steps: np.ndarray  # of the recording, ascending
    groups: np.ndarray  # number of each state's episode or block of time, from 0; intervals resample these
    fold: np.ndarray  # 0 .. FOLDS - 1; all states of a group are in one

    @classmethod
    def of(cls, steps: np.ndarray, starts: np.ndarray, total: int) -> "Folds":
        """Divides states by their steps; `starts` are the first steps of episodes, `total` those of the recording."""
        episode = np.searchsorted(starts, steps, side="right") - 1
        length = total if len(starts) >= MANY_EPISODES else -(-total // BLOCKS)
        places = np.stack([episode, (steps - starts[episode]) // length], axis=1)
        groups = np.unique(places, axis=0, return_inverse=True)[1].ravel()
        found = cls(steps, groups, groups % FOLDS)
        if found.count < 2 * FOLDS or not found.can_train:
            raise NeurozooError(
                f"This needs episodes for {FOLDS} folds, with {GAP} steps between training and test states, but the "
                f"recording has {total} steps. Record more: probes.max_steps."
            )
        return found

    @property
    def can_train(self) -> bool:
        """Whether there are training states for every fold and the one before it."""
        return all(len(self.training([fold, fold - 1])) > 1 for fold in range(FOLDS))

    @property
    def count(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    def training(self, tested: list[int]) -> np.ndarray:
        """Returns the places of the states that may train a probe which is tested on some folds."""
        is_tested = np.isin(self.fold, [fold % FOLDS for fold in tested])
        distance = np.abs(self.steps[:, None] - self.steps[None, is_tested]).min(axis=1)
        return np.flatnonzero(~is_tested & (distance > GAP))


class Ridge:
    """Ridge regressions of variables on the states at some places, for all penalties.

    Args:
        kernel: Inner products of states, shape (states, states).
        targets: Variables, shape (states, variables).
        places: The training states.
    """

    def __init__(self, kernel: np.ndarray, targets: np.ndarray, places: np.ndarray) -> None:
        self._kernel, self._places, inside = kernel, places, kernel[np.ix_(places, places)]
        self._means, self.mean = inside.mean(axis=0), targets[places].mean(axis=0)
        self._inside, self._targets = self._centred(inside), targets[places] - self.mean
        self._unit = max(self._inside.trace() / len(places), 1e-12)

    def coefficients(self, penalties: np.ndarray) -> np.ndarray:
        """Returns the weight of each training state, (places, variables), for a penalty of each variable."""
        from scipy.linalg import solve  # takes a second

        found = np.empty(self._targets.shape)
        for penalty in np.unique(penalties):
            those, ridge = penalties == penalty, self._unit * penalty * np.eye(len(self._places))
            found[:, those] = solve(self._inside + ridge, self._targets[:, those], assume_a="pos")
        return found

    def predict(self, places: np.ndarray, penalties: np.ndarray) -> np.ndarray:
        """Returns the variables at other states, (places, variables)."""
        return self.mean + self._centred(self._kernel[np.ix_(places, self._places)]) @ self.coefficients(penalties)

    def _centred(self, rows: np.ndarray) -> np.ndarray:
        return rows - rows.mean(axis=1, keepdims=True) - self._means + self._means.mean()


def errors_of(kernel: np.ndarray, targets: np.ndarray, folds: Folds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tests probes on folds that they never saw; the fold before each test fold chooses their penalties.

    Returns:
        Squared errors and those of the training states' mean, both (variables, groups), and the penalty of each
        variable, (variables,): the middle one of the folds.
    """
    errors, spreads, chosen = np.zeros(targets.shape), np.zeros(targets.shape), []
    for fold in range(FOLDS):
        before, tested = (np.flatnonzero(folds.fold == (fold - back) % FOLDS) for back in (1, 0))
        trial = Ridge(kernel, targets, folds.training([fold, fold - 1]))
        tried = [
            ((trial.predict(before, np.full(targets.shape[1], each)) - targets[before]) ** 2).sum(axis=0)
            for each in PENALTIES
        ]
        chosen.append(PENALTIES[np.argmin(tried, axis=0)])
        probe = Ridge(kernel, targets, folds.training([fold]))
        errors[tested] = (probe.predict(tested, chosen[-1]) - targets[tested]) ** 2
        spreads[tested] = (probe.mean - targets[tested]) ** 2
    of_group = np.eye(folds.count)[folds.groups]
    return errors.T @ of_group, spreads.T @ of_group, np.median(chosen, axis=0)


def left_after_erasing(
    states: np.ndarray, targets: np.ndarray, penalties: np.ndarray, folds: Folds
) -> tuple[np.ndarray, np.ndarray]:
    """Tests erasures on states that they never saw: with new probes, before and after.

    Two folds decide what is erased, and new probes are trained and tested on the other three. An erasure from all
    states leaves less.

    Returns:
        R2 of the new probes before and after, both (variables,); NaN if there are too few states, or for a variable
        that is always the same there.
    """
    tested = np.flatnonzero(folds.fold >= 2)
    groups = np.unique(folds.groups[tested], return_inverse=True)[1]
    own = Folds(folds.steps[tested], groups, groups % FOLDS)
    places, flat = folds.training([2, 3, 4]), states.reshape(len(states), -1)
    if len(places) < 2 or not own.can_train:
        return np.full(targets.shape[1], np.nan), np.full(targets.shape[1], np.nan)
    erasures = Erasures(flat[places], targets[places], penalties)
    before = r2_of(*errors_of(kernel_of(flat[tested]), targets[tested], own)[:2])
    after = np.zeros_like(before)
    for variable in range(len(before)):
        mean, read, write = erasures.of(variable)
        erased = flat[tested] - np.outer((flat[tested] - mean) @ read, write)
        of_one = errors_of(kernel_of(erased), targets[tested, variable, None], own)
        after[variable] = r2_of(*of_one[:2])[0]
    return before, after


def r2_of(errors: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Returns the share of the variance that is explained, over all groups; NaN if there is none. See `errors_of`."""
    whole = spread.sum(axis=-1)
    return np.where(whole > 0, 1 - errors.sum(axis=-1) / np.maximum(whole, 1e-12), np.nan)


def kernel_of(states: np.ndarray) -> np.ndarray:
    """Returns the inner products of centred activations, (states, ...)."""
    flat = states.reshape(len(states), -1)
    flat = flat - flat.mean(axis=0)
    return (flat @ flat.T).astype(np.float64)


class Erasures:
    """What erases each of some variables from a layer, and noise as a control, at the same states.

    Args:
        states: Activations of the layer, (states, ...).
        targets: Variables, (states, variables).
        penalties: Of each variable, see `errors_of`.
        seed: By which noise is drawn.
    """

    def __init__(self, states: np.ndarray, targets: np.ndarray, penalties: np.ndarray, *, seed: int = 0) -> None:
        flat = states.reshape(len(states), -1)
        self._mean = flat.mean(axis=0)
        self._centred = flat - self._mean
        self._kernel, self._targets, self._penalties = kernel_of(states), targets, penalties
        self._random = np.random.default_rng(seed)

    def of(self, variable: int) -> Erasure:
        """Takes away what the probe of a variable reads, along the direction that goes with the variable.

        Afterwards activations and variable have no covariance at these states, so no linear probe finds it there.
        """
        return self._of_labels(self._targets[:, [variable]], variable)[0]

    def noise(self, variable: int, count: int) -> list[Erasure]:
        """Takes away, in the same way, labels of Gaussian noise.

        Each so far that the mean squared change at these states is the same as without the variable.
        """
        size = self._size(self.of(variable))
        erasures = self._of_labels(self._random.standard_normal((len(self._centred), count)), variable)
        return [(mean, read, write * (size / self._size((mean, read, write)))) for mean, read, write in erasures]

    def _of_labels(self, labels: np.ndarray, variable: int) -> list[Erasure]:
        """Returns erasures of labels, (states, labels), as if each was this variable."""
        probe = Ridge(self._kernel, labels, np.arange(len(labels)))
        weights = probe.coefficients(np.full(labels.shape[1], self._penalties[variable])), labels - probe.mean
        reads, directions = (each.T.astype(np.float32) @ self._centred for each in weights)
        return [  # 0 if the label never changes
            (self._mean, read, along / max(read @ along, np.float32(1e-12)))
            for read, along in zip(reads, directions, strict=True)
        ]

    def _size(self, erasure: Erasure) -> np.float32:
        _, read, write = erasure
        return np.linalg.norm(write) * np.linalg.norm(self._centred @ read)
