"""A page of a run's populations in behaviour space: every generation's parents and their cloud of offspring.

Source: VINE (Wang, Clune & Stanley 2018, arXiv:1805.01141), the inspector of the published code of Such et al. 2017.
"""

import functools
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from neurozoo.comparison.page import fill_template
from neurozoo.environments.hard_maze import GOAL, WALLS
from neurozoo.environments.river_crossing import RESOURCE_ROW, RIVER_COLUMN, SIDE
from neurozoo.errors import NeurozooError
from neurozoo.files import write_text
from neurozoo.records.population_files import Population, population_paths, read_population
from neurozoo.records.run_log import current_log, iter_log

MOST_POINTS = 40_000  # individuals on a page: a few megabytes, and quick to draw
TOP = 10  # individuals that are highlighted in each generation
_NAMES = {2: ("x", "y"), 3: ("column", "row", "level")}  # of the numbers of a final position


def write_population_page(
    run_dir: str | os.PathLike,
    output: str | os.PathLike,
    *,
    generations: tuple[int, int] | None = None,
    most_points: int = MOST_POINTS,
) -> dict[str, int]:
    """Writes a page that shows where the individuals of each generation ended, coloured by score; it works offline.

    A slider goes through the generations, from the first to the last of `generations`, or all. If there are more than
    `most_points` individuals, only every second, third ... is shown. Parents are diamonds, and the agent that was
    tested at a generation's end is a star. Clicking an individual shows what is known of it. The folder is that of a
    run that kept its populations (`record_population`).

    Returns:
        The number of `generations` and of `individuals` on the page, and `every`: how many generations apart they are.

    Raises:
        NeurozooError: The run did not keep its populations, a file is damaged, or there is no such generation.
    """
    paths = population_paths(run_dir)
    first, last = generations or (min(paths), max(paths))
    wanted = [number for number in paths if first <= number <= last]
    if not wanted:
        raise NeurozooError(
            f"{run_dir} has the generations {min(paths)} to {max(paths)}, but {first} to {last} were asked for."
        )
    read = functools.cache(lambda number: read_population(paths[number]))
    size = len(read(wanted[0]).score)
    every = max(1, -(-size * len(wanted) // most_points))
    shown = [read(number) for number in wanted[::every]]
    if len({(p.game, p.algo, p.behaviour, p.points.shape[1]) for p in shown}) > 1:
        raise NeurozooError(
            f"{Path(run_dir, 'population')} holds files of different runs. Delete those of the old one."
        )
    lineage, axes, about = _lineage(run_dir), _Axes(shown), shown[0]
    data = {
        "algo": about.algo,
        "game": about.game,
        "run": _name(run_dir, about),
        "behaviour": about.behaviour,
        "width": int(about.points.shape[1]),
        "planes": axes.described,
        "landmarks": _landmarks(about),
        "every": every,
        "top": TOP,
        "generations": [_generation(p, _parents(p, paths, lineage, read), axes) for p in shown],
    }
    title = f"{about.algo} in {about.game.replace('_', ' ')}"
    write_text(output, fill_template("population_page.html", data, title=title))
    return {"generations": len(shown), "individuals": sum(len(p.score) for p in shown), "every": every}


class _Axes:
    """The planes in which points are shown: pairs of their numbers, and their principal components."""

    def __init__(self, populations: Sequence[Population]):
        points = np.concatenate([population.points for population in populations]).astype(np.float64)
        width = points.shape[1]
        names = _NAMES.get(width, ()) if populations[0].behaviour == "final_position" else ()
        self._pairs = [(i, j) for i in range(len(names)) for j in range(i + 1, len(names))]
        self.described = [{"name": f"{names[i]}, {names[j]}", "x": names[i], "y": names[j]} for i, j in self._pairs]
        self._mean = points.mean(0)
        self._directions = np.zeros((0, width))
        if width != 2:
            _, lengths, directions = np.linalg.svd(points - self._mean, full_matrices=False)
            largest = directions[np.arange(len(directions)), np.abs(directions).argmax(1)]
            signs = np.sign(largest)  # which are arbitrary otherwise
            self._directions = (directions * signs[:, None])[:2]
            squares = lengths**2
            shares = squares / squares.sum() if squares.sum() else np.zeros_like(squares)
            texts = [f"component {i + 1} ({shares[i]:.1%} of the variance)" for i in range(min(2, len(shares)))]
            texts += ["nothing"] * (2 - len(texts))
            self.described.append({"name": "principal components", "x": texts[0], "y": texts[1]})

    def project(self, points: np.ndarray) -> list[list[list[float]]]:
        """Returns x and y of some points in each plane."""
        points = np.atleast_2d(points).astype(np.float64)
        planes = [points[:, [i, j]] for i, j in self._pairs]
        if len(self._directions):
            found = (points - self._mean) @ self._directions.T
            planes.append(np.pad(found, ((0, 0), (0, 2 - found.shape[1]))))
        return [[_rounded(axis) for axis in plane.T] for plane in planes]


def _generation(population: Population, parents: list[dict], axes: _Axes) -> dict:
    tested = population.tested
    return {
        "number": population.generation,
        "planes": axes.project(population.points),
        "scores": _rounded(population.score),
        "steps": population.steps.tolist(),
        "indices": population.index.tolist(),
        "powers": _rounded(population.power),
        "parents": population.parent.tolist(),
        "known": [
            {**parent, "planes": None if parent["point"] is None else axes.project(parent["point"]), "point": None}
            for parent in parents
        ],
        "tested": tested and {"planes": axes.project(tested.point), "score": float(f"{tested.score:.6g}")},
        # What a tooltip cannot say for hundreds of bytes it can say for a position.
        "points": [_rounded(row) for row in population.points] if population.points.shape[1] <= 3 else None,
    }


def _parents(
    population: Population, known: Collection[int], lineage: Mapping[int, list], read: Callable[[int], Population]
) -> list[dict]:
    """Returns the parents of a generation in their order: name, score, and point as far as it is known."""
    before = population.generation - 1
    if before in lineage:
        found = []
        for generation, individual, score in lineage[before]:
            point = read(generation).points[individual] if generation in known else None
            found.append({"name": f"generation {generation}, individual {individual}", "score": score, "point": point})
        return found
    agent = population.begins_with
    if agent is None and before in known:
        agent = read(before).tested
    if agent is None or population.parent.max() != 0:  # all descend from one agent, as in evolution strategies
        return []
    name = f"the agent after generation {before}" if before else "the initial agent"
    return [{"name": name, "score": float(f"{agent.score:.6g}"), "point": agent.point}]


def _lineage(run_dir: str | os.PathLike) -> dict[int, list]:
    """Returns (generation, individual, score) of the parents that each generation selected, if the log has them."""
    log = current_log(run_dir)
    if log is None:
        return {}
    return {
        record["Iteration"]: [(row[0], row[1], row[5]) for row in record["Lineage"] if row[7]]
        for record in iter_log(log)
        if "Lineage" in record
    }


def _name(run_dir: str | os.PathLike, population: Population) -> str:
    """Returns the run's four names if its folder has them, or else the folder's name."""
    parts = Path(run_dir).resolve().parts
    return "/".join(parts[-4:]) if parts[-4:-2] == (population.algo, population.game) else parts[-1]


def _landmarks(population: Population) -> dict:
    """Returns lines and the goal of a world, in the plane of the first two numbers of a final position."""
    if (population.behaviour, population.game) == ("final_position", "hard_maze"):
        return {"lines": WALLS, "goal": GOAL}
    if (population.behaviour, population.game) == ("final_position", "river_crossing"):
        bank = RIVER_COLUMN - 0.5
        return {"lines": [[bank, -0.5, bank, SIDE - 0.5]], "goal": [SIDE - 3, RESOURCE_ROW]}
    return {"lines": [], "goal": None}


def _rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.5g}") for value in np.asarray(values, np.float64)]


def as_sentence(page: str | os.PathLike, counts: Mapping[str, int]) -> str:
    """Returns what `write_population_page` has done, for people."""
    every = f" (one generation of {counts['every']})" if counts["every"] > 1 else ""
    individuals = f"{counts['individuals']:,} individuals"
    return f"{page}: {individuals} of {counts['generations']} generations{every}; open it in a browser"
