"""Finds the frozen agents below a folder of results by the names of their folders."""

import os
from dataclasses import dataclass
from pathlib import Path

from neurozoo.agents.frozen import RECORD_FILE
from neurozoo.agents.tags import FINAL, TAGS
from neurozoo.errors import NeurozooError
from neurozoo.folders import find


@dataclass(frozen=True)
class ZooModel:
    """One frozen agent.

    Attributes:
        algo: Algorithm such as `ga`, or `imported`.
        game: Game id such as `frostbite`.
        model: Network such as `large`.
        run: Number of the run.
        tag: `final` for the run's result, or a tag such as `400M`, `2HR` or `human`.
        folder: The run's folder.
    """

    algo: str
    game: str
    model: str
    run: int
    tag: str
    folder: Path

    @property
    def place(self) -> Path:
        """The folder for everything made from this agent, such as `rollout.npz`: the run's, or `tags/{tag}` in it."""
        return self.folder if self.tag == FINAL else self.folder / TAGS / self.tag

    @property
    def frozen(self) -> Path:
        """The folder with `model.json`."""
        return self.place / "frozen"

    @property
    def title(self) -> str:
        """The agent's name, such as `ga/frostbite/large/1` or `ga/frostbite/large/1/400M`."""
        names = (self.algo, self.game, self.model, str(self.run))
        return "/".join(names if self.tag == FINAL else (*names, self.tag))


def check_results(results: str | os.PathLike) -> Path:
    """Returns a folder of results after checking that it exists, so that a misspelt one does not count as empty.

    Raises:
        NeurozooError: The folder does not exist.
    """
    if not Path(results).is_dir():
        raise NeurozooError(f"{results} should be a folder of results, but does not exist. Give one: --results FOLDER")
    return Path(results)


def is_run_number(name: str) -> bool:
    """Says whether a folder's name is the number of a run; `01`, perhaps a copy of 1, would count as a second run 1."""
    return name.isascii() and name.isdigit() and str(int(name)) == name


def find_models(results: str | os.PathLike) -> list[ZooModel]:
    """Finds all frozen agents below a folder of results.

    Only names count, so damaged agents are found, too; `open_frozen` says what is wrong with them.

    Returns:
        The agents by algorithm, game, network and run; for each run first its result, then its tags by name.
    """
    runs = Path(results, "runs")
    models = []
    for record in find(runs, f"*/*/*/*/frozen/{RECORD_FILE}", f"*/*/*/*/{TAGS}/*/frozen/{RECORD_FILE}"):
        algo, game, model, run, *rest = record.relative_to(runs).parts
        if is_run_number(run):
            tag = FINAL if rest[0] != TAGS else rest[1]
            models.append(ZooModel(algo, game, model, int(run), tag, runs / algo / game / model / run))
    return sorted(models, key=lambda m: (m.algo, m.game, m.model, m.run, m.tag != FINAL, m.tag))
