"""The sparse features of a layer: when each is active, whether a second training finds it, and what changes without it.

Sources: Cunningham et al. 2023, arXiv:2309.08600 (sparse autoencoders of activations); Paulo and Belrose 2025,
arXiv:2501.16615 (trainings with other seeds find other features, so each is looked for twice).
"""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.erased_actions import ErasedActions
from neurozoo.feature_visualization.layers import check_pictures
from neurozoo.feature_visualization.linear_probes import Folds
from neurozoo.feature_visualization.patches import distinct_steps
from neurozoo.feature_visualization.pictures import Row, side_by_side, write_sheet
from neurozoo.feature_visualization.recordings import activations_at, inputs_at, open_recording
from neurozoo.feature_visualization.sparse_autoencoder import ACTIVE, FEATURES, UPDATES, SparseAutoencoder
from neurozoo.files.csv import write_csv_rows
from neurozoo.interventions.activations import Erasure
from neurozoo.networks.catalogue import check_hidden_layer
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games
from neurozoo.rollouts.rollout_files import RolloutFile
from neurozoo.rollouts.what_if import check_unchanged

STATES = 4_000  # of the recording, evenly spread, on which features are found
TESTED = 2_000  # of these, evenly spread, at which actions are compared
FOUND_TWICE = 0.9  # cosine from which two trainings have found the same feature
LEAST = 20  # active states that a drawn feature has
ROWS, SCREENS, DISTANCE, CELL = 12, (5, 3), 10, 110  # of the sheet; steps between screens; their height in pixels
_COMPARED = ("actions", "actions_noise", "actions_excess", "actions_excess_low", "actions_excess_high")
COLUMNS = ("feature", "active", "found_twice", *_COMPARED, "active_states", "explained")

Record = dict[str, Any]


def measure_sparse_features(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    picture: str | os.PathLike,
    table: str | os.PathLike,
    *,
    layer: str,
    replications: int = 50_000,
    confidence: float = 0.95,
    updates: int = UPDATES,
) -> list[Record]:
    """Finds the features of a hidden layer, and draws those that decide most (docs/causal.md#sparse-features).

    Args:
        frozen_folder: The frozen model.
        rollout: A recording of it, as for probes.
        picture: A PNG with a row for each of the features that change most actions.
        table: A CSV file with a row for each feature that is ever active, in the same order.
        layer: Its name.
        replications: Bootstrap resamples per interval.
        confidence: Of the intervals.
        updates: Of each training.

    Raises:
        NeurozooError: The layer does not exist or is the last one; the agent has a memory, continuous actions or no
            pictures; the recording is too short or not of this agent; the layer hardly changes.
    """
    frozen = check_pictures(open_frozen(frozen_folder))
    check_hidden_layer(layer, [each.name for each in frozen.layers])
    if frozen.state_shapes:
        raise NeurozooError(
            f"{frozen.title} has a memory, so what one state decides cannot be tested alone. Take an agent without one."
        )
    if frozen.is_continuous:
        raise NeurozooError(f"The actions of {frozen.title} are continuous, so none is chosen instead of another.")
    use_one_thread()
    with open_recording(frozen, rollout) as recording:
        check_unchanged(recording)
        places = np.unique(np.linspace(0, recording.steps - 1, STATES).astype(int))
        folds = Folds.of(places, np.array([*recording.starts]), recording.steps)
        states = activations_at(frozen, recording, places, [layer])[0].reshape(len(places), -1)
        tested = np.unique(np.linspace(0, len(places) - 1, TESTED).astype(int))
        inputs = inputs_at(frozen, recording, places[tested])
        training = states[folds.training([0])]  # the first fold says how well features explain states they never saw
        found, second = (SparseAutoencoder.fit(training, seed=seed, updates=updates) for seed in (0, 1))
        explained = found.explained(states[folds.fold == 0])
        activations = found.activations(states)
        groups = folds.groups[tested]
        effects = _Effects(frozen, layer, inputs, groups, states, replications=replications, confidence=confidence)
        rows = []
        for feature in np.flatnonzero(activations.any(axis=0)).tolist():
            active = activations[:, feature] > 0
            row = {"feature": feature, "active": active.mean(), "active_states": int(active[tested].sum())}
            row["found_twice"] = float((second.decoder @ found.decoder[feature]).max())
            row |= effects.without(found.erasure(feature), active[tested])
            rows.append(row | {"explained": explained})
        rows.sort(key=lambda row: -np.nan_to_num(row["actions_excess"], nan=-2))  # what was not tested comes last
        if not (drawn := _drawn(rows)):
            raise NeurozooError(
                f"No feature of {layer} is active at {LEAST} states: it hardly changes, or the recording is too short "
                "(probes.max_steps)."
            )
        write_csv_rows(table, COLUMNS, [[_cell(row[column]) for column in COLUMNS] for row in rows])
        _draw(frozen, recording, picture, layer, drawn, activations, places)
    return rows


class _Effects:
    """How many actions change without a feature, and after a move by chance that is as long."""

    def __init__(
        self,
        frozen: FrozenModel,
        layer: str,
        inputs: Sequence[np.ndarray],
        groups: np.ndarray,
        states: np.ndarray,
        *,
        replications: int,
        confidence: float,
    ) -> None:
        self._actions = ErasedActions(frozen, layer, inputs, groups)
        self._groups, self._count = groups, int(groups.max()) + 1
        self._states, self._random = states, np.random.default_rng(0)
        self._replications, self._confidence = replications, confidence

    def without(self, erasure: Erasure, active: np.ndarray) -> Record:
        """Compares actions where a feature is active; (states,)."""
        among = [active[self._groups == group] for group in range(self._count)]
        controls = [self._control(erasure) for _ in range(self._count)]
        own, noise = self._actions.changed(erasure, controls, among)
        if not len(own):
            return dict.fromkeys(_COMPARED, np.nan)
        excess = own - noise
        found = bootstrap_intervals(
            [excess], {"": mean_over_games}, replications=self._replications, confidence=self._confidence
        )[""]
        return dict(zip(_COMPARED, (own.mean(), noise.mean(), excess.mean(), *found), strict=True))

    def _control(self, erasure: Erasure) -> Erasure:
        """Moves states as far, but along the difference of two by chance, which usually leads away from their mean."""
        mean, read, write = erasure
        one, other = self._states[self._random.choice(len(self._states), 2, replace=False)]
        length = max(np.linalg.norm(one - other), np.float32(1e-12))
        return mean, read, (one - other) * (np.linalg.norm(write) / length)


def _drawn(rows: Sequence[Record]) -> list[Record]:
    """Chooses features that are active often enough, those first that were found twice."""
    often = [row for row in rows if row["active_states"] >= LEAST]
    return sorted(often, key=lambda row: row["found_twice"] < FOUND_TWICE)[:ROWS]


def _draw(
    frozen: FrozenModel,
    recording: RolloutFile,
    output: str | os.PathLike,
    layer: str,
    rows: Sequence[Record],
    activations: np.ndarray,
    places: np.ndarray,
) -> None:
    random, chosen = np.random.default_rng(0), []
    for row in rows:
        values = activations[:, row["feature"]]
        active = places[np.argsort(-values, kind="stable")[: int((values > 0).sum())]]
        orders = active, random.permutation(active)
        chosen.append([distinct_steps(*each, DISTANCE) for each in zip(orders, SCREENS, strict=True)])
    screens = dict(recording.rows_at("frames", sorted({step for cells in chosen for steps in cells for step in steps})))
    stride = -(-next(iter(screens.values())).shape[0] // CELL)
    drawn = [
        Row(_label(row), [side_by_side([screens[step][::stride, ::stride] for step in steps], 1) for steps in cells])
        for row, cells in zip(rows, chosen, strict=True)
    ]
    write_sheet(
        output,
        title=f"{frozen.title}: sparse features of {layer}",
        note=(
            f"Each state of {layer} as a sum of at most {ACTIVE} of {FEATURES} features, which explain "
            f"{100 * rows[0]['explained']:.0f} % of the variance in states that they never saw. A row per feature: its "
            "number; the share of states in which it is active; the share of actions there that change without it "
            "(mean over episodes or blocks of time), in brackets if the state is moved as far along the difference of "
            "two states by chance (* the interval of the difference lies above 0, uncorrected); its cosine with the "
            f"nearest feature of a second training. Those found twice (cosine {FOUND_TWICE:g}) come first, of "
            "these the ones that change most actions."
        ),
        headers=["most active", "active, by chance"],
        rows=drawn,
    )


def _label(row: Record) -> str:
    star = "*" if row["actions_excess_low"] > 0 else ""
    lines = f"feature {row['feature']}", f"in {100 * row['active']:.1f} % of states"
    effect = f"actions {100 * row['actions']:.0f} % ({100 * row['actions_noise']:.0f}){star}"
    return "\n".join([*lines, effect, f"again {row['found_twice']:.2f}"])


def _cell(value: Any) -> Any:
    return value if isinstance(value, int) else float(f"{value:.6g}")
