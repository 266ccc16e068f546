"""Reads the tables of a claim, and words them for people: a table for the page, and some words for the list."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.agents.scoring import is_one_game
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.book.claims import Claim, Earlier
from neurozoo.book.record import Record, TakenRun
from neurozoo.cloud.costs import DATE, SPEEDS, VCPUS_OF_CORE, core_hours, read_prices
from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.figures.style import agent_name, algo_name, si_label
from neurozoo.files import read_json
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games
from neurozoo.records.tables import ALL_GAMES

BENCHMARK = Path("docs", "results", "benchmark.json")
BILLION = 1_000_000_000  # frames
NOTHING = "–"  # in a cell of a table
_REMEDY = "Restore it: git checkout."


@dataclass(frozen=True)
class Shown:
    """Some results of a claim.

    Attributes:
        title: What they are.
        head: Headings of the table.
        rows: Its rows.
        brief: The most important values in some words each, for the list of all claims.
        how: How they were measured, in some words, if no record says it.
    """

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    brief: list[str]
    how: str = ""


def score_text(value: float | None) -> str:
    """Formats a score in three digits or in whole numbers: 0.389, 18.9, 4,536."""
    if value is None or not np.isfinite(value):
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_interval(value: float, low: float | None, high: float | None) -> str:
    """Formats a statistic with its interval, such as `4,212 [3,900, 4,500]`; without one if there is a single run."""
    if low is None or high is None or not np.isfinite([low, high]).all():
        return score_text(value)
    return f"{score_text(value)} [{score_text(low)}, {score_text(high)}]"


# ---- tables in a claim's folder


def shown_of_record(claim: Claim, record: Record, folder: Path, budgets: Mapping[str, int]) -> list[Shown]:
    """Reads what a claim shows of its record, as far as the record has it.

    Args:
        claim: Says which tables are shown.
        record: The record.
        folder: Its folder.
        budgets: The budgets of all runs that are planned now, by name.

    Raises:
        NeurozooError: A table is damaged.
    """
    readers: Mapping[str, tuple[str, Callable[[Path, Claim], Shown]]] = {
        "scores": ("scores.csv", read_scores_of),
        "scores_at_equal_frames": ("scores_at_equal_frames.csv", read_scores_of),
        "scores_at_equal_hours": ("scores_at_equal_hours.csv", read_scores_of),
        "comparison": ("comparison.csv", read_comparison),
        "archives": ("archives.csv", lambda path, claim: read_archives(path, claim, record.runs)),
        "imports": ("imported_scores.csv", read_imports),
    }
    found = []
    finished = [run for run in record.runs if run.progress >= budgets.get(run.name, run.budget)]
    for kind in claim.shows:
        file, read = readers.get(kind, ("", read_scores_of))
        if file not in record.files:
            if kind == "scores_at_equal_hours" and finished:
                found.append(
                    Shown(
                        "At equal processor hours",
                        ("agents",),
                        [("no log has a test and a processor time up to then",)],
                        [],
                    )
                )
            continue
        shown = read(folder / file, claim)
        if kind == "scores_at_equal_frames":
            frames = ", ".join(f"{game_title(game)} {si_label(number)}" for game, number in record.frames.items())
            left_out = _left_out(folder / file, finished, "without a test up to then")
            shown = replace(shown, title=f"At equal frames of training ({frames}){left_out}")
        elif kind == "scores_at_equal_hours":
            hours = ", ".join(f"{game_title(game)} {hour:.2g} h" for game, hour in record.hours.items())
            left_out = _left_out(folder / file, finished, "without a test up to then, or a processor time in the log")
            shown = replace(shown, title=f"At equal processor hours, with tests ({hours}){left_out}", brief=[])
        elif kind == "comparison" and record.frames:
            shown = replace(shown, title=f"{shown.title}, at equal frames")
        found.append(shown)
    return found


def _left_out(path: Path, finished: Sequence[TakenRun], reason: str) -> str:
    """Says of which agents finished runs have no part in a table of scores at some earlier time."""
    table = pd.read_csv(path)
    shown = table.groupby(["algo", "model", "game"])["runs"].sum().to_dict()
    told = []
    for (algo, model, game), count in Counter((run.algo, run.model, run.game) for run in finished).items():
        if (missing := count - int(shown.get((algo, model, game), 0))) > 0:
            runs = "" if missing == count else f"{missing} of {count} runs of "
            told.append(f"{runs}{agent_name(algo, model)} in {game_title(game)}")
    return f"; {reason}: {', '.join(told)}" if told else ""


def read_scores_of(path: Path, claim: Claim, game: str = "") -> Shown:
    """Reads a table of scores, see `records.tables.score_table`; `game` is the one that counts, empty for all."""
    name = f"score_{claim.statistic}"
    table = read_csv_table(
        path,
        numbers=("runs", "frames", name, f"{name}_low", f"{name}_high"),
        texts=("algo", "model", "protocol", "game"),
        more_texts=("variant", "played"),
        remedy=_REMEDY,
    )
    table = table[table["game"] == game] if game else table[table["game"] != ALL_GAMES]
    has_several_games = table["game"].nunique() > 1
    rows, brief = [], []
    for row in table.to_dict("records"):
        agent = agent_name(row["algo"], row["model"], _text(row.get("variant")))
        score = with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"])
        episodes = _count(row.get("episodes"))
        played = _text(row.get("played")) or row["protocol"]
        rows.append(
            (agent, game_title(row["game"]), score, _count(row["runs"]), episodes, si_label(row["frames"]), played)
        )
        place = f"{game_title(row['game'])}, {agent}" if has_several_games else agent
        brief.append(f"{place}: {score}")
    head = (
        "agent",
        "game",
        f"test score, {claim.statistic} [95 %]",
        "runs",
        "episodes of a test",
        "frames",
        "protocol",
    )
    return Shown("Final test scores", head, rows, brief)


def read_comparison(path: Path, claim: Claim) -> Shown:
    """Reads a table of pairs, see `records.improvement.comparison_table`."""
    table = read_csv_table(
        path,
        numbers=("games", "probability", "probability_low", "probability_high", "runs", "other_runs"),
        texts=("algo", "model", "other_algo", "other_model", "game"),
        more_texts=("variant", "other_variant", "left_out"),
        remedy=_REMEDY,
    )
    rows, brief = [], []
    for row in table.to_dict("records"):
        pair = [
            agent_name(row[f"{which}algo"], row[f"{which}model"], _text(row.get(f"{which}variant")))
            for which in ("", "other_")
        ]
        if pd.isna(row["probability"]):
            rows.append((*pair, "all games", _text(row.get("left_out")) or NOTHING, NOTHING))
            continue
        is_single = row["runs"] < 2 and row["other_runs"] < 2  # of which one is always the better
        values = (row["probability"], row["probability_low"], row["probability_high"])
        found = "not known from a single run of each" if is_single else with_interval(*values)
        game = "all games" if row["game"] == ALL_GAMES else game_title(row["game"])
        if row["game"] != ALL_GAMES or row["games"] > 1:
            rows.append((*pair, game, found, f"{_count(row['runs'])} and {_count(row['other_runs'])}"))
        if row["game"] == ALL_GAMES and not is_single:
            brief.append(f"{pair[0]} better than {pair[1]} with probability {found}")
    head = ("agent", "other agent", "game", "probability that the first scores more [95 %]", "runs")
    return Shown("Probability of improvement", head, rows, brief)


def read_archives(path: Path, claim: Claim, runs: Sequence[TakenRun] = ()) -> Shown:
    """Reads a table of archives, see `records.archives.archive_table`.

    Args:
        path: The table.
        claim: Names the search that others are related to.
        runs: Where they are known, ratios have intervals: the runs of both searches are drawn anew.
    """
    scores = ("qd_score", "qd_score_low", "qd_score_high", "corrected_qd_score", "coverage")
    table = read_csv_table(
        path, numbers=("runs", "evaluations", *scores), texts=("game", "algo", "model"), remedy=_REMEDY
    )
    has_several_games = table["game"].nunique() > 1
    rows, brief = [], []
    for row in table.to_dict("records"):
        base = table.loc[(table["algo"] == claim.baseline) & (table["game"] == row["game"]), "qd_score"]
        agent = agent_name(row["algo"], row["model"])
        agent = f"{game_title(row['game'])}, {agent}" if has_several_games else agent
        score = with_interval(row["qd_score"], row["qd_score_low"], row["qd_score_high"])
        ratio = NOTHING
        if len(base) == 1:
            ratio = f"{row['qd_score'] / base.iloc[0]:.2f}{_interval_of_ratio(row, claim.baseline, runs)}"
        cells = (score, score_text(row["corrected_qd_score"]), f"{row['coverage']:.1%}", ratio)
        rows.append((agent, *cells, _count(row["runs"]), _count(row["evaluations"])))
        brief.append(f"{agent}: {score}" + (f", ratio {ratio}" if len(base) == 1 else ""))
    ratio = f"ratio to {algo_name(claim.baseline)}" if claim.baseline else "ratio"
    ratio += " [95 %]" if any("[" in row[4] for row in rows) else ""
    head = ("search", "QD score, mean [95 %]", "corrected", "coverage", ratio, "runs", "evaluations")
    return Shown("Archives", head, rows, brief)


def _interval_of_ratio(row: Mapping[str, Any], baseline: str, runs: Sequence[TakenRun]) -> str:
    """Returns the interval of a search's mean score through that of the baseline, or nothing if it is not known."""
    if row["algo"] == baseline:
        return ""
    taken = [run for run in runs if run.game == row["game"] and run.score is not None]
    own = [run.score for run in taken if (run.algo, run.model) == (row["algo"], row["model"])]
    base = [run.score for run in taken if run.algo == baseline]
    if min(len(own), len(base)) < 2:
        return ""
    samples = [np.array(own, float), np.array(base, float)]
    ratio = {"ratio": lambda games: games[0].mean(axis=-1) / games[1].mean(axis=-1)}
    with np.errstate(divide="ignore", invalid="ignore"):  # a baseline that comes to nothing
        low, high = bootstrap_intervals(samples, ratio)["ratio"]
    return f" [{low:.2f}, {high:.2f}]" if np.isfinite([low, high]).all() else ""


def read_imports(path: Path, claim: Claim) -> Shown:
    """Reads a table of imported genomes, see `agents.scoring.write_evaluation_table`."""
    table = read_csv_table(
        path,
        numbers=("run", "episodes", "mean", "mean_low", "mean_high"),
        texts=("game", "model", "protocol", "start_state"),
        more_texts=("note",),
        remedy=_REMEDY,
    )
    rows, brief = [], []
    for row in table.to_dict("records"):
        score = with_interval(row["mean"], row["mean_low"], row["mean_high"])
        start = "today's start" if row["start_state"] == "today" else f"start of {row['start_state']}"
        cells = (score, _count(row["episodes"]), row["protocol"], start, _text(row.get("note")))
        rows.append((game_title(row["game"]), row["model"].replace("_", " "), *cells))
        brief.append(f"{game_title(row['game'])}, {row['model']}, {start}: {score}")
    head = ("game", "network", "mean over episodes [95 %]", "episodes", "protocol", "start", "note")
    return Shown("Scores of the genomes", head, rows, brief)


# ---- tables of before


def shown_of_earlier(earlier: Earlier, claim: Claim, project: Path) -> Shown:
    """Reads a table that was made before records were kept.

    Raises:
        NeurozooError: It is damaged.
    """
    path = project / earlier.table
    if earlier.kind == "scores":
        return read_scores_of(path, claim, earlier.game)
    if earlier.kind == "archives":
        return read_archives(path, claim)
    if earlier.kind == "evaluation":
        return _evaluation(path)
    if earlier.kind == "training":
        return _training(path)
    return shown_elites(read_elites(path))


def _evaluation(path: Path) -> Shown:
    """Reads an `evaluation.json`: episodes of one agent."""
    record = read_json(path, _REMEDY)
    try:
        scores = np.array([episode["score"] for episode in record["episodes"]], float)
        place = game_title(record["game"]), record["model"], record["protocol"]["name"]
        is_same = is_one_game(record["episodes"], record["protocol"])
    except (KeyError, TypeError, ValueError) as error:
        raise NeurozooError(f"{path} is damaged ({type(error).__name__}: {error}). {_REMEDY}") from error
    low, high = bootstrap_intervals([scores], {"mean": mean_over_games})["mean"]
    score = (
        score_text(float(scores.mean())) if is_same else with_interval(float(scores.mean()), float(low), float(high))
    )
    head = ("game", "network", "protocol", "mean over episodes [95 %]", "episodes")
    return Shown(
        "Test of one agent", head, [(*place, score, str(len(scores)))], [f"{score}, one run, over its episodes"]
    )


def _training(path: Path) -> Shown:
    """Reads reports of a run that was never tested: the scores of its training."""
    table = read_csv_table(path, numbers=("frames", "score", "score_episodes"), texts=(), remedy=_REMEDY)
    last = table.iloc[-1]
    cells = (si_label(last["frames"]), score_text(last["score"]), _count(last["score_episodes"]))
    head = ("frames", "training score", "mean of games")
    brief = [f"{cells[1]} in training, after {cells[0]} frames; no test"]
    return Shown("Training of one run", head, [cells], brief)


# ---- elites: reported against tested scores


def read_elites(path: Path) -> pd.DataFrame:
    """Reads the reported and the tested scores of the elites in a table.

    Args:
        path: A `metrics.csv` of one run, or the table of `benchmarks/elite_rules.py`, a row per run, of which the
            published elite rule counts.

    Returns:
        Rows with `source`, `reported` and `tested`.

    Raises:
        NeurozooError: The table is damaged.
    """
    columns = pd.read_csv(path, nrows=0).columns
    if "true_mean" in columns:
        table = read_csv_table(path, numbers=("reported_score", "true_mean"), texts=("game", "rule"), remedy=_REMEDY)
        table = table[table["rule"] == "validated"]
        sources = [game_title(game) for game in table["game"]]
        return pd.DataFrame({"source": sources, "reported": table["reported_score"], "tested": table["true_mean"]})
    names = ("algo", "game", "model")
    last = read_csv_table(path, numbers=("score", "test_score"), texts=names, remedy=_REMEDY).iloc[-1:]
    sources = [f"{game_title(row.game)}, {agent_name(row.algo, row.model)}" for row in last.itertuples()]
    return pd.DataFrame({"source": sources, "reported": last["score"], "tested": last["test_score"]})


def elites_of_records(records: Mapping[str, Record]) -> pd.DataFrame:
    """Returns the reported and the tested scores of all runs whose own score was the best of many.

    Two kinds of runs do not count: those with a test of a single episode, as in the hard maze, where every episode is
    the same, and those in stages, whose own score is from the stages they had reached, but the test from all.
    """
    rows = [
        (f"{game_title(run.game)}, {agent_name(run.algo, run.model)} ({name})", run.score, run.test_score)
        for name, record in records.items()
        for run in record.runs
        if run.algo in ALGORITHMS and ALGORITHMS[run.algo].score_is_selected and run.score is not None
        if run.test_score is not None and (run.test_episodes or 0) > 1
        if record.facts[run.facts].get("settings_stage_threshold", "none") == "none"
    ]
    return pd.DataFrame(rows, columns=["source", "reported", "tested"])


def shown_elites(elites: pd.DataFrame) -> Shown:
    """Compares reported with tested scores, per source and over all sources.

    The excess of a source is how far its mean reported score is above its mean test score, relative to the absolute
    value of the latter: a run whose test score is near 0 neither drops out nor decides alone. Over all sources it is
    their mean. Runs are resampled within their sources.

    Args:
        elites: Rows with `source`, `reported` and `tested`. A source whose runs have a mean test score of 0 has no
            excess. As long as others have several runs, a source with one run has no part in the mean of all: how far
            other runs would spread there is unknown, and the interval would be, too.
    """
    sources = {str(source): runs for source, runs in elites.groupby("source", sort=False)}
    rows = []
    for source, runs in sources.items():
        means = (score_text(runs["reported"].mean()), score_text(runs["tested"].mean()))
        rows.append((source, str(len(runs)), *means, _excess([runs]) if runs["tested"].mean() else NOTHING))
    known = [runs for runs in sources.values() if runs["tested"].mean() != 0]
    repeated = [runs for runs in known if len(runs) > 1]
    counted = repeated or known
    brief = []
    if counted:
        count = sum(map(len, counted))
        of_all = _excess(counted)
        brief = [f"reported {of_all} above the test, {'one run' if count == 1 else f'{count} runs'}"]
        name = "all" if len(counted) == len(known) else "all with several runs"
        rows.append((name, str(count), "", "", of_all))
    head = ("of", "runs", "reported, mean", "tested, mean", "reported above tested, share of the latter [95 %]")
    return Shown("Reported and tested scores of elites", head, rows, brief)


def _excess(sources: Sequence[pd.DataFrame]) -> str:
    """Returns by how much the reported scores are above the tested ones, over some sources with at least one run.

    Where all scores that were drawn of a source are 0, it has no part in the mean of that draw.
    """
    scores = [(runs["reported"].to_numpy(float), runs["tested"].to_numpy(float)) for runs in sources]

    def excess(drawn: Sequence[np.ndarray]) -> np.ndarray:
        ratios = []
        with np.errstate(divide="ignore", invalid="ignore"):  # all drawn runs may have a test score of 0
            for (reported, tested), runs in zip(scores, drawn, strict=True):
                mean = tested[runs].mean(axis=-1)
                ratios.append((reported[runs].mean(axis=-1) - mean) / np.abs(mean))
            known = (~np.isnan(ratios)).sum(axis=0)
            return np.asarray(np.nansum(ratios, axis=0) / known)

    runs = [np.arange(len(each)) for each in sources]  # resampled, so that a run keeps its two scores
    value = float(excess(runs))
    low, high = bootstrap_intervals(runs, {"": excess})[""]
    return f"{value:+.1%} [{low:+.1%}, {high:+.1%}]" if np.isfinite([low, high]).all() else f"{value:+.1%}"


# ---- speed and cost


def shown_speed(project: Path) -> Shown:
    """Reads the measured speed of one core, see `neurozoo.benchmark`.

    Raises:
        NeurozooError: The file is missing or damaged.
    """
    record = read_json(project / BENCHMARK, "Make it again: make bench-page.")
    try:
        found = [entry for entry in record["results"] if entry["engine"] == "native" and entry["threads"] == 1]
        rows = [
            (
                entry["network"].replace("_", " "),
                game_title(entry["game"]),
                f"{entry['frames_per_second_per_core']:,.0f}",
            )
            for entry in found
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NeurozooError(
            f"{project / BENCHMARK} is damaged ({type(error).__name__}: {error}). Make it again: make bench-page."
        ) from error
    brief = [f"{network}, {game}: {speed}" for network, game, speed in rows if network == "large"]
    how = (
        f"one thread, {machine_text(record.get('machine'))}, version {record.get('software', {}).get('neurozoo', '?')}"
    )
    return Shown("One thread of the native engine", ("network", "game", "frames/s and core"), rows, brief, how)


def shown_cost() -> Shown:
    """Computes what a billion frames costs on rented machines, see `neurozoo.cloud.costs`."""
    hours = [core_hours(BILLION, speed=speed) for speed in SPEEDS]
    rows, ends = [], {"spot": [], "on demand": []}  # type: tuple[list, dict[str, list[float]]]
    for price in read_prices():
        cells = []
        for kind, per_hour in (("spot", price.spot), ("on demand", price.on_demand)):
            costs = [each * VCPUS_OF_CORE * per_hour / price.vcpus for each in hours]
            ends[kind] += costs
            cells.append(f"{min(costs):.2f} to {max(costs):.2f}")
        rows.append((price.instance, *cells))
    brief = [f"{min(costs):.2f} to {max(costs):.2f} USD, {kind}" for kind, costs in ends.items()]
    how = f"computed: {' to '.join(f'{speed:,}' for speed in SPEEDS)} frames/s and core, example prices of {DATE}"
    return Shown("A billion frames", ("machine", "spot (USD)", "on demand (USD)"), rows, brief, how)


def machine_text(machine: Mapping[str, Any] | None) -> str:
    """Describes a machine in some words."""
    if not machine:
        return "machine not recorded"
    cores = machine.get("physical_cores")
    return f"{machine.get('processor') or 'unknown processor'}, {cores} {'core' if cores == 1 else 'cores'}"


def _text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(value)


def _count(value: Any) -> str:
    return "?" if value is None or pd.isna(value) else f"{int(value):,}"


def shortened(brief: Sequence[str], *, most: int = 4) -> list[str]:
    """Leaves the first entries, and says how many more there are."""
    return [*brief] if len(brief) <= most else [*brief[: most - 1], f"{len(brief) - most + 1} more on the page"]
