"""Reads what starts a run besides random weights: a population, the weights of an agent, or some of its layers.

The first two are `load_population` and `load_from` of the published GPU code. A run keeps a copy, `state/start.npz`, so
that it continues exactly even if the source changes or goes away.
"""

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo.agents.checkpoint import read_checkpoint
from neurozoo.agents.playable_agent import read_agent
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.files import open_file, parse_json, sha256_of, written_whole
from neurozoo.files.npz import DAMAGE, read_npz
from neurozoo.genomes.genome import Genome, Weights, check_genome
from neurozoo.genomes.packing import BLOCK_NAME, unpack
from neurozoo.genomes.reading import GenomeRecord, is_text, naming_source, parse_genome, read_genome, read_text
from neurozoo.networks.catalogue import architecture_digest, get_network
from neurozoo.networks.chains import Layout

_COPY = "start.npz"
_CHOICES = ("action_set", "observation", "start_state")


@dataclass(frozen=True)
class Start:
    """What a run starts from."""

    source: str  # the file or folder, as the setting names it
    sha256: str  # hash of the file that was read
    # A population, best first; or a single genome, which may consist of weights, with NaN where weights evolve
    genomes: tuple[Genome, ...]

    @property
    def identity(self) -> dict[str, object]:
        """What the records of the run say about it."""
        return {"start_sha256": self.sha256, "start_genomes": len(self.genomes)}


@dataclass(frozen=True)
class Fit:
    """The game, network and noise table of a run, which what starts it has to fit."""

    game: str  # only told where a source does not name one; a genome may come from another game
    model: str
    layout: Layout
    noise_values: int  # size of the noise table

    def check(self, source: object, genomes: Sequence[Genome], facts: Mapping[str, Any]) -> None:
        """Checks genomes, and what a file says about them; it need not say anything.

        Args:
            source: The file.
            genomes: Its genomes.
            facts: What it says: `model`, `architecture`, `parameters`, `noise_values`; or `game` and `protocol`, which
                with the network give the number of parameters.

        Raises:
            NeurozooError: They do not fit.
        """
        model = facts.get("model")
        if model is not None and get_network(model).name != self.model:
            raise NeurozooError(
                f"{source} holds weights of the network {get_network(model).name!r}, but this run trains "
                f"{self.model!r}. Train the same network, or start from another file."
            )
        if facts.get("architecture") not in (None, architecture_digest(self.model, with_start=True)):
            raise NeurozooError(
                f"{source} holds weights of another network {self.model!r} than networks/catalogue.py describes here. "
                "If it was edited, undo that and give the new network a name of its own; or start from another file."
            )
        given = {len(genome.initial.theta) for genome in genomes if isinstance(genome.initial, Weights)}
        for parameters in (self._parameters(facts), *given):
            if parameters not in (None, self.layout.parameter_count):
                raise NeurozooError(
                    f"{source} holds weights of {_counted(parameters)} parameters, but {self.model!r} with "
                    f"{self.layout.num_actions} outputs has {self.layout.parameter_count:,} here. Take the same "
                    "observations and the same set of actions as there."
                )
        values = facts.get("noise_values")
        if values not in (None, self.noise_values):
            raise NeurozooError(
                f"{source} holds genomes of a noise table of {_counted(values)} values, but the table of this run has "
                f"{self.noise_values:,}. Give this run the same table (--noise)."
            )
        for genome in genomes:
            try:
                check_genome(genome, parameters=self.layout.parameter_count, table_size=self.noise_values)
            except NeurozooError as error:
                raise NeurozooError(f"{source}: {error}") from error

    def _parameters(self, facts: Mapping[str, Any]) -> object:
        if facts.get("parameters") is not None or facts.get("game") is None or facts.get("protocol") is None:
            return facts.get("parameters")
        choices = {name: facts.get(name) or None for name in _CHOICES}
        played = protocol_of(facts["game"], facts["protocol"], **choices)
        return layout_of(facts["game"], self.model, played).parameter_count


def _counted(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else repr(value)[:80]


def read_start(source: str, fit: Fit, *, state_dir: Path | None, kind: str) -> Start:
    """Returns what a run starts from: its own copy if it continues, or else the source.

    `kind` is what the source holds, one of `READERS`; `state_dir` is None for a run that starts now.
    """
    kept = None if state_dir is None else _read_copy(state_dir / _COPY)
    if kept is not None and kept.source == source:
        return kept
    return READERS[kind](source, fit)


def keep_start(start: Start, state_dir: Path) -> None:
    """Writes the run's own copy."""
    recipes = [genome.to_json() for genome in start.genomes if genome.is_recipe]
    about = {"source": start.source, "sha256": start.sha256, "genomes": recipes}
    arrays = {f"theta_{i}": g.initial.theta for i, g in enumerate(start.genomes) if isinstance(g.initial, Weights)}
    with written_whole(state_dir / _COPY) as temporary:
        np.savez(temporary, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]


def _read_copy(path: Path) -> Start | None:
    if not path.exists():
        return None
    try:
        arrays = read_npz(path)
        about = parse_json(str(arrays.pop("about")))
        weights = [Genome(Weights.of(theta)) for theta in arrays.values()]
        genomes = (*(Genome.from_json(genome) for genome in about["genomes"]), *weights)
        return Start(about["source"], about["sha256"], genomes)
    except Exception as error:  # as in `read_checkpoint`
        reason = f"{type(error).__name__}: {error}"[:200]
        raise NeurozooError(
            f"{path} is damaged ({reason}). Delete {path.parent} to train this run from the start."
        ) from error


Read = Callable[[str | Path, Fit], tuple[Sequence[Genome], Mapping[str, Any]]]


def _read(source: str, fit: Fit, setting: str, *, in_folder: Callable[[Path], Path], read: Read) -> Start:
    """Reads genomes and what their file says about them, and checks both."""
    place: str | Path = source if is_text(source) else Path(source)
    if isinstance(place, Path) and place.is_dir():
        place = in_folder(place)
    if isinstance(place, Path) and not place.is_file():
        raise NeurozooError(
            f"{setting}: {place} is missing. Give a run's folder, or one of the files that the documentation of "
            f"{setting} lists, relative to the folder in which the training starts."
        )
    digest = _digest(place)
    with naming_source(place):
        genomes, facts = read(place, fit)
        fit.check(place if isinstance(place, Path) else "The genome", genomes, facts)
    if _digest(place) != digest:  # of a run that still trains
        raise NeurozooError(f"{setting}: {place} changed while it was read. Start the training again.")
    return Start(source, digest, tuple(genomes))


def _digest(place: str | Path) -> str:
    return sha256_of(place) if isinstance(place, Path) else hashlib.sha256(place.encode()).hexdigest()


# ---- populations


def read_population(source: str, fit: Fit) -> Start:
    """Reads the parents of a run, a population, or a single genome.

    Args:
        source: The folder of a run, or a file: its `state/state.json`; an object with `population`, a list of genomes
            or of objects with `genome` and `score`, and optionally `model`, `parameters`, `game`, `protocol` and
            `noise_values`; or anything that `read_genome` reads.
        fit: What they have to fit.

    Raises:
        NeurozooError: The source is missing, holds no population, or does not fit.
    """
    return _read(source, fit, "load_population", in_folder=_state_of, read=_any_population)


def _state_of(folder: Path) -> Path:
    if not (state := folder / "state" / "state.json").exists():
        raise NeurozooError(
            f"{folder} has no state/state.json, which would hold its parents. Give its genome.json to start from its "
            "result alone."
        )
    return state


def _any_population(place: str | Path, fit: Fit) -> tuple[list[Genome], Mapping[str, Any]]:
    found = parse_genome(read_text(place))
    if isinstance(found, Mapping) and not {"algorithm", "population"}.isdisjoint(found):
        return _population(Path(place), found)
    record = read_genome(place, game=fit.game, model=fit.model)
    return [_recipe(record)], record.facts


def _recipe(record: GenomeRecord) -> Genome:
    if record.genome is None:
        kind = "weights that do not come" if record.seeds is None else "seeds of cshenton/neuroevolution, which are not"
        raise NeurozooError(
            f"The source holds {kind} from the noise table, so it cannot start a genetic algorithm. Give a genome such "
            "as (1, (2, 0.002))."
        )
    return record.genome


def _population(path: Path, found: Mapping[str, Any]) -> tuple[list[Genome], Mapping[str, Any]]:
    if "population" in found:
        return _ranked(path, found["population"]), found
    identity = found.get("identity") or {}
    try:
        return _parents(path, identity, found["algorithm"]), identity
    except FileNotFoundError as error:
        raise NeurozooError(
            f"{error.filename} is missing, which holds mutations of the genomes in {path}. Copy the whole state/, "
            "or give the run's genome.json to start from its result."
        ) from error
    except (OSError, TypeError, AttributeError, *DAMAGE) as error:
        raise NeurozooError(
            f"{path} is damaged ({type(error).__name__}: {error}). Give the run's genome.json to start from its result."
        ) from error


def _parents(path: Path, identity: Mapping[str, Any], algorithm: Mapping[str, Any] | None) -> list[Genome]:
    if algorithm is None:
        raise NeurozooError(f"The run of {path} has no parents yet: its first generation is not finished.")
    births, algo = algorithm.get("parent_births"), identity.get("algo")
    if "genomes" not in algorithm or not births:
        raise NeurozooError(
            f"The run of {path} has no parents: it is one of {algo!r}. Give its genome.json to start from its result."
        )
    if isinstance(algorithm["genomes"], str):
        raise NeurozooError(f"The run of {path} has crossover: its parents are weights, from which no run can start.")
    arrays = {}
    for name in algorithm["genomes"]["blocks"]:
        if not re.fullmatch(BLOCK_NAME, name):
            raise ValueError("its blocks should have names such as genes-0123456789abcdef")
        with open_file(path.parent / "arrays" / f"{name}.npy") as file:
            arrays[name] = np.load(file, allow_pickle=False)
        if not isinstance(arrays[name], np.ndarray):
            raise ValueError(f"{name}.npy should be one array")
    return unpack(algorithm["genomes"], arrays)[: len(births)]


def _ranked(path: Path, entries: Any) -> list[Genome]:
    """Reads a list of genomes. With scores, the best come first; of equals, the earlier one."""
    if not isinstance(entries, list) or not entries:
        raise NeurozooError(f"{path} should have a list of genomes as its population, but has {str(entries)[:80]}.")
    are_scored = {isinstance(entry, dict) and "score" in entry for entry in entries}
    if len(are_scored) > 1:
        raise NeurozooError(f"{path} should have a score for all genomes of its population or for none.")
    if are_scored == {True}:
        scores = [entry["score"] for entry in entries]
        if not all(isinstance(score, (int, float)) and math.isfinite(score) for score in scores):
            raise NeurozooError(f"{path}: the score of a genome should be a number.")
        entries = sorted(entries, key=lambda entry: -entry["score"])  # stable
    return [Genome.from_json(entry.get("genome") if isinstance(entry, dict) else entry) for entry in entries]


# ---- weights


def read_weights(source: str, fit: Fit) -> Start:
    """Reads the weights of an agent: of the folder of a run, a `checkpoint.npz`, or anything that `read_genome` reads.

    Raises:
        NeurozooError: The source is missing, holds no agent, or does not fit.
    """
    return _read(source, fit, "load_from", in_folder=_agent_of, read=_agent)


def _agent_of(folder: Path) -> Path:
    found = [folder / name for name in ("genome.json", "checkpoint.npz") if (folder / name).exists()]
    if not found:
        raise NeurozooError(f"{folder} has neither genome.json nor checkpoint.npz, so it holds no agent.")
    return found[0]


def _agent(place: str | Path, fit: Fit) -> tuple[list[Genome], Mapping[str, Any]]:
    if isinstance(place, Path) and place.suffix == ".npz":
        checkpoint = read_checkpoint(place)
        return [Genome(Weights.of(checkpoint.theta))], {"model": checkpoint.model}
    record = read_genome(place, game=fit.game, model=fit.model)
    return [record.genome or read_agent(place, game=fit.game, model=fit.model).genome], record.facts


# ---- layers that do not evolve


def read_layers(source: str, fit: Fit) -> Start:
    """Reads the layers of an agent, a run's folder or a `checkpoint.npz`, that the network of the run has, too.

    The genome has their weights, and NaN in the other layers.

    Raises:
        NeurozooError: The source is missing or no such file, a layer of the same name is another one here, or the
            networks share no layers or all.
    """
    if is_text(source) or (Path(source).suffix not in ("", ".npz") and not Path(source).is_dir()):
        raise NeurozooError(f"fixed_layers_of: give a run's folder or a checkpoint.npz instead of {source!r}.")
    return _read(source, fit, "fixed_layers_of", in_folder=lambda folder: folder / "checkpoint.npz", read=_layers)


def _layers(place: str | Path, fit: Fit) -> tuple[list[Genome], Mapping[str, Any]]:
    checkpoint = read_checkpoint(place)
    chain = checkpoint.layout.layers if isinstance(checkpoint.layout, Layout) else ()
    given = {placed.layer.name: placed for placed in chain if placed.shapes}
    here = [placed for placed in fit.layout.layers if placed.shapes]
    named = f"{place} holds a {checkpoint.model!r}, but the run evolves a {fit.model!r}."
    theta = np.full(fit.layout.parameter_count, np.nan, np.float32)
    for placed in here:
        if (there := given.get(placed.layer.name)) is None:
            continue
        if (there.layer, there.shapes) != (placed.layer, placed.shapes):
            raise NeurozooError(f"{named} Their layers {placed.layer.name!r} differ. Take another agent.")
        theta[placed.start : placed.stop] = checkpoint.theta[there.start : there.stop]
    if np.isnan(theta).all():
        raise NeurozooError(f"{named} They have no layer in common. Take another agent.")
    if not np.isnan(theta).any():
        raise NeurozooError(f"{named} It has all of its layers, so nothing would evolve. Take another agent.")
    return [Genome(Weights.of(theta))], {}


READERS = {"population": read_population, "weights": read_weights, "layers": read_layers}
