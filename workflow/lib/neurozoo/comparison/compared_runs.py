"""Opens the rollouts of several runs of one game, and checks them against the frozen models beside them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.agents.generation_reports import GENERATIONS
from neurozoo.agents.tags import SNAPSHOTS, TAGS
from neurozoo.algorithms.agent_names import algo_name, called, label_with_name
from neurozoo.errors import NeurozooError
from neurozoo.records.comparability import LABEL, VARIANT, read_facts, settings_in, with_names
from neurozoo.records.run_config import ARCHITECTURE
from neurozoo.rollouts.rollout_files import RolloutReader, open_rollout, recognise

SEEDS = 2**32  # t-SNE, UMAP and Keras take seeds below this


@dataclass(frozen=True)
class ComparedRun:
    """One run in a comparison, with its rollout at `path`, of so many steps."""

    frozen: FrozenModel
    title: str  # such as `ga/frostbite/large/1`
    path: Path
    steps: int
    score: np.ndarray  # of the episode so far, shape (steps,)
    episode: np.ndarray  # its number from 0, shape (steps,)
    # What makes the run comparable, as far as its `config.yaml` says it; see `records.comparability`.
    facts: dict[str, str]

    def shape(self, key: str) -> tuple[int, ...]:
        """Returns the shape of one record of an array in the rollout."""
        with RolloutReader(self.path, keys=[key]) as reader:
            return reader.shape(key)[1:]

    def rows(self, key: str, chosen: np.ndarray) -> Iterator[np.ndarray]:
        """Yields chosen records of an array in the rollout, one at a time, in ascending order."""
        with RolloutReader(self.path, keys=[key]) as reader:
            for _, row in reader.rows_at(key, chosen):
                yield row


def read_compared_runs(places: Sequence[str | os.PathLike]) -> tuple[list[ComparedRun], dict[str, str]]:
    """Opens the runs to compare: folders with `frozen/` (`model.json` and `model.keras`) and `rollout.npz`.

    Returns:
        The runs, and the reason for each folder that is left out because it cannot be used.

    Raises:
        NeurozooError: No run can be used, the runs are of different games, or a run occurs twice.
    """
    runs, left_out = [], {}
    for place in map(Path, places):
        try:
            runs.append(_read_compared_run(place))
        except NeurozooError as error:
            left_out[str(place)] = str(error)
    if not runs:
        reasons = " ".join(left_out.values()) or "No folder was given."
        raise NeurozooError(f"There should be at least one run with a frozen model and a rollout. {reasons}")
    games = {run.frozen.game: run.title for run in runs}
    if len(games) > 1:
        shown = ", ".join(f"{game} ({title})" for game, title in games.items())
        raise NeurozooError(f"Compared runs should be of one game, but these are of {len(games)}: {shown}.")
    titles = [run.title for run in runs]
    if repeated := sorted({title for title in titles if titles.count(title) > 1}):
        raise NeurozooError(f"Each run should be given once, but these are repeated: {', '.join(repeated)}.")
    return runs, left_out


def _read_compared_run(place: Path) -> ComparedRun:
    frozen = open_frozen(place / "frozen")
    with open_rollout(place / "rollout.npz", frozen) as rollout:
        recognise(rollout, frozen)
        steps, score = rollout.steps, rollout.scores_before
    episode = np.searchsorted(list(rollout.starts), np.arange(steps), side="right") - 1
    is_moment = place.parent.name in (TAGS, SNAPSHOTS, GENERATIONS)  # of a run whose folder is two above
    config = (place.parent.parent if is_moment else place) / "config.yaml"
    facts = read_facts(config) if config.exists() else {}
    return ComparedRun(frozen, frozen.title, rollout.path, steps, score, episode, facts)


def variants(runs: Sequence[ComparedRun]) -> list[str]:
    """Returns what tells the settings of each run from those of others of its algorithm and network; else nothing."""
    names = [{"algo": run.frozen.algo, "model": run.frozen.model, "protocol": run.frozen.protocol.name} for run in runs]
    rows = [name | run.facts for name, run in zip(names, runs, strict=True)]
    return with_names(pd.DataFrame(rows))[VARIANT].tolist()


def algorithms(runs: Sequence[ComparedRun]) -> list[str]:
    """Names the algorithm of each run, whatever its network, and its settings where runs differ in them.

    Names are such as `ga`; `ga, mutation_power 0.5`; or what the literature calls the settings: `PPO` of `impala`.
    """
    rows = []
    for run in runs:
        algo, settings = run.frozen.algo, settings_in(run.facts)
        facts = {name: text for name, text in run.facts.items() if name != ARCHITECTURE}  # of a network, not of all
        row = {"algo": algo, "model": "", "protocol": run.frozen.protocol.name} | facts
        rows.append(row | ({LABEL: label} if (label := label_with_name(algo, settings)) else {}))
    names = []
    for row, variant in zip(rows, with_names(pd.DataFrame(rows))[VARIANT], strict=True):
        name, rest = called(row["algo"], variant)
        names.append(", ".join(filter(None, [row["algo"] if name == algo_name(row["algo"]) else name, rest])))
    return names


def spread(counts: Sequence[int], most: int) -> list[np.ndarray]:
    """Chooses records with the same stride in all runs, at most `most` of them in total.

    From the number of records of each run, it returns the numbers of the chosen ones, ascending.
    """
    stride = 1
    while sum(-(-count // stride) for count in counts) > most and stride < max(counts):
        stride += 1
    return [np.arange(0, count, stride) for count in counts]
