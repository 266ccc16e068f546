"""Scans a results folder into a manifest: its runs, games and files, and what is damaged or not there yet."""

import contextlib
import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd

from neurozoo.agents.frozen import RECORD_FILE, open_frozen
from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.agents.scoring import is_one_game
from neurozoo.agents.tags import FINAL, TAGS
from neurozoo.agents.zoo_listing import ZooAgent, check_results, find_agents, is_run_number
from neurozoo.algorithms.agent_names import label_with_name
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.errors import NeurozooError
from neurozoo.files import read_json
from neurozoo.files.npz import NpzReader
from neurozoo.gallery.charts import thinned
from neurozoo.gallery.file_titles import GRIDS, PAGES, RUN_FILES, TABLES
from neurozoo.gallery.manifest import Changeable, Collection, Manifest, Run, Score
from neurozoo.gallery.media import MediaReader
from neurozoo.gallery.missing import REMAKE, MissingList
from neurozoo.machine import provenance
from neurozoo.plan.products import result_file
from neurozoo.records.comparability import (
    LABEL,
    PLAYED,
    SETTINGS,
    VARIANT,
    facts_of,
    network_fact,
    settings_in,
    with_names,
)
from neurozoo.records.curves import common_grid, is_curve_of_tests
from neurozoo.records.run_config import config_of_run, read_run_settings
from neurozoo.records.run_log import current_log, iter_log
from neurozoo.records.statistics import ENOUGH_RUNS, bootstrap_intervals, mean_over_games
from neurozoo.records.tables import CURVE, NO_LABELS, read_curve
from neurozoo.training.heartbeat import read_heartbeat

CURVE_POINTS = 400  # most points of a run's curve in the manifest; a page is not wider
COURSE_POINTS = 10_000  # most reports of a run behind a median


class Resampling(TypedDict, total=False):
    """How `read_manifest` computes intervals."""

    replications: int
    confidence: float
    seed: int


def read_manifest(
    results: str | os.PathLike,
    site: str | os.PathLike,
    *,
    replications: int = 50_000,
    confidence: float = 0.95,
    seed: int = 0,
    is_passed_on: bool = False,
    labels: Mapping[str, str] = NO_LABELS,
) -> Manifest:
    """Reads everything that a results folder holds. Damaged and missing files are listed; they are no error.

    Pictures from movies are written to `site`, the folder of the pages. Pages that are passed on name no commands of
    this working directory, and leave out files that links bring from outside of the results. `labels` are what
    experiments want their settings to be called, by run, such as `ga/frostbite/large/1`. The other arguments are those
    of the bootstrap.

    Raises:
        NeurozooError: There is no such folder.
    """
    results = check_results(results)
    resampling: Resampling = {"replications": replications, "confidence": confidence, "seed": seed}
    scan = _Scan(results, Path(site), is_passed_on=is_passed_on, resampling=resampling)
    models = defaultdict(list)
    for model in find_agents(results):
        models[model.folder].append(model)
    runs = [scan.run(folder, models[folder]) for folder in scan.run_folders()]
    runs.sort(key=lambda run: (run.game, run.algo, run.model, run.run))
    runs = _with_scores_over_runs(_with_names(runs, labels), scan.interval)
    games = {game: scan.of_game(game) for game in dict.fromkeys(run.game for run in runs)}
    return Manifest(
        title=results.resolve().name,
        runs=tuple(runs),
        overall=scan.overall(),
        games=games,
        missing=tuple(sorted(scan.missing.entries, key=lambda entry: not entry.is_damaged)),
        confidence=confidence,
        made_by=provenance(),
    )


def comparable(runs: Sequence[Run], labels: Mapping[str, str] = NO_LABELS) -> pd.DataFrame:
    """Returns a row for each run with its names and facts, and what `with_names` adds."""
    names = ("algo", "game", "model", "run", "protocol")
    rows = []
    for run in runs:
        row = {name: getattr(run, name) for name in names} | run.facts
        label = label_with_name(run.algo, settings_in(run.facts), labels.get(run.id, ""))
        rows.append(row | ({LABEL: label} if label else {}))
    return with_names(pd.DataFrame(rows, columns=None if rows else names))


def _with_names(runs: Sequence[Run], labels: Mapping[str, str]) -> list[Run]:
    # Imported agents have no tests: what is unknown of theirs would stand in the names of all.
    named: dict[str, Run] = {}
    for is_imported in (False, True):
        part = [run for run in runs if (run.algo == IMPORTED) == is_imported]
        table = comparable(part, labels)
        columns = zip(part, table[SETTINGS], table[VARIANT], table[PLAYED], strict=True)
        named |= {
            run.id: replace(run, settings_hash=key, variant=variant, played=played)
            for run, key, variant, played in columns
        }
    return [named[run.id] for run in runs]


def _with_scores_over_runs(
    runs: Sequence[Run], interval: Callable[[Sequence[float]], tuple[float | None, float | None]]
) -> list[Run]:
    kinds = defaultdict(list)
    for run in runs:
        if run.final_test:
            kinds[run.kind].append(run.final_test.mean)
    over_runs = {
        kind: Score(float(np.mean(means)), *interval(means), len(means), "runs") for kind, means in kinds.items()
    }
    return [replace(run, over_runs=over_runs.get(run.kind)) for run in runs]


def _sampled(frames: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the reports of a run, or its scores at `COURSE_POINTS` frames if it has more."""
    if len(frames) <= COURSE_POINTS:
        return frames, scores
    grid, columns = common_grid([(frames, scores)], COURSE_POINTS)
    return grid, columns[:, 0]


class _Scan:
    """Reads one results folder and collects problems in `missing`."""

    def __init__(self, results: Path, site: Path, *, is_passed_on: bool, resampling: Resampling):
        self._results = results
        self.missing = MissingList(results)
        self._media = MediaReader(results, site, self.missing, is_passed_on=is_passed_on)
        place = Path(os.path.abspath(results))  # does not resolve links, because Snakemake's targets contain them
        self._targets = None  # the results folder in Snakemake's targets
        if not is_passed_on and Path.cwd() in place.parents:
            self._targets = place.relative_to(Path.cwd())
        self._resampling = resampling
        folders = ("runs/*/*/*/*", "runs/*/*/*/*/what_if", f"runs/*/*/*/*/{TAGS}/*", "movies")
        self._media.prepare(*(f"{folder}/*.mp4" for folder in folders))

    def run_folders(self) -> list[Path]:
        """Returns the folders of runs, and notes those whose names look like numbers but are none of a run."""
        folders = [folder for folder in self.missing.find(self._results, "runs/*/*/*/*") if folder.is_dir()]
        for folder in folders:
            if folder.name.isdigit() and not is_run_number(folder.name):
                reason = "Its name is not the number of a run, such as 1. Rename the folder, or move it away."
                self.missing.note(folder, reason, is_damaged=True)
        return [folder for folder in folders if is_run_number(folder.name)]

    def interval(self, scores: Sequence[float]) -> tuple[float | None, float | None]:
        """Returns the bootstrap interval of a mean; None for both ends if there are fewer than five scores."""
        if len(scores) < ENOUGH_RUNS:
            return None, None
        ends = bootstrap_intervals([np.array(scores, float)], {"mean": mean_over_games}, **self._resampling)["mean"]
        return float(ends[0]), float(ends[1])

    def run(self, folder: Path, models: Sequence[ZooAgent]) -> Run:
        """Describes one run, whatever its files hold; `models` are its frozen agents."""
        algo, game, model, number = folder.parts[-4:]
        run = Run(algo, game, model, int(number), is_finished=(folder / result_file(algo)).exists())
        if not run.is_finished and (heartbeat := read_heartbeat(folder / "state")) is not None:
            run = replace(run, ended=heartbeat.ended or "")
        with self.missing.noting_errors(folder):
            run = self._with_files(run, folder, models)
        return replace(run, problem=self.missing.problem_of(folder))

    def _with_files(self, run: Run, folder: Path, models: Sequence[ZooAgent]) -> Run:
        game = run.game
        config = config_of_run(folder)
        with self.missing.noting_errors(config):
            if self.missing.has(config):
                settings = read_run_settings(config)
                run = replace(run, protocol=str(settings["protocol"]), settings=settings)
                run = replace(run, facts=facts_of(settings) | network_fact(settings))
        with self.missing.noting_errors(folder / "metrics.csv"):
            run = self._with_reports(run, folder)
        with self.missing.noting_errors(folder / "evaluation.json"):
            run = self._with_evaluation(run, folder)
        places = [(FINAL, folder), *((m.tag, m.place) for m in models if m.tag != FINAL)]
        movies = [movie for tag, place in places for movie in self._media.movies(place, tag=tag, game=game)]
        movies += self._media.movies(folder, "what_if/*.mp4", game=game)
        patterns = ("*.png", "filters/*.png", "what_if/*.png")
        pictures = [entry for _, place in places for entry in self._media.pictures(place, *patterns)]
        files = [*self._media.files(folder, RUN_FILES), *self._media.files(folder, PAGES, "*.html", "filters/*.html")]
        run = replace(run, movies=tuple(movies), pictures=tuple(pictures), files=tuple(files))
        with contextlib.suppress(NeurozooError):  # what is damaged is named anyway
            run = replace(run, changeable=self._changeable(folder))
        self._note_missing_files(run, folder)
        return run

    def _changeable(self, folder: Path) -> Changeable | None:
        needed = (folder / "rollout.npz", folder / "frozen" / RECORD_FILE)
        if self._targets is None or not all(path.exists() and self.missing.has(path) for path in needed):
            return None
        frozen = open_frozen(folder / "frozen")
        if frozen.is_continuous:
            return None
        with NpzReader(folder / "rollout.npz", keys=("actions",), remedy=REMAKE) as reader:
            steps = reader.shape("actions")[0]
        return Changeable((self._targets / folder.relative_to(self._results)).as_posix(), steps, frozen.actions)

    def of_game(self, game: str) -> Collection:
        """Describes files about all runs of a game."""
        folder = self._results / "comparisons" / game
        return Collection(
            game,
            tuple(self._media.movies(self._results / "movies", f"{game}.mp4", titles=GRIDS)),
            tuple(self._media.pictures(folder, "*.png")),
            tuple([*self._media.files(folder, PAGES, "*.html"), *self._media.files(folder, TABLES, "*.csv", "*.json")]),
        )

    def overall(self) -> Collection:
        """Describes files about all games."""
        figures, tables = self._results / "figures", self._results / "tables"
        games = {folder.parts[-3] for folder in self.run_folders()}
        movies = [m for m in self._media.movies(self._results / "movies") if Path(m.path).stem not in games]
        more = [("*.pdf", "{}, for print"), ("*.svg", "{}, vector graphics"), ("*.txt", "{}, words for a caption")]
        files = [
            *self._media.files(tables, TABLES, "*.csv"),
            *self._media.files(figures, more, "*.pdf", "*.svg", "*.txt"),
            *self._media.files(self._results, PAGES, "*.html"),
        ]
        return Collection("", tuple(movies), tuple(self._media.pictures(figures, "*.png")), tuple(files))

    def _with_reports(self, run: Run, folder: Path) -> Run:
        """Adds curve and test score from `metrics.csv`; while the run is trained, from its log, which is newer."""
        log = current_log(folder)
        if (run.is_finished or not log) and self.missing.has(folder / "metrics.csv"):
            reports = read_curve(folder / "metrics.csv")
        elif log and self.missing.has(log):
            rows = ({name: record.get(name) for name in CURVE} for record in iter_log(log))
            reports = pd.DataFrame(rows, columns=list(CURVE))
        else:
            return run
        unit = "evaluations" if run.algo in ALGORITHMS and ALGORITHMS[run.algo].result == "archive" else "frames"
        tested = reports.dropna(subset=["test_score"])
        curve_is_test = bool(is_curve_of_tests(len(tested), reports["score"].notna().sum()))
        drawn = "test_score" if curve_is_test else "score"
        scored = reports.dropna(subset=[unit, drawn]).sort_values(unit, kind="stable")
        frames, scores = (scored[name].to_numpy(float) for name in (unit, drawn))
        points = thinned(frames, scores, CURVE_POINTS)
        score = None
        if len(tested):
            last = tested.iloc[-1]
            count = None if pd.isna(last["test_episodes"]) else int(last["test_episodes"])
            score = Score(float(last["test_score"]), None, None, count, "test")
        if not all(np.isfinite(part).all() for part in points):
            raise ValueError("its scores should be finite numbers")
        done = reports[unit].max() if len(reports) else 0
        return replace(
            run,
            unit=unit,
            frames=0 if pd.isna(done) else int(done),
            curve=(tuple(points[0].tolist()), tuple(points[1].tolist())),
            course=_sampled(frames, scores),
            curve_is_test=curve_is_test,
            reports=len(scored),
            score=score,
            test_score=score,
        )

    def _with_evaluation(self, run: Run, folder: Path) -> Run:
        """Takes the score of `evaluation.json` if there is one, because its episodes had no part in the training."""
        path = folder / "evaluation.json"
        if not self.missing.has(path):
            return run
        record = read_json(path, REMAKE)
        scores = [float(episode["score"]) for episode in record["episodes"]]
        name = record["protocol"]["name"]
        if not scores or not np.isfinite(scores).all() or not isinstance(name, str) or not name.isprintable():
            raise ValueError("its episodes should have finite scores, and its protocol a name")
        is_same = is_one_game(record["episodes"], record["protocol"])
        ends = (None, None) if is_same else self.interval(scores)
        score = Score(float(np.mean(scores)), *ends, len(scores), "evaluation", is_one_game=is_same)
        return replace(run, score=score, protocol=run.protocol or name)

    def _note_missing_files(self, run: Run, folder: Path) -> None:
        if run.state == "no results":
            reason = "This run has no results: neither settings nor a log. Start it, or delete its folder."
            self.missing.note(folder, reason, is_damaged=True)
            return
        if (folder / "frozen").is_dir() and self.missing.has(folder / "frozen"):
            with self.missing.noting_errors(folder / "frozen"):
                open_frozen(folder / "frozen")
        if not run.is_finished:
            reason = {
                "failed": "The training of this run failed; python -m neurozoo status says why.",
                "stopped": "The training of this run was stopped. Start it again; it continues.",
            }.get(run.state, "This run is still being trained. Files made from its result will follow.")
            self.missing.note(folder, reason, is_damaged=False)
            return
        if run.algo in ALGORITHMS and ALGORITHMS[run.algo].result == "archive":
            self._note_not_made(folder, ALGORITHMS[run.algo].files)
            return
        names = ["metrics.csv", f"frozen/{RECORD_FILE}", "rollout.npz", "activation.mp4", "lineage.png"]
        if run.algo == IMPORTED:
            names.remove("metrics.csv")
        if (folder / "frozen").is_dir():
            names.remove(f"frozen/{RECORD_FILE}")  # `open_frozen` has reported it if it is missing
        if run.algo not in ALGORITHMS or "lineage.png" not in ALGORITHMS[run.algo].files:
            names.remove("lineage.png")
        self._note_not_made(folder, names)

    def _note_not_made(self, folder: Path, names: Sequence[str]) -> None:
        for name in names:
            if not (folder / name).exists():
                self.missing.note(folder / name, self._not_made_yet(folder / name), is_damaged=False)

    def _not_made_yet(self, path: Path) -> str:
        """Returns a sentence with the command that makes the file, if it can be made from the working directory."""
        if self._targets is None:
            return "Not made yet."
        target = self._targets / path.relative_to(self._results)
        # Other folders of results belong to configurations that this page does not know.
        choice = "" if self._targets == Path("results") else "--configfile CONFIGURATION "
        return f"Not made yet: snakemake --profile local {choice}-- {target.as_posix()}"
