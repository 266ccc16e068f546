"""The probes of a run: what its layers tell about the console's memory, and whether the agent uses it.

Sources: Anand et al. 2019, arXiv:1906.08226 (AtariARI: probes of memory); Elazar et al. 2021, arXiv:2006.00995 (what
can be decoded need not be used: erase it, and compare with a control).
"""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.environments.games import check_ram_variables
from neurozoo.feature_visualization.erased_actions import ErasedActions
from neurozoo.feature_visualization.linear_probes import (
    Erasures,
    Folds,
    errors_of,
    kernel_of,
    left_after_erasing,
    r2_of,
)
from neurozoo.feature_visualization.recordings import activations_at, inputs_at, open_recording
from neurozoo.files.csv import write_csv_rows
from neurozoo.interventions.activations import ErasedModel, Erasure
from neurozoo.interventions.intervention import INPUT
from neurozoo.records.statistics import Statistic, bootstrap_intervals, mean_over_games
from neurozoo.rollouts.episode import Episode
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.player import Player, episode_starts, world_of_agent
from neurozoo.rollouts.progress import Progress
from neurozoo.rollouts.rollout_files import RolloutFile
from neurozoo.rollouts.what_if import check_unchanged

STATES = 1_000  # of the recording, evenly spread; time grows with their cube
SHUFFLES = 5  # of the weights; one alone may pass on much more of a variable than another
COLUMNS = (
    "variable", "byte", "layer", "r2", "r2_low", "r2_high", "shuffled_labels", "shuffled_weights", "gain", "gain_low",
    "gain_high", "beaten", "before", "after", "actions", "actions_noise", "actions_excess", "actions_excess_low",
    "actions_excess_high", "score", "score_noise", "score_excess", "score_excess_low", "score_excess_high",
    "score_whole", "starts", "states", "groups",
)  # fmt: skip

Row = dict[str, Any]
Intervals = Callable[[str, np.ndarray, Statistic], Row]  # a name, its value, and `_low` and `_high`


def measure_probes(
    frozen_folder: str | os.PathLike,
    rollout: str | os.PathLike,
    output: str | os.PathLike,
    *,
    starts: int = 10,
    steps: int = 500,
    replications: int = 50_000,
    confidence: float = 0.95,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> list[Row]:
    """Fits a probe for every variable and layer, erases what it finds, and writes a table (docs/causal.md#probes).

    Args:
        frozen_folder: The frozen model.
        rollout: A recording of it, of several episodes or a long one.
        output: The CSV file, with a row for each variable and layer. The layer `observation` is what the agent sees.
        starts: Games that are played without a variable, each from its own start; 0 for none.
        steps: Length of each, at most.
        replications: Bootstrap resamples per interval.
        confidence: Of the intervals.
        log: See `Progress`.
        terminal: See `Progress`.

    Raises:
        NeurozooError: No variables of the game are known, or the recording is too short or not of this agent.
    """
    frozen = open_frozen(frozen_folder)
    use_one_thread()
    names = [layer.name for layer in frozen.layers]

    def intervals(name: str, values: np.ndarray, statistic: Statistic) -> Row:
        found = bootstrap_intervals([values], {"": statistic}, replications=replications, confidence=confidence)
        low, high = found[""]
        return {name: statistic([values]), f"{name}_low": low, f"{name}_high": high}

    with open_recording(frozen, rollout) as recording:
        check_unchanged(recording)
        places = np.unique(np.linspace(0, recording.steps - 1, STATES).astype(int))
        variables, targets = _variables(frozen, recording, places)
        folds = Folds.of(places, np.array([*recording.starts]), recording.steps)
        inputs = inputs_at(frozen, recording, places)
        layers = dict(zip(names, activations_at(frozen, recording, places, names), strict=True))
        shuffled = [  # errors by shuffle and layer
            [
                errors_of(kernel_of(each), targets, folds)[0]
                for each in activations_at(frozen, recording, places, names, shuffle=seed)
            ]
            for seed in range(SHUFFLES)
        ]
        perturbation, seed = recording.perturbation, recording.seed + 1  # other starts than those of the recording
    rows, penalties = {}, {}
    for layer, others in zip((INPUT, *names), (None, *zip(*shuffled, strict=True)), strict=True):
        kernel = kernel_of(inputs[0] if layer == INPUT else layers[layer])
        numbers, penalties[layer] = _decode(kernel, others, targets, folds, intervals)
        facts = {"layer": layer, "states": len(places), "groups": folds.count}
        rows[layer] = [
            {"variable": name, "byte": byte, **facts, **{key: values[n] for key, values in numbers.items()}}
            for n, (name, byte) in enumerate(variables.items())
        ]
    hidden = names[:-1]  # what is erased from the outputs are actions
    with Progress(f"probes of {frozen.title}", total=None, log=log, terminal=terminal) as progress:
        games = _Games(frozen, perturbation, seed=seed, starts=starts, steps=steps, progress=progress)
        for layer in hidden:
            found = [n for n, row in enumerate(rows[layer]) if row["r2_low"] > 0]
            if not found:
                continue
            count = max(starts, folds.count)
            erasures = Erasures(layers[layer], targets[:, found], penalties[layer][found])
            left = left_after_erasing(layers[layer], targets[:, found], penalties[layer][found], folds)
            actions = None if frozen.state_shapes else ErasedActions(frozen, layer, inputs, folds.groups)
            for number, place in enumerate(found):
                row, own, controls = rows[layer][place], erasures.of(number), erasures.noise(number, count)
                row |= {"before": left[0][number], "after": left[1][number]}
                if actions:
                    row |= _compared("actions", *actions.changed(own, controls), intervals)
                if starts and row["r2"] == max(rows[name][place]["r2"] for name in hidden):
                    row |= _compared("score", *games.changes(layer, own, controls), intervals)
                    row |= {"score_whole": games.whole.mean(), "starts": starts}
    table = [row for place in range(len(variables)) for row in (rows[layer][place] for layer in rows)]
    write_csv_rows(output, COLUMNS, [[_cell(row.get(column, "")) for column in COLUMNS] for row in table])
    return table


def _variables(frozen: FrozenModel, recording: RolloutFile, places: np.ndarray) -> tuple[dict[str, int], np.ndarray]:
    """Returns the known variables of a game that are not always the same, and their values, (places, variables)."""
    known = check_ram_variables(frozen.game)
    ram = np.stack([row for _, row in recording.rows_at("ram", places)]).astype(float)
    known = {name: byte for name, byte in known.items() if np.ptp(ram[:, byte])}
    return known, ram[:, [*known.values()]]


def _decode(
    kernel: np.ndarray,
    shuffled: Sequence[np.ndarray] | None,
    targets: np.ndarray,
    folds: Folds,
    intervals: Intervals,
) -> tuple[Row, np.ndarray]:
    """Returns how well each variable is decoded, with the controls, as arrays (variables,), and the penalties.

    `shuffled` are the errors of probes of shuffled weights.
    """
    # Beside the true labels those of another moment, which are as smooth in time
    labels = np.concatenate([targets, np.roll(targets, len(targets) // 2, axis=0)], axis=1)
    both, spreads, penalties = errors_of(kernel, labels, folds)
    count = targets.shape[1]
    own, spread = both[:count], spreads[:count]
    numbers = intervals("r2", np.stack([spread - own, spread]), _share)
    numbers["shuffled_labels"] = r2_of(both[count:], spreads[count:])
    if shuffled is not None:
        errors = np.stack(shuffled)
        numbers["shuffled_weights"] = r2_of(errors.mean(axis=0), spread)
        numbers["beaten"] = (errors.sum(axis=-1) > own.sum(axis=-1)).mean(axis=0)
        numbers |= intervals("gain", np.stack([errors.mean(axis=0) - own, spread]), _share)
    return numbers, penalties[:count]


def _share(games: Sequence[np.ndarray]) -> np.ndarray:
    """Divides sums over groups; (2, ..., groups)."""
    part, whole = games[0].sum(axis=-1)
    return part / np.maximum(whole, 1e-12)


def _compared(name: str, own: np.ndarray, noise: np.ndarray, intervals: Intervals) -> Row:
    """Returns what an erasure changes, and how much more than one of noise; from one number per group or start."""
    means = {name: own.mean(), f"{name}_noise": noise.mean()}
    return means | intervals(f"{name}_excess", own - noise, mean_over_games)


class _Games:
    """Games of an agent, whole or without a direction of a layer, from the same starts and with the same chance.

    Attributes:
        whole: The scores of the whole agent.
    """

    def __init__(
        self, frozen: FrozenModel, perturbation: Perturbation, *, seed: int, starts: int, steps: int, progress: Progress
    ) -> None:
        self._frozen, self._perturbation, self._seed = frozen, perturbation, seed
        self._steps, self._progress = steps, progress
        self._starts = list(islice(episode_starts(perturbation.protocol(frozen), seed=seed), starts))
        self._players: dict[str, tuple[Player, ErasedModel]] = {}  # by layer
        self.whole = self._scores(Player(frozen, perturbation, seed=seed), None, [])

    def changes(self, layer: str, own: Erasure, controls: Sequence[Erasure]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the change of each start's score, also with a control for each start."""
        if layer not in self._players:
            self._players[layer] = self._player_of(layer)
        player, erased = self._players[layer]
        count = len(self._starts)
        scores = self._scores(player, erased, [own] * count), self._scores(player, erased, controls[:count])
        return scores[0] - self.whole, scores[1] - self.whole

    def _player_of(self, layer: str) -> tuple[Player, ErasedModel]:
        """Returns the agent, and where to say what is erased from a layer."""
        made = []

        def prepare(model):
            made.append(ErasedModel(model, _keras_name(self._frozen, layer)))
            return made[0].model

        return Player(self._frozen, self._perturbation, seed=self._seed, prepare=prepare), made[0]

    def _scores(self, player: Player, erased: ErasedModel | None, erasures: Sequence[Erasure]) -> np.ndarray:
        scores = []
        with closing(world_of_agent(self._frozen, self._perturbation.protocol(self._frozen))) as world:
            for number, start in enumerate(self._starts):
                if erased:
                    erased.erase(erasures[number])
                episode = Episode(world, player, start, number)
                while not world.is_done and world.steps < self._steps:
                    episode.step()
                    self._progress.advance()
                scores.append(episode.score)
        return np.array(scores)


def _keras_name(frozen: FrozenModel, layer: str) -> str:
    return next(each.keras_layer for each in frozen.layers if each.name == layer)


def _cell(value: Any) -> Any:
    return value if isinstance(value, str | int) else float(f"{value:.6g}")
