"""The files of `population/` in a run's folder: what every individual of a generation did, as one point each.

`00012.npz` holds generation 12. Neuroevolution writes them if `record_population` is set; `compare population` reads
them.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo.errors import NeurozooError
from neurozoo.files import parse_json, written_whole
from neurozoo.files.npz import read_npz
from neurozoo.folders import find

FOLDER = "population"
_COLUMNS = ("score", "steps", "index", "power", "parent")  # one number for each individual


@dataclass(frozen=True)
class EvaluatedAgent:
    """An agent that is known by its test episodes: the one that a generation begins or ends with.

    Attributes:
        point: The mean of its points: float32, shape (width,).
        score: The mean of its scores.
    """

    point: np.ndarray
    score: float


@dataclass(frozen=True)
class Population:
    """One generation.

    Attributes:
        generation: Its number, from 1.
        behaviour: What the points are: `ram` (the last bytes) or `final_position` (the mean of an episode's).
        game: Game id.
        algo: Algorithm.
        points: Where each individual ended: float32, shape (individuals, width).
        score: Score of each individual's episode: float64.
        steps: Its length: int64.
        index: Noise index of its last mutation, or of its fresh weights: int64; -1 if unknown.
        power: Power of that mutation; negative for the mirrored half of a pair, 0 for fresh weights: float64.
        parent: Its parent's place among the parents of the generation: int32; -1 if it has none.
        begins_with: The agent that was tested before the first generation; None for others.
        tested: The agent that was tested after this generation; None if none was.
    """

    generation: int
    behaviour: str
    game: str
    algo: str
    points: np.ndarray
    score: np.ndarray
    steps: np.ndarray
    index: np.ndarray
    power: np.ndarray
    parent: np.ndarray
    begins_with: EvaluatedAgent | None = None
    tested: EvaluatedAgent | None = None


def write_population(run_dir: str | os.PathLike, population: Population) -> None:
    """Writes the file of a generation."""
    names = ("generation", "behaviour", "game", "algo")
    arrays: dict[str, Any] = {"about": np.array(json.dumps({name: getattr(population, name) for name in names}))}
    arrays |= {name: getattr(population, name) for name in ("points", *_COLUMNS)}
    for name in ("begins_with", "tested"):
        if (agent := getattr(population, name)) is not None:
            arrays |= {f"{name}_point": agent.point, f"{name}_score": np.array(agent.score)}
    path = Path(run_dir) / FOLDER / f"{population.generation:05}.npz"
    with written_whole(path, is_durable=False) as temporary:
        np.savez(temporary, **arrays)


def population_paths(run_dir: str | os.PathLike) -> dict[int, Path]:
    """Finds the files of a run by generation, in order; there have to be some."""
    found = {int(path.stem): path for path in find(run_dir, f"{FOLDER}/*.npz") if path.stem.isdecimal()}
    if not found:
        raise NeurozooError(
            f"{run_dir} has no {FOLDER}/: the behaviour of its individuals was not kept. Train a run with "
            "record_population: true."
        )
    return found


def read_population(path: str | os.PathLike) -> Population:
    """Reads the file of a generation."""
    try:
        arrays: dict[str, Any] = read_npz(path)
        about = parse_json(str(arrays["about"]))
        population = Population(
            **{name: about[name] for name in ("generation", "behaviour", "game", "algo")},
            **{name: arrays[name] for name in ("points", *_COLUMNS)},
            begins_with=_agent(arrays, "begins_with"),
            tested=_agent(arrays, "tested"),
        )
        lengths = {len(getattr(population, name)) for name in ("points", *_COLUMNS)}
        if len(lengths) != 1 or population.points.ndim != 2:
            raise ValueError("its arrays differ in length")
    except FileNotFoundError as error:
        raise NeurozooError(f"{path} is missing.") from error
    except Exception as error:  # zipfile and NumPy raise many kinds
        raise NeurozooError(f"{path} is damaged ({type(error).__name__}: {error}). Delete it.") from error
    return population


def _agent(arrays: Mapping[str, np.ndarray], name: str) -> EvaluatedAgent | None:
    if f"{name}_point" not in arrays:
        return None
    return EvaluatedAgent(arrays[f"{name}_point"], float(arrays[f"{name}_score"]))
