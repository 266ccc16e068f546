"""What there is in a folder of results, for pages to show it; and what is damaged or not there yet."""

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from neurozoo.algorithms.settings import WITH_LINEAGE
from neurozoo.configuration import IMPORTED
from neurozoo.errors import NeurozooError
from neurozoo.files import read_json
from neurozoo.games import world_of
from neurozoo.inspection.frozen import RECORD_FILE, open_frozen
from neurozoo.inspection.panels import Canvas
from neurozoo.inspection.streams import NpzReader
from neurozoo.logs import read_identity, read_log
from neurozoo.provenance import provenance
from neurozoo.site.products import BY_FRAME, MOVIES, PAGES, PICTURES, RUN_FILES, TABLES, Titles, title_of
from neurozoo.site.videos import Box, VideoFacts, crop_picture, draw_poster, read_video
from neurozoo.statistics import bootstrap_intervals, mean_over_games
from neurozoo.tables import read_metrics
from neurozoo.zoo.models import FINAL, ZooModel, check_results, find_models

POSTERS = "posters"  # the folder of pictures from movies, in that of the pages
SCREEN = (210, 160, 3)  # of an Atari game, where no rollout tells
_REMAKE = "Delete it and make it again."


@dataclass(frozen=True)
class File:
    """A file to link to.

    Attributes:
        path: From the results folder, with slashes.
        title: What it is.
        size: Bytes.
    """

    path: str
    title: str
    size: int


@dataclass(frozen=True)
class Picture(File):
    """A picture to show; `width` and `height` in pixels."""

    width: int
    height: int


@dataclass(frozen=True)
class Panel:
    """A part of a movie's pictures that can be looked at alone; see `neurozoo.inspection.panels.Place`."""

    name: str
    label: str
    box: Box
    view: Box


@dataclass(frozen=True)
class Movie(File):
    """A movie to play.

    Attributes:
        tag: Which agent plays: `final` for the run's result.
        unit: What its pictures are of: `steps` or `frames`.
        video: Its size, frames and speed.
        panels: Parts to zoom into; empty for movies without.
        poster: One of its pictures, a path in the folder of the pages, with its width and height.
        screen: The same for the game's screen alone.
    """

    tag: str
    unit: str
    video: VideoFacts
    panels: tuple[Panel, ...]
    poster: tuple[str, int, int]
    screen: tuple[str, int, int]


@dataclass(frozen=True)
class Score:
    """A mean score and how sure it is.

    Attributes:
        mean: Of episodes, or of runs' scores.
        low: Lower end of the bootstrap interval; None if there is nothing to resample.
        high: Upper end.
        count: How many episodes or runs.
        source: `test` for the last test of the training, `evaluation` for `evaluation.json`, `runs` for the last tests
            of several runs.
    """

    mean: float
    low: float | None
    high: float | None
    count: int | None
    source: str


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        algo: Algorithm such as `ga`.
        game: Game id such as `frostbite`.
        model: Network such as `small`.
        run: Number of the run.
        is_finished: Whether the training has ended.
        protocol: How episodes were played; empty if unknown.
        frames: Emulator frames so far.
        score: Of the run's result: of `evaluation.json`, or else `test_score`; None without either.
        test_score: Of the last test of the training; None before the first.
        over_runs: Over the `final_test` of the runs of the same algorithm, game, network and protocol; None without.
        curve: Frames and scores of the reports.
        settings: What `config.yaml` says.
        movies: Of the result and of other tags.
        pictures: Figures and filters.
        files: Everything else.
    """

    algo: str
    game: str
    model: str
    run: int
    is_finished: bool
    protocol: str = ""
    frames: int = 0
    score: Score | None = None
    test_score: Score | None = None
    over_runs: Score | None = None
    curve: tuple[tuple[float, ...], tuple[float, ...]] = ((), ())
    settings: dict = field(default_factory=dict)
    movies: tuple[Movie, ...] = ()
    pictures: tuple[Picture, ...] = ()
    files: tuple[File, ...] = ()

    @property
    def state(self) -> str:
        """`finished`, `in training`, or `no results`."""
        if self.is_finished:
            return "finished"
        return "in training" if self.settings or self.curve[0] else "no results"

    @property
    def final_test(self) -> Score | None:
        """What scores over runs are made of, as in `tables/scores.csv`: one kind of score, of runs that have ended."""
        return self.test_score if self.is_finished else None

    @property
    def id(self) -> str:
        """The run in one word, such as `ga/frostbite/small/1`."""
        return f"{self.algo}/{self.game}/{self.model}/{self.run}"

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """What runs have in common that may be averaged."""
        return self.game, self.algo, self.model, self.protocol


@dataclass(frozen=True)
class Missing:
    """Something that is damaged or not there yet.

    Attributes:
        path: The file or folder, from the results folder.
        reason: What is wrong, and what to do.
        is_damaged: Whether it is there but of no use.
    """

    path: str
    reason: str
    is_damaged: bool


@dataclass(frozen=True)
class Collection:
    """What is not of one run: of a game, or of all.

    Attributes:
        game: The game; empty for all.
        movies: Such as a grid of all agents.
        pictures: Figures.
        files: Tables, pages and figures in other formats.
    """

    game: str
    movies: tuple[Movie, ...]
    pictures: tuple[Picture, ...]
    files: tuple[File, ...]


@dataclass(frozen=True)
class Manifest:
    """All that the pages show.

    Attributes:
        title: Name of the results folder.
        runs: By game, algorithm, network and number.
        overall: What spans all games.
        games: What spans the runs of one game, by its name.
        missing: What is damaged, and then what is not there yet.
        confidence: Of the intervals.
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
        """Returns the manifest as it is kept in `manifest.json`; None stands for numbers that are not finite."""
        return {"format": "neurozoo site 1", **_finite(asdict(self))}


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def read_manifest(
    results: str | os.PathLike,
    site: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
    names_commands: bool = True,
) -> Manifest:
    """Looks at everything that is there. Nothing has to be: what is damaged or missing is put on a list.

    Args:
        results: The folder with `runs/`, `figures/` and so on.
        site: The folder of the pages, which gets pictures from the movies.
        replications: Resamplings of the bootstrap intervals.
        confidence: Of the intervals.
        seed: Of the resampling.
        names_commands: Whether to say how to make what is not made yet, if the results lie below the working
            directory. Pages that are passed on had better not: their readers are elsewhere.

    Raises:
        NeurozooError: There is no such folder.
    """
    results = check_results(results)
    scan = _Scan(
        results,
        Path(site),
        workdir=Path.cwd() if names_commands else None,
        replications=replications,
        confidence=confidence,
        seed=seed,
    )
    models = defaultdict(list)
    for model in find_models(results):
        models[model.folder].append(model)
    runs = [scan.run(folder, models[folder]) for folder in _run_folders(results)]
    runs.sort(key=lambda run: (run.game, run.algo, run.model, run.run))
    runs = _with_scores_over_runs(runs, scan.interval)
    games = {game: scan.of_game(game) for game in dict.fromkeys(run.game for run in runs)}
    return Manifest(
        title=results.resolve().name,
        runs=tuple(runs),
        overall=scan.overall(),
        games=games,
        missing=tuple(sorted(scan.missing, key=lambda entry: not entry.is_damaged)),
        confidence=confidence,
        made_by=provenance(),
    )


def _run_folders(results: Path) -> list[Path]:
    folders = (results / "runs").glob("*/*/*/*")
    return [folder for folder in folders if folder.name.isascii() and folder.name.isdigit() and folder.is_dir()]


def _with_scores_over_runs(runs: Sequence[Run], interval) -> list[Run]:
    kinds = defaultdict(list)
    for run in runs:
        if run.final_test:
            kinds[run.kind].append(run.final_test.mean)
    over_runs = {
        kind: Score(float(np.mean(means)), *interval(means), len(means), "runs") for kind, means in kinds.items()
    }
    return [replace(run, over_runs=over_runs.get(run.kind)) for run in runs]


class _Scan:
    """Reads one folder of results; collects what is wrong in `missing`."""

    def __init__(
        self, results: Path, site: Path, *, workdir: Path | None, replications: int, confidence: float, seed: int
    ):
        self.missing: list[Missing] = []
        self._results, self._site = results, site
        place = Path(os.path.abspath(results))  # links stay: Snakemake's targets have their names
        is_target = workdir is not None and workdir in place.parents
        self._targets = place.relative_to(workdir) if is_target else None  # where Snakemake has the results
        self._bootstrap = {"replications": replications, "confidence": confidence, "seed": seed}

    def interval(self, scores: Sequence[float]) -> tuple[float | None, float | None]:
        """Returns the bootstrap interval of a mean; None for both ends if there is but one score."""
        if len(scores) < 2:
            return None, None
        ends = bootstrap_intervals([np.array(scores, float)], {"mean": mean_over_games}, **self._bootstrap)["mean"]
        return float(ends[0]), float(ends[1])

    def run(self, folder: Path, models: Sequence[ZooModel]) -> Run:
        """Describes one run; `models` are its frozen agents."""
        algo, game, model, number = folder.parts[-4:]
        run = Run(algo, game, model, int(number), is_finished=(folder / "checkpoint.npz").exists())
        with self._noted(folder / "config.yaml"):
            if (folder / "config.yaml").exists():
                run = replace(run, protocol=str(read_identity(folder / "config.yaml")["protocol"]))
                run = replace(run, settings=yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8")))
        with self._noted(folder / "metrics.csv"):
            run = self._with_reports(run, folder)
        with self._noted(folder / "evaluation.json"):
            run = self._with_evaluation(run, folder)
        places = [(FINAL, folder), *((m.tag, m.place) for m in models if m.tag != FINAL)]
        movies = [movie for tag, place in places for movie in self._movies(place, tag=tag, game=game)]
        pictures = [entry for _, place in places for entry in self._pictures(place, "*.png", "filters/*.png")]
        files = [*self._files(folder, RUN_FILES), *self._files(folder, PAGES, "*.html", "filters/*.html")]
        run = replace(run, movies=tuple(movies), pictures=tuple(pictures), files=tuple(files))
        self._miss_what_is_not_there(run, folder)
        return run

    def of_game(self, game: str) -> Collection:
        """Describes what spans the runs of a game."""
        folder = self._results / "comparisons" / game
        return Collection(
            game,
            tuple(
                self._movies(self._results / "movies", f"{game}.mp4", titles=(("*.mp4", "All agents side by side"),))
            ),
            tuple(self._pictures(folder, "*.png")),
            tuple([*self._files(folder, PAGES, "*.html"), *self._files(folder, TABLES, "*.csv", "*.json")]),
        )

    def overall(self) -> Collection:
        """Describes what spans games."""
        figures, tables = self._results / "figures", self._results / "tables"
        games = {folder.parts[-3] for folder in _run_folders(self._results)}
        movies = [
            movie for movie in self._movies(self._results / "movies", tag=FINAL) if Path(movie.path).stem not in games
        ]
        vector = [("*.pdf", "{}, for print"), ("*.svg", "{}, vector graphics")]
        files = [
            *self._files(tables, TABLES, "*.csv"),
            *self._files(figures, vector, "*.pdf", "*.svg"),
            *self._files(self._results, PAGES, "*.html"),
        ]
        return Collection("", tuple(movies), tuple(self._pictures(figures, "*.png")), tuple(files))

    def _noted(self, path: Path) -> "_Noted":
        return _Noted(self, path)

    def note(self, path: Path, reason: str, *, is_damaged: bool) -> None:
        """Puts something on the list of what is missing."""
        entry = Missing(path.relative_to(self._results).as_posix(), reason, is_damaged)
        if entry not in self.missing:
            self.missing.append(entry)

    def note_error(self, path: Path, reason: str) -> None:
        """Puts a file on the list that is of no use; where the results folder lies is nobody else's business."""
        self.note(path, reason.replace(f"{self._results}{os.sep}", ""), is_damaged=True)

    def _with_reports(self, run: Run, folder: Path) -> Run:
        """Adds curve and test score, from the table or, while there is none, from the log."""
        logs = [path for path in (folder / "log.jsonl", folder / "state" / "log.jsonl") if path.exists()]
        if (folder / "metrics.csv").exists():
            table = read_metrics(folder / "metrics.csv")
            reports = table.astype(object).where(table.notna(), None).to_dict("records")
        elif logs:
            reports = read_log(logs[0])
        else:
            return run
        curve = sorted(
            (float(report["frames"]), float(report["score"])) for report in reports if report["score"] is not None
        )
        tested = [report for report in reports if report["test_score"] is not None]
        score = None
        if tested:
            episodes = tested[-1].get("test_episodes")
            score = Score(float(tested[-1]["test_score"]), None, None, episodes and int(episodes), "test")
        frames = max((int(report["frames"]) for report in reports), default=0)
        return replace(
            run, frames=frames, curve=tuple(zip(*curve, strict=True)) or ((), ()), score=score, test_score=score
        )

    def _with_evaluation(self, run: Run, folder: Path) -> Run:
        """Prefers what `evaluation.json` says, because its episodes have nothing to do with the training."""
        path = folder / "evaluation.json"
        if not path.exists():
            return run
        record = read_json(path, _REMAKE)
        scores = [float(episode["score"]) for episode in record["episodes"]]
        score = Score(float(np.mean(scores)), *self.interval(scores), len(scores), "evaluation")
        return replace(run, score=score, protocol=run.protocol or str(record["protocol"]["name"]))

    def _movies(
        self, folder: Path, pattern: str = "*.mp4", *, tag: str = FINAL, titles: Titles = MOVIES, game: str = ""
    ) -> list[Movie]:
        """Describes a folder's movies; `game` is that of the run they belong to, empty if they span runs."""
        has_frames = bool(game) and world_of(game) == "atari"
        found = []
        for path, title in _found(folder, titles, pattern):
            with self._noted(path):
                facts = read_video(path)
                panels = ()
                if path.name == "activation.mp4":
                    with self._noted(folder / "frozen"):
                        panels = _panels(folder, facts)
                drawn = self._site / POSTERS / path.relative_to(self._results).with_suffix("")
                poster, screen = drawn.with_suffix(".png"), drawn.with_name(f"{drawn.name}.screen.png")
                draw_poster(path, facts, poster)
                if panels:
                    crop_picture(poster, panels[0].box, screen)
                screen = self._drawn(screen if panels else poster)
                unit = "frames" if has_frames and path.name in BY_FRAME else "steps"
                movie = Movie(*self._named(path, title), tag, unit, facts, panels, self._drawn(poster), screen)
                found.append(movie)
        return found

    def _drawn(self, path: Path) -> tuple[str, int, int]:
        with Image.open(path) as picture:
            return path.relative_to(self._site).as_posix(), *picture.size

    def _pictures(self, folder: Path, *patterns: str) -> list[Picture]:
        found = []
        for path, title in _found(folder, PICTURES, *patterns):
            try:
                with Image.open(path) as picture:
                    picture.verify()
                    found.append(Picture(*self._named(path, title), *picture.size))
            except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises
                self.note_error(path, f"{path} is no whole picture ({error}). {_REMAKE}")
        return found

    def _files(self, folder: Path, titles: Titles, *patterns: str) -> list[File]:
        patterns = patterns or tuple(name for name, _ in titles)
        return [File(*self._named(path, title)) for path, title in _found(folder, titles, *patterns)]

    def _named(self, path: Path, title: str) -> tuple[str, str, int]:
        return path.relative_to(self._results).as_posix(), title, path.stat().st_size

    def _miss_what_is_not_there(self, run: Run, folder: Path) -> None:
        if run.state == "no results":
            self.note(folder, "This run has no results: neither settings nor a log. Start it, or delete its folder.",
                      is_damaged=True)  # fmt: skip
            return
        if (folder / "frozen").is_dir():
            with self._noted(folder / "frozen"):
                open_frozen(folder / "frozen")
        if not run.is_finished:
            self.note(folder, "This run is still being trained; what is made of its result is to come.",
                      is_damaged=False)  # fmt: skip
            return
        names = ["metrics.csv", f"frozen/{RECORD_FILE}", "rollout.npz", "activation.mp4", "lineage.png"]
        if run.algo == IMPORTED:
            names.remove("metrics.csv")
        if (folder / "frozen").is_dir():
            names.remove(f"frozen/{RECORD_FILE}")  # if it is missing, that has been said
        if run.algo not in WITH_LINEAGE:
            names.remove("lineage.png")
        for name in names:
            if not (folder / name).exists():
                self.note(folder / name, self._not_made_yet(folder / name), is_damaged=False)

    def _not_made_yet(self, path: Path) -> str:
        """Says so, with the command for the working directory, where there is one."""
        if self._targets is None:
            return "Not made yet."
        target = self._targets / path.relative_to(self._results)
        return f"Not made yet: snakemake --profile local {target.as_posix()}"


class _Noted:
    """Goes on after an error that belongs to one file, and notes it."""

    def __init__(self, scan: _Scan, path: Path):
        self._scan, self._path = scan, path

    def __enter__(self) -> None: ...

    def __exit__(self, _, error: BaseException | None, __) -> bool:
        if isinstance(error, NeurozooError):
            self._scan.note_error(self._path, str(error))
        elif isinstance(error, KeyError | TypeError | ValueError | OSError):
            reason = f"{self._path} is damaged ({type(error).__name__}: {error}). {_REMAKE}"
            self._scan.note_error(self._path, reason)
        else:
            return False
        return True


def _found(folder: Path, titles: Titles, *patterns: str) -> Iterable[tuple[Path, str]]:
    """Returns the files of a folder that fit a pattern, in the order of their titles; hidden ones are not finished."""
    paths = dict.fromkeys(path for pattern in patterns for path in folder.glob(pattern))
    files = [path for path in paths if path.is_file() and not path.name.startswith(".")]
    known = [(path, title_of(path.relative_to(folder).as_posix(), titles)) for path in files]
    listed = sorted((title[0], path.as_posix(), path, title[1]) for path, title in known if title)
    return [(path, title) for _, _, path, title in listed]


def _panels(folder: Path, facts: VideoFacts) -> tuple[Panel, ...]:
    """Returns where the panels of an activation movie lie; none if it was not drawn of this network and rollout."""
    if not (folder / "frozen" / RECORD_FILE).exists():
        return ()
    frozen, shape = open_frozen(folder / "frozen"), SCREEN
    if (folder / "rollout.npz").exists():
        with NpzReader(folder / "rollout.npz", keys=("frames",), remedy=_REMAKE) as reader:
            shape = reader.shape("frames")[1:]
    canvas = Canvas(frozen, screen_shape=shape, steps=facts.frames)
    if (canvas.width, canvas.height) != (facts.width, facts.height):
        return ()
    return tuple(Panel(place.name, place.label, place.box, place.view) for place in canvas.places)
