"""Tests of saliency maps: whether the pixels that they name matter, and whether the weights matter for the maps.

A map that fails either is a picture of something else: an edge detector looks convincing, and knows nothing of the
agent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.saliency import METHODS, ExplainedNetwork, Question
from neurozoo.feature_visualization.saliency_moments import Moments, lead
from neurozoo.records.statistics import bootstrap_intervals, holm_corrected, mean_over_games, signed_rank_test
from neurozoo.rollouts.perturbations import shuffle_weights

if TYPE_CHECKING:
    import keras

CONTROL = "edges"
AREAS = ("deletion", "random_deletion", "insertion", "random_insertion")
SHARES = np.linspace(0, 1, 21)  # of the pixels that are removed
RANDOM_ORDERS = 4  # per moment
SHUFFLED_MOMENTS = 8  # on which maps are compared with those of shuffled networks
MOST_ALIKE = 0.5  # largest mean correlation with maps of a shuffled network
CONFIDENCE = 0.95
ENOUGH = 8  # moments; if all of fewer agree, p is still not below 0.05 after correction for six methods
NO_SEED = 0  # every run's tests use the same random numbers


def edges(question: Question) -> np.ndarray:
    """Draws the strongest edge of each pixel's frames (Sobel), whatever the network is: this has to fail."""
    from scipy.ndimage import sobel

    return np.stack([np.hypot(sobel(seen, axis=0), sobel(seen, axis=1)).max(axis=-1) for seen in question.observations])


TESTED: Mapping[str, Callable[[Question], np.ndarray]] = {**METHODS, CONTROL: edges}


@dataclass
class Verdict:
    """What the tests say of a method.

    Curves have shape (moments, shares). They are the lead of the chosen action: a probability, or 1 for the mean lead
    of all moments, see `lead`.
    """

    method: str
    maps: np.ndarray  # float32, shape (moments, height, width)
    deletion: np.ndarray  # when the most salient pixels are removed; a steep fall is good
    insertion: np.ndarray  # when only they are there; a steep rise is good
    random_deletion: np.ndarray  # the same in random order, the mean of `RANDOM_ORDERS`
    random_insertion: np.ndarray
    control_deletion: np.ndarray  # the same for the control
    # Mean |rho| of maps before and after all layers from the output down to this one were shuffled, by layer
    correlations: dict[str, float] = field(default_factory=dict)
    p_value: float = np.nan  # of the deletion curve against random order, corrected for the number of methods

    @property
    def advantages(self) -> np.ndarray:
        """How much smaller the area under the deletion curve is than in random order, shape (moments,)."""
        return _area(self.random_deletion) - _area(self.deletion)

    @property
    def failures(self) -> list[str]:
        """What is wrong with the maps; empty if nothing is."""
        found = []
        if len(self.maps) < ENOUGH:
            found.append(f"{len(self.maps)} moments are too few to tell")
        elif not (self.p_value < 1 - CONFIDENCE and self.advantages.mean() > 0):
            found.append("removing what it marks harms no more than chance")
        if (alike := [*self.correlations.values()][-1]) > MOST_ALIKE:
            found.append(f"it hardly changes when all weights are shuffled (|ρ| {alike:.2f})")
        return found

    def record(self) -> dict[str, Any]:
        """Returns the row of the table, see docs/filters.md."""
        row: dict[str, Any] = {"method": self.method, "passes": int(not self.failures), "moments": len(self.maps)}
        areas = {name: _area(getattr(self, name)) for name in AREAS}
        row |= {name: area.mean() for name, area in areas.items()}
        for name, better in (
            ("deletion_better", self.advantages),
            ("insertion_better", areas["insertion"] - areas["random_insertion"]),
            ("over_edges", _area(self.control_deletion) - areas["deletion"]),
        ):
            low, high = bootstrap_intervals([better], {"mean": mean_over_games}, confidence=CONFIDENCE)["mean"]
            row |= {name: better.mean(), f"{name}_low": low, f"{name}_high": high}
        row |= {
            "failures": "; ".join(self.failures),
            "p_corrected": self.p_value,
            "correlation": [*self.correlations.values()][-1],
        }
        return row | {f"shuffled_to_{layer}": value for layer, value in self.correlations.items()}


def judge(model: "keras.Model", moments: Moments, *, layers: Sequence[str], is_drawn: bool) -> list[Verdict]:
    """Tests the maps of `TESTED` at some moments, the control last; those that the network cannot have are left out.

    Args:
        model: A frozen network, see `ExplainedNetwork`. Its weights are shuffled on the way and come back.
        moments: If they are fewer than `ENOUGH`, every method fails.
        layers: Names of its layers from first to last, see `shuffle_from_the_output_down`.
        is_drawn: Whether preferences are logits of a policy, see `lead`.
    """
    network = ExplainedNetwork(model)
    question = Question(network, moments.observations, moments.actions, moments.history)
    places = np.linspace(0, len(moments.steps) - 1, min(SHUFFLED_MOMENTS, len(moments.steps))).astype(int)
    compared = moments.among(places)
    maps: dict[str, np.ndarray] = {}
    for method, map_of in TESTED.items():
        try:
            maps[method] = map_of(question).astype(np.float32)
        except NeurozooError:  # the network has no convolution, for example
            continue
    unit = 1.0 if is_drawn else moments.leads.mean() or 1.0  # 0 if the network says the same of all actions

    def curves_of(salient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return _curves(question, salient, lambda said, action: lead(said, action, is_drawn=is_drawn) / unit)

    random = np.random.default_rng(NO_SEED)
    shape = (RANDOM_ORDERS, *moments.observations.shape[:3])
    by_chance = np.mean([curves_of(order) for order in random.random(shape)], axis=0)
    curves = {method: curves_of(found) for method, found in maps.items()}
    verdicts = [
        Verdict(name, maps[name], *own, by_chance[0], by_chance[1], curves[CONTROL][0]) for name, own in curves.items()
    ]
    p_values = holm_corrected(np.array([signed_rank_test(verdict.advantages) for verdict in verdicts]))
    for layer in shuffle_from_the_output_down(model, layers):
        asked = Question(network, compared.observations, compared.actions, compared.history)
        for verdict in verdicts:
            after = TESTED[verdict.method](asked)
            verdict.correlations[layer] = float(np.mean([*map(likeness, verdict.maps[places], after)]))
    for verdict, p_value in zip(verdicts, p_values, strict=True):
        verdict.p_value = float(p_value)
    return verdicts


def likeness(before: np.ndarray, after: np.ndarray) -> float:
    """Returns |rho| of two maps: Spearman's correlation of absolute values, 0 if a map is the same everywhere.

    Source: Adebayo et al. 2018, arXiv:1810.03292.
    """
    from scipy.stats import spearmanr

    before, after = np.abs(before).ravel(), np.abs(after).ravel()
    if np.ptp(before) == 0 or np.ptp(after) == 0:
        return 0.0
    return abs(float(spearmanr(before, after).statistic))


def shuffle_from_the_output_down(model: "keras.Model", layers: Sequence[str]) -> Iterator[str]:
    """Shuffles the weights of one layer after the other, and yields its name; at the end, all weights come back.

    A Keras layer belongs to the layer whose name its own begins with, such as `conv1_norm`; others, such as the
    baseline, to the last one. Adebayo et al. draw new weights instead. Shuffled ones keep their distribution, also
    that of agents whose weights are sums of noise.

    Source: Adebayo et al. 2018, arXiv:1810.03292 (cascading randomisation).
    """
    weights, random = model.get_weights(), np.random.default_rng(NO_SEED)
    owners = {
        each.name: max((name for name in layers if each.name.startswith(name)), key=len, default=layers[-1])
        for each in model.layers
    }
    try:
        for layer in reversed(layers):
            own = [each for each in model.layers if owners[each.name] == layer and each.weights]
            for each in own:
                shuffle_weights(each, random)
            if own:
                yield layer
    finally:
        model.set_weights(weights)


def _curves(question: Question, salient: np.ndarray, score: Callable) -> tuple[np.ndarray, np.ndarray]:
    """Returns deletion and insertion curves for maps of shape (moments, height, width): shape (moments, shares) each.

    A removed pixel becomes the mean of all moments at its place: the screen without what moves. Equal pixels go in
    random order, or the corner of a map of zeros would go first.

    Source: Petsiuk et al. 2018, arXiv:1806.07421; there, deletion leaves grey, and insertion starts from a blurred
    picture.
    """
    random = np.random.default_rng(NO_SEED)
    gone = question.observations.mean(axis=0)
    curves = []
    for i, observation in enumerate(question.observations):
        order = np.lexsort((random.random(salient[i].size), -salient[i].ravel()))
        ranks = np.empty(order.size, int)
        ranks[order] = np.arange(order.size)
        is_first = (ranks.reshape(salient[i].shape) < np.rint(SHARES * order.size)[:, None, None])[..., None]
        seen = np.concatenate([np.where(is_first, gone, observation), np.where(is_first, observation, gone)])
        history = [np.repeat(part[i : i + 1], len(seen), axis=0) for part in question.history]
        preferences, _ = question.network.outputs(seen, history)
        curves.append(score(preferences, np.repeat(question.target[i], len(seen))))
    deletion, insertion = np.split(np.stack(curves), 2, axis=1)
    return deletion, insertion


def _area(curves: np.ndarray) -> np.ndarray:
    return np.trapezoid(curves, SHARES, axis=1)
