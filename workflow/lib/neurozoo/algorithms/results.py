"""The results of runs: the weights of a network, or an archive of solutions. Both write their own files."""

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo.agents.checkpoint import Checkpoint, write_checkpoint
from neurozoo.environments.protocols import Protocol
from neurozoo.errors import NeurozooError
from neurozoo.files import parse_json, write_json, written_whole
from neurozoo.files.npz import read_npz
from neurozoo.genomes.genome import Genome
from neurozoo.records.format import FORMAT, KEY, FormatError, check_format
from neurozoo.records.level_table import write_levels
from neurozoo.records.run_result import FILES, GENOME, LEVELS, finite, write_run_result

Identity = Mapping[str, Any]  # `algo`, `game`, `model` and `run`
NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, kw_only=True)
class NetworkResult:
    """The network that a run results in.

    Attributes:
        weights: float32, shape (parameters,).
        protocol: How its episodes are played.
        num_actions: Outputs of the network.
        reference: Observations that set the statistics of virtual batch norm: float32, (batch, height, width,
            channels); None for networks without it.
        origin: The genome that the weights come from; None outside of neuroevolution.
        validation_score: The mean score by which it was chosen; None if nothing was chosen.
        action_rule: How its outputs become actions, see `Checkpoint`.
        test_score: Mean score of the test episodes; None if it has not been tested, as in the middle of a run.
        test_episodes: Number of test episodes; None if it is not known.
        iteration: The generation or epoch in which it was found.
        frames: Frames that the run had played by then.
    """

    weights: np.ndarray
    protocol: Protocol
    num_actions: int
    test_score: float | None
    test_episodes: int | None
    iteration: int
    frames: int
    action_rule: str = "greedy"
    validation_score: float | None = None
    reference: np.ndarray | None = None
    origin: Genome | None = None

    @property
    def is_in_log(self) -> bool:
        """Whether the weights can be made again from the genomes in the log."""
        return self.origin is not None and self.origin.is_recipe

    def write(self, run_dir: Path, identity: Identity, about: Mapping[str, object] = NOTHING) -> None:
        """Writes `checkpoint.npz`, `genome.json` if there is a genome, and `result.json`, in this order.

        `identity` are the four names of the run; `about` is what else the files should say of it, as plain JSON.
        """
        facts = {**self._facts(identity), **about}
        files = [FILES["network"]]
        with_genome = self._with_genome(facts)
        write_checkpoint(run_dir / files[0], self._checkpoint(identity), facts=with_genome)
        if self.origin is not None:
            write_json(run_dir / GENOME, with_genome)
            files.append(GENOME)
        write_run_result(run_dir, kind="network", facts=facts, files=files)

    def keep(self, path: Path, identity: Identity, moment: Mapping[str, object]) -> None:
        """Writes one `.npz` that holds the whole result, for a snapshot or a tag.

        `moment` says when it was kept, `run_frames` and `run_iteration`, and what else the file should say.
        """
        facts = {**self._with_genome(self._facts(identity)), **moment}
        write_checkpoint(path, self._checkpoint(identity), facts=facts)

    def _checkpoint(self, identity: Identity) -> Checkpoint:
        return Checkpoint(
            theta=self.weights,
            reference=self.reference,
            protocol=self.protocol,
            num_actions=self.num_actions,
            action_rule=self.action_rule,
            **identity,
        )

    def _facts(self, identity: Identity) -> dict[str, object]:
        return {
            **identity,
            **self.protocol.facts,
            "validation_score": self.validation_score,
            "test_score": self.test_score,
            "test_episodes": self.test_episodes,
            "iteration": self.iteration,
            "frames": self.frames,
        }

    def _with_genome(self, facts: Mapping[str, object]) -> Mapping[str, object]:
        """Adds the genome if there is one, or null if only the checkpoint holds the weights."""
        return facts if self.origin is None else {**facts, "genome": self.origin.to_json() if self.is_in_log else None}


@dataclass(frozen=True, kw_only=True)
class ArchiveResult:
    """A quality-diversity archive: the best solution found for each kind of behaviour.

    Attributes:
        solutions: Shape (elites, dimensions).
        objectives: float, shape (elites,).
        measures: float, shape (elites, measures): the behaviour of each solution.
        ranges: float, shape (measures, 2): lower and upper bound of each measure.
        iteration: Finished iterations of the search.
        evaluations: Evaluations so far.
        num_cells: Number of cells, filled or not; None if the archive has no cells.
        qd_offset: Subtracted from each objective in the QD score.
        metadata: Other arrays with one entry per elite, such as the generation that found it.
        protocol: How solutions are evaluated, with at least `name`, and `measures` if they have names.
        levels: Everything that was evaluated, not only the elites: arrays with one entry per evaluation, by the
            names of columns. None for the elites.
    """

    solutions: np.ndarray
    objectives: np.ndarray
    measures: np.ndarray
    ranges: np.ndarray
    iteration: int
    evaluations: int
    protocol: Mapping[str, object]
    num_cells: int | None = None
    qd_offset: float = 0.0
    metadata: Mapping[str, np.ndarray] = field(default_factory=dict)
    levels: Mapping[str, np.ndarray] | None = None

    is_in_log = True  # tags keep networks; archives have snapshots

    @property
    def qd_score(self) -> float:
        """Sum over all elites of objective minus `qd_offset` (Pugh et al. 2016, doi:10.3389/frobt.2016.00040)."""
        return float(np.sum(np.asarray(self.objectives, np.float64) - self.qd_offset))

    def write(self, run_dir: Path, identity: Identity, about: Mapping[str, object] = NOTHING) -> None:
        """Writes `archive.npz`, `levels.parquet` and `result.json`; see `NetworkResult.write`."""
        self.keep(run_dir / FILES["archive"], identity, about)
        elites = {"solution": self.solutions, "objective": self.objectives, "measures": self.measures}
        write_levels(run_dir / LEVELS, elites if self.levels is None else self.levels)
        facts = {**self._facts(identity), **about}
        write_run_result(run_dir, kind="archive", facts=facts, files=[FILES["archive"], LEVELS])

    def keep(self, path: Path, identity: Identity, moment: Mapping[str, object]) -> None:
        """Writes one file that holds the whole result; see `NetworkResult.keep`."""
        arrays: dict[str, Any] = {
            "solutions": self.solutions,
            "objectives": self.objectives,
            "measures": self.measures,
            "ranges": self.ranges,
            **{f"metadata_{name}": array for name, array in self.metadata.items()},
        }
        facts = json.dumps({KEY: FORMAT, **self._facts(identity), **moment})
        with written_whole(path) as temporary:
            np.savez(temporary, facts=np.array(facts), **arrays)

    def _facts(self, identity: Identity) -> dict[str, object]:
        elites = len(self.objectives)
        return {
            **identity,
            "protocol": self.protocol["name"],
            **{name: value for name, value in self.protocol.items() if name == "measures"},
            "qd_score": finite(self.qd_score),
            "elites": elites,
            "coverage": elites / self.num_cells if self.num_cells else None,
            "best_objective": finite(float(np.max(self.objectives))) if elites else None,
            "iteration": self.iteration,
            "evaluations": self.evaluations,
        }


Result = NetworkResult | ArchiveResult


def read_archive(path: str | os.PathLike) -> dict[str, np.ndarray]:
    """Reads the arrays of an archive. A file from a stranger is safe to read.

    Returns:
        `solutions`, `objectives`, `measures` and `ranges` as in `ArchiveResult`, and its metadata as `metadata_NAME`.

    Raises:
        NeurozooError: The file is missing or damaged.
    """
    needed = ("solutions", "objectives", "measures", "ranges")
    try:
        found = read_npz(path)
        check_format(parse_json(str(found.pop("facts"))), f"The archive {path}")
    except FormatError:
        raise
    except FileNotFoundError as error:
        command = f"snakemake --cores all {shlex.quote(str(path))}"
        raise NeurozooError(f"The archive {path} is missing. Train first: {command}") from error
    except Exception as error:  # zipfile and NumPy raise many kinds of errors
        raise NeurozooError(f"The archive {path} is damaged ({type(error).__name__}). Train the run again.") from error
    if missing := [name for name in needed if name not in found]:
        raise NeurozooError(f"The archive {path} lacks {', '.join(missing)}. Train the run again.")
    per_elite = {name: array for name, array in found.items() if name not in ("ranges", "metadata_dims")}
    rows = {name: len(array) if array.shape else 0 for name, array in per_elite.items()}
    if odd := [name for name in rows if rows[name] != rows["solutions"]]:
        raise NeurozooError(
            f"The archive {path} has {rows['solutions']} solutions, but {rows[odd[0]]} rows of {odd[0]}. Train the run "
            "again."
        )
    for name, axes in (("objectives", 1), ("measures", 2), ("solutions", 2)):
        if found[name].ndim != axes or found[name].dtype.kind not in "fiub":
            raise NeurozooError(
                f"The archive {path} has {name} of type {found[name].dtype} and shape {found[name].shape}, but they "
                f"should be numbers with {axes} {'axis' if axes == 1 else 'axes'}. Train the run again."
            )
    if not all(np.isfinite(found[name]).all() for name in ("objectives", "measures")):
        raise NeurozooError(f"The archive {path} has elites without finite measures or objective. Train the run again.")
    return found
