"""The learning curves and intervals of the pages: which runs a chart shows, in which colours, and what it says."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from neurozoo.algorithms.agent_names import agent_name
from neurozoo.environments.games import reference_scores
from neurozoo.figures.style import si_label
from neurozoo.gallery.charts import Chart, Series, Strip, draw_chart, draw_strip, median_of
from neurozoo.gallery.manifest import Manifest, Run
from neurozoo.text import number_label

_CARD_POINTS, _PAGE_POINTS = 60, 800  # most points of a line on a card and on a page
_COLOURS = 21  # in style.css: seven colours, solid, dashed and dotted
_MEDIAN_POINTS = 400  # of a median, besides those of the runs' reports


class RunCharts:
    """Draws the charts of a manifest's pages."""

    def __init__(self, manifest: Manifest):
        self._kinds = defaultdict(list)
        self._played = defaultdict(set)
        self._colours: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
        ends: dict[str, set] = defaultdict(set)
        for run in manifest.runs:
            self._kinds[run.kind].append(run)
            self._played[run.game].add(run.played)
            self._colours[run.game].setdefault(run.kind, len(self._colours[run.game]))
            if run.final_test and run.over_runs:
                ends[run.game] |= {run.final_test.mean, run.over_runs.low, run.over_runs.high} - {None}
        self._limits = {game: (min(values), max(values)) for game, values in ends.items()}

    def colour(self, run: Run) -> int:
        """Returns the colour index of the run's kind among those of its game; it is the same on all pages."""
        return self._colours[run.game][run.kind] % _COLOURS

    def small(self, run: Run) -> Chart | None:
        """Draws a run's curve and the median of its kind, for a card."""
        return self._of_run(run, points=_CARD_POINTS, shows_all=False)

    def large(self, run: Run) -> Chart | None:
        """Draws a run's curve, those of all runs of its kind, and their median."""
        return self._of_run(run, points=_PAGE_POINTS, shows_all=True)

    def of_game(self, runs: Sequence[Run]) -> list[tuple[Chart, str]]:
        """Draws all runs of a game, and the median of each kind: a chart for each unit, with the unit."""
        drawn = []
        for unit in dict.fromkeys(run.unit for run in runs):
            if chart := self._over_unit([run for run in runs if run.unit == unit]):
                drawn.append((chart, unit))
        return drawn

    def _over_unit(self, runs: Sequence[Run]) -> Chart | None:
        groups = [group for kind in dict.fromkeys(run.kind for run in runs) for group in self._drawn_alike(kind)]
        if not groups:
            return None
        series = [self._series(run, "other") for group in groups for run in group]
        series += [self._median(group, names_all=True) for group in groups]
        ends = [f"{line.label} at {number_label(line.scores[-1])}" for line in series if line.role == "median"]
        which = "Test score" if all(run.curve_is_test for run in runs if run.curve[0]) else "Score"
        summary = f"{which} over {runs[0].unit} of {_counted(len(runs), 'run')}; medians end with {'; '.join(ends)}."
        return draw_chart([*_levels(runs[0].game, series), *series], points=_PAGE_POINTS, summary=summary)

    def strip(self, run: Run, *, is_about_all: bool = False) -> Strip | None:
        """Draws the interval over runs and their scores; the line spans all scores and intervals of the game."""
        over_runs = run.over_runs
        if over_runs is None:
            return None
        same_kind = [other.final_test.mean for other in self._kinds[run.kind] if other.final_test]
        own = run.final_test.mean if run.final_test and not is_about_all else None
        scores = Strip(over_runs.low, over_runs.high, over_runs.mean, own, tuple(same_kind))
        return draw_strip(scores, self._limits[run.game])

    def _of_run(self, run: Run, *, points: int, shows_all: bool) -> Chart | None:
        if not run.curve[0]:
            return None
        same_kind = next(runs for runs in self._drawn_alike(run.kind) if run in runs)
        series = [self._series(other, "other") for other in same_kind if other is not run] if shows_all else []
        if len(same_kind) > 1 and len((median := self._median(same_kind)).frames) > 1:
            series.append(replace(median, label=f"median of {len(same_kind)} runs"))
        series.append(self._series(run, "run"))
        series = [*_levels(run.game, series), *series]
        scores, which = run.curve[1], "test score" if run.curve_is_test else "the run's own score"
        done, first, last = si_label(run.curve[0][-1]), number_label(scores[0]), number_label(scores[-1])
        summary = (
            f"A single report, after {done} {run.unit}: {which} {first}."
            if len(scores) == 1
            else f"{which.capitalize()} over {done} {run.unit} in {_counted(run.reports, 'report')}: from {first} to "
            f"{last}, at most {number_label(max(scores))}."
        )
        return draw_chart(series, points=points, summary=summary)

    def _series(self, run: Run, role: str) -> Series:
        return Series(f"run {run.run}", self.colour(run), role, *map(np.asarray, run.curve))

    def _drawn_alike(self, kind: tuple[str, ...]) -> list[list[Run]]:
        """Returns the runs of a kind with a curve: those with a curve of tests, and the others."""
        runs = [run for run in self._kinds[kind] if run.curve[0]]
        groups = [[run for run in runs if run.curve_is_test == is_test] for is_test in (True, False)]
        return [group for group in groups if group]

    def _median(self, runs: Sequence[Run], *, names_all: bool = False) -> Series:
        frames, scores = median_of([run.course for run in runs], points=_MEDIAN_POINTS)
        run = runs[0]
        more = [run.variant]
        if names_all and len(self._played[run.game]) > 1:
            more.append(run.played)
        if not run.curve_is_test and run.unit == "frames":  # archives are never tested
            more.append("own score")
        return Series(agent_name(run.algo, run.model, *more), self.colour(run), "median", frames, scores)


def _levels(game: str, series: Sequence[Series]) -> list[Series]:
    """Returns flat lines for random play and a human, unless the human is too far above all else."""
    if game not in reference_scores():
        return []
    random, human = reference_scores()[game]
    best = max(line.scores.max() for line in series)
    ends = np.array([0.0, max(line.frames[-1] for line in series)])
    levels = {"random play": random} | ({"human": human} if human - random <= 2 * (best - random) else {})
    return [Series(name, 6, "level", ends, np.full(2, score)) for name, score in levels.items()]


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"
