"""The manifest's records: everything that the pages show, from single files to the whole folder of results."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from neurozoo.algorithms.agent_names import algo_name, called
from neurozoo.gallery.video_facts import VideoFacts
from neurozoo.movies.panels import Place
from neurozoo.records.comparability import UNKNOWN


@dataclass(frozen=True)
class File:
    """A file to link to: its path relative to the results folder, with slashes, its title on the page, and bytes."""

    path: str
    title: str
    size: int


@dataclass(frozen=True)
class Picture(File):
    """A picture to show; `width` and `height` in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class MovieFile(File):
    """A movie to play.

    Attributes:
        tag: Which agent plays: `final` for the run's result.
        unit: Whether there is one picture per step (`steps`) or per frame (`frames`).
        video: Its size, frames and speed.
        panels: Parts to zoom into; empty for movies without panels.
        poster: One of its pictures: a path relative to the folder of the pages, width and height.
        screen: The same with only the game's screen.
        loop: Path of a picture that repeats ten seconds of it, relative to the results folder; empty if there is none.
    """

    tag: str
    unit: str
    video: VideoFacts
    panels: tuple[Place, ...]
    poster: tuple[str, int, int]
    screen: tuple[str, int, int]
    loop: str = ""


@dataclass(frozen=True)
class Score:
    """A mean score with its interval.

    Attributes:
        mean: Over episodes, or over the scores of runs.
        low: Lower end of the bootstrap interval; None if there is nothing to resample.
        high: Upper end; None if there is nothing to resample.
        count: Number of episodes or runs; None if unknown.
        source: `test` for the last test of the training, `evaluation` for `evaluation.json`, `runs` for the last tests
            of several runs.
        is_one_game: Whether all episodes are the same game, so that there is no interval.
    """

    mean: float
    low: float | None
    high: float | None
    count: int | None
    source: str
    is_one_game: bool = False


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        algo: Algorithm such as `ga`.
        game: Game id such as `frostbite`.
        model: Network such as `small`.
        run: Number of the run.
        is_finished: Whether the training has ended.
        ended: How the training of an unfinished run ended: `failed`, `stopped` by a signal or `slice`; empty if it goes
            on or nothing says it.
        protocol: Name of the evaluation protocol; empty if unknown.
        frames: Emulator frames so far, or what else `unit` says.
        score: Score of the run's result: from `evaluation.json`, or else `test_score`; None if there is neither.
        test_score: Score of the last test of the training; None before the first.
        over_runs: Mean `final_test` of all runs of the same kind; None if there is none.
        unit: What `frames` counts: `frames`, or `evaluations` of levels.
        curve: Frames and scores of the reports; of a long run, of those that matter to a drawing.
        course: The same of all reports, or at 10,000 frames of a longer run: what medians are made of. `manifest.json`
            lacks it.
        reports: Number of all reports with a score.
        curve_is_test: Whether these are test scores; runs whose tests make no curve show their own scores.
        settings: Content of `config.yaml`.
        facts: What makes the run comparable, by the names of columns; see `records.comparability`.
        settings_hash: Hash of the settings, or `unknown`.
        variant: Name of the settings, where other runs of this algorithm and network have other settings.
        played: How episodes are played: the protocol, and what tells it from others of the same name.
        movies: Movies of the result, and after them those of other tags.
        pictures: Figures and filters.
        files: Everything else.
        problem: What is wrong with its files, in a sentence; empty if nothing is.
    """

    algo: str
    game: str
    model: str
    run: int
    is_finished: bool
    ended: str = ""
    protocol: str = ""
    frames: int = 0
    unit: str = "frames"
    score: Score | None = None
    test_score: Score | None = None
    over_runs: Score | None = None
    curve: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    course: tuple[np.ndarray, np.ndarray] = field(default=(np.empty(0), np.empty(0)), repr=False, compare=False)
    curve_is_test: bool = False
    reports: int = 0
    settings: dict = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    settings_hash: str = UNKNOWN
    variant: str = ""
    played: str = UNKNOWN
    movies: tuple[MovieFile, ...] = ()
    pictures: tuple[Picture, ...] = ()
    files: tuple[File, ...] = ()
    problem: str = ""

    @property
    def state(self) -> str:
        """`finished`, `in training`, `failed`, `stopped`, or `no results`."""
        if self.is_finished:
            return "finished"
        if self.ended in ("failed", "stopped"):
            return self.ended
        return "in training" if self.settings or self.curve[0] else "no results"

    @property
    def final_test(self) -> Score | None:
        """The score that enters means over runs, as in `tables/scores.csv`; None while the run is being trained."""
        return self.test_score if self.is_finished else None

    @property
    def id(self) -> str:
        """The run as one string, such as `ga/frostbite/small/1`."""
        return f"{self.algo}/{self.game}/{self.model}/{self.run}"

    @property
    def called(self) -> str:
        """The name of its algorithm, or what the literature calls its settings, such as PPO."""
        return called(self.algo, self.variant)[0]

    @property
    def algo_filter(self) -> str:
        """What chooses runs called alike in the address of a page: `ga`, or `decoupled-ppo` of `impala`."""
        return self.algo if self.called == algo_name(self.algo) else self.called.replace(" ", "-").lower()

    @property
    def kind(self) -> tuple[str, ...]:
        """Only runs of the same kind are averaged: of equal settings, and played in the same way."""
        return self.game, self.algo, self.model, self.variant, self.settings_hash, self.played


@dataclass(frozen=True)
class Missing:
    """A file or folder, relative to the results, that is damaged or not there yet; `reason` says what to do."""

    path: str
    reason: str
    is_damaged: bool


@dataclass(frozen=True)
class Collection:
    """Files that belong to several runs: of one game, or of all games, if `game` is empty."""

    game: str
    movies: tuple[MovieFile, ...]
    pictures: tuple[Picture, ...]
    files: tuple[File, ...]


@dataclass(frozen=True)
class Manifest:
    """Everything that the pages show.

    Attributes:
        title: Name of the results folder.
        runs: Sorted by game, algorithm, network and number.
        overall: Files about all games.
        games: Files about all runs of a game, by the game's name.
        missing: Damaged files first, then files that are not there yet.
        confidence: Confidence level of the intervals.
        made_by: Version and commit of this package.
    """

    title: str
    runs: tuple[Run, ...]
    overall: Collection
    games: dict[str, Collection]
    missing: tuple[Missing, ...]
    confidence: float
    made_by: dict

    def to_json(self) -> dict:
        """Returns the content of `manifest.json`; None stands for numbers that are not finite."""
        nothing = np.empty(0), np.empty(0)  # `asdict` would copy all reports of all runs
        content = asdict(replace(self, runs=tuple(replace(run, course=nothing) for run in self.runs)))
        for run in content["runs"]:
            del run["course"]
        return {"format": "neurozoo site 1", **_finite(content)}


def _finite(value: object) -> Any:
    if isinstance(value, dict):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
