"""The manifest's records: everything that the pages show, from single files to the whole folder of results."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from neurozoo.algorithms.agent_names import algo_name, called
from neurozoo.gallery.video_facts import VideoFacts
from neurozoo.movies.classic_frame import Place
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
    """A movie to play."""

    tag: str  # which agent plays: `final` for the run's result
    unit: str  # whether there is one picture per step (`steps`) or per frame (`frames`)
    video: VideoFacts  # its size, frames and speed
    panels: tuple[Place, ...]  # parts to zoom into; empty for movies without panels
    poster: tuple[str, int, int]  # one of its pictures: a path relative to the folder of the pages, width and height
    screen: tuple[str, int, int]  # the same with only the game's screen
    # Path of a picture that repeats ten seconds of it, relative to the results folder; empty if there is none.
    loop: str = ""


@dataclass(frozen=True)
class Score:
    """A mean score with its interval."""

    mean: float  # over episodes, or over the scores of runs
    low: float | None  # end of the bootstrap interval; None if there is nothing to resample, and so `high`
    high: float | None
    count: int | None  # number of episodes or runs; None if unknown
    # `test` for the last test of the training, `evaluation` for `evaluation.json`, `runs` for the last tests of several
    # runs.
    source: str
    is_one_game: bool = False  # whether all episodes are the same game, so that there is no interval


@dataclass(frozen=True)
class Changeable:
    """The recorded episodes of a run, which `python -m neurozoo what-if` plays on with another action."""

    folder: str  # of the run, as the command needs it
    steps: int
    actions: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """One run."""

    algo: str  # such as `ga`
    game: str  # such as `frostbite`
    model: str  # such as `small`
    run: int
    is_finished: bool
    # How the training of an unfinished run ended: `failed`, `stopped` by a signal or `slice`; empty if it goes on or
    # nothing says it.
    ended: str = ""
    protocol: str = ""  # name of the evaluation protocol; empty if unknown
    frames: int = 0  # emulator frames so far, or what else `unit` says
    unit: str = "frames"  # what `frames` counts: `frames`, or `evaluations` of levels
    # Score of the run's result: from `evaluation.json`, or else `test_score`; None if there is neither.
    score: Score | None = None
    test_score: Score | None = None  # score of the last test of the training; None before the first
    over_runs: Score | None = None  # mean `final_test` of all runs of the same kind; None if there is none
    # Frames and scores of the reports; of a long run, of those that matter to a drawing.
    curve: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    # The same of all reports, or at 10,000 frames of a longer run: what medians are made of. `manifest.json` lacks it.
    course: tuple[np.ndarray, np.ndarray] = field(default=(np.empty(0), np.empty(0)), repr=False, compare=False)
    curve_is_test: bool = False  # whether these are test scores; runs whose tests make no curve show their own scores
    reports: int = 0  # all with a score
    settings: dict = field(default_factory=dict)  # content of `config.yaml`
    # What makes the run comparable, by the names of columns; see `records.comparability`.
    facts: dict[str, str] = field(default_factory=dict)
    settings_hash: str = UNKNOWN
    variant: str = ""  # name of the settings, where other runs of this algorithm and network have other settings
    played: str = UNKNOWN  # how episodes are played: the protocol, and what tells it from others of the same name
    movies: tuple[MovieFile, ...] = ()  # movies of the result, and after them those of other tags
    pictures: tuple[Picture, ...] = ()  # figures and filters
    files: tuple[File, ...] = ()  # everything else
    changeable: Changeable | None = None  # None without a recording, and for pages that are passed on
    problem: str = ""  # what is wrong with its files, in a sentence; empty if nothing is

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
    """Everything that the pages show."""

    title: str  # name of the results folder
    runs: tuple[Run, ...]  # sorted by game, algorithm, network and number
    overall: Collection  # files about all games
    games: dict[str, Collection]  # files about all runs of a game, by the game's name
    missing: tuple[Missing, ...]  # damaged files first, then files that are not there yet
    confidence: float  # of the intervals
    made_by: dict  # version and commit of this package

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
