"""The tables that a page of the book shows: those of a record, earlier ones, speed and cost."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.agents.scoring import is_one_game
from neurozoo.algorithms.agent_names import agent_name, algo_name
from neurozoo.book.claims import Claim, Earlier, EarlierKind
from neurozoo.book.elites import elite_table, read_elites
from neurozoo.book.formatting import NOTHING, RESTORE, ResultTable, machine_text, score_text, with_interval
from neurozoo.book.record import Record, RecordedRun
from neurozoo.cloud.costs import DATE, SPEEDS, VCPUS_OF_CORE, core_hours, read_prices
from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.figures.style import number_range, si_label
from neurozoo.files import read_json
from neurozoo.records.comparability import SETTINGS, UNKNOWN
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.records.statistics import ENOUGH_RUNS, bootstrap_intervals, mean_over_games
from neurozoo.records.tables import ALL_GAMES

BENCHMARK = Path("docs", "results", "benchmark.json")
BILLION = 1_000_000_000  # frames
LOTTERY = "a lottery"
ABOUT_LOTTERIES = (
    "A lottery: these means come from whole games that are won or lost without a single point for the other side. "
    "Chance decides which, not play: the mean is luck, not learning. So it is no lead, and counts in no pooled row."
)
_BRACKETS = "[95 %] or (runs)"


# ---- tables in a claim's folder


def tables_of_record(
    claim: Claim, record: Record, folder: Path, *, budgets: Mapping[str, int], labels: Mapping[str, str]
) -> list[ResultTable]:
    """Reads the tables that a claim shows, as far as its record, in a folder, has them.

    `budgets` and `labels` are those that the configuration plans now, by the names of runs.

    Raises:
        NeurozooError: A table is damaged.
    """
    called = _labels_of_agents(record, labels)
    finished = [run for run in record.runs if run.progress >= budgets.get(run.name, run.budget)]
    found = []
    for kind in claim.shows:
        path = folder / ("imported_scores.csv" if kind == "imports" else f"{kind}.csv")
        if path.name not in record.files:
            if kind == "scores_at_equal_hours" and finished:
                reason = "no log has a test and a processor time up to then"
                found.append(ResultTable("At equal processor hours", ("agents",), [(reason,)], []))
        elif kind == "scores":
            table = read_scores(path, claim, called=called)
            # With other budgets, the list has the scores at equal frames.
            found.append(replace(table, brief=[]) if record.frames else table)
        elif kind == "scores_at_equal_frames":
            frames = ", ".join(f"{game_title(game)} {si_label(number)}" for game, number in record.frames.items())
            left_out = _left_out(path, finished, "without a test up to then")
            title = f"At equal frames of training ({frames}){left_out}"
            found.append(replace(read_scores(path, claim, called=called), title=title, heading="At equal frames"))
        elif kind == "scores_at_equal_hours":
            hours = ", ".join(f"{game_title(game)} {hour:.2g} h" for game, hour in record.hours.items())
            left_out = _left_out(path, finished, "without a test up to then, or a processor time in the log")
            title = f"At equal processor hours, with tests ({hours}){left_out}{_doubts_about_hours(record, finished)}"
            table = read_scores(path, claim, called=called)
            found.append(replace(table, title=title, heading="At equal processor hours"))
        elif kind == "comparison":
            table = read_comparison(path, called=called)
            found.append(replace(table, title=f"{table.title}, at equal frames") if record.frames else table)
        elif kind == "archives":
            found.append(read_archives(path, claim, record.runs))
        elif kind == "imports":
            found.append(read_imports(path))
    return found


def _labels_of_agents(record: Record, labels: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """Returns the labels by algorithm and network, where all runs of an agent have the same one and equal settings.

    Several settings keep the names that the tables have, which tell them apart.
    """
    found: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for run in record.runs:
        settings = record.facts[run.facts].get(SETTINGS, UNKNOWN)
        found.setdefault((run.algo, run.model), set()).add((labels.get(run.name, ""), settings))
    return {agent: kinds.pop()[0] for agent, kinds in found.items() if len(kinds) == 1}


def _left_out(path: Path, finished: Sequence[RecordedRun], reason: str) -> str:
    """Says of which agents finished runs have no part in a table of scores at some earlier time."""
    table = pd.read_csv(path)
    shown = table.groupby(["algo", "model", "game"])["runs"].sum().to_dict()
    told = []
    for (algo, model, game), count in Counter((run.algo, run.model, run.game) for run in finished).items():
        if (missing := count - int(shown.get((algo, model, game), 0))) > 0:
            runs = "" if missing == count else f"{missing} of {count} runs of "
            told.append(f"{runs}{agent_name(algo, model)} in {game_title(game)}")
    return f"; {reason}: {', '.join(told)}" if told else ""


def _doubts_about_hours(record: Record, finished: Sequence[RecordedRun]) -> str:
    """Says why hours of the processor may not be equal: of several processors, or of machines that are not known."""
    if len({record.machines[run.machine].get("processor") for run in record.runs if run.machine}) > 1:
        return "; on different processors, so hours are not equal"
    unknown = [run for run in finished if not run.machine]
    if not unknown:
        return ""
    of = "" if len(unknown) == len(finished) else f" of {len(unknown)} of {len(finished)} runs"
    return f"; the machines{of} are not recorded, so hours may not be equal"


def read_scores(path: Path, claim: Claim, game: str = "", *, called: Mapping[tuple[str, str], str] = {}) -> ResultTable:
    """Reads a table of `records.tables.score_table`: the claim's statistic, of one game or of all.

    `called` is what agents are called now, by algorithm and network.
    """
    name = f"score_{claim.statistic}"
    table = read_csv_table(
        path,
        numbers=("runs", "frames", name, f"{name}_low", f"{name}_high"),
        texts=("algo", "model", "protocol", "game"),
        more_texts=("variant", "played", "run_scores", "lottery"),
        remedy=RESTORE,
    )
    table = table[table["game"] == game] if game else table[table["game"] != ALL_GAMES]
    has_several_games = table["game"].nunique() > 1
    of_highest = "" if claim.highest is None else f" of {score_text(claim.highest)}"
    rows = []
    brief: list[tuple[str, bool, float, str]] = []
    for row in table.sort_values("game", kind="stable").to_dict("records"):
        agent, title = _agent(row, "", called), game_title(row["game"])
        runs = [float(run.split(":")[1]) for run in _text(row.get("run_scores")).split()] or int(row["runs"])
        score = with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"], runs=runs)
        score += f", {LOTTERY}" if _text(row.get("lottery")) else ""
        counts = (_count(row["runs"]), _count(row.get("episodes")), si_label(row["frames"]))
        rows.append((agent, title, score, *counts, _text(row.get("played")) or row["protocol"]))
        place = f"{title}, {agent}" if has_several_games else agent
        # What leads by chance stands behind what plays.
        brief.append((row["game"], bool(_text(row.get("lottery"))), -row[name], f"{place}: {score}{of_highest}"))
    statistic = f"test score, {claim.statistic} {_BRACKETS}"
    head = ("agent", "game", statistic, "runs", "episodes of a test", "frames of the shortest run", "protocol")
    note = ABOUT_LOTTERIES if any(is_lottery for _, is_lottery, _, _ in brief) else ""
    return ResultTable("Final test scores", head, rows, [words for *_, words in sorted(brief)], note=note)


def read_comparison(path: Path, *, called: Mapping[tuple[str, str], str] = {}) -> ResultTable:
    """Reads a table of `records.improvement.comparison_table`; pairs with fewer than five runs are only counted."""
    table = read_csv_table(
        path,
        numbers=("games", "probability", "runs", "other_runs"),
        more_numbers=("p_holm",),
        texts=("algo", "model", "other_algo", "other_model", "game"),
        more_texts=("variant", "other_variant", "left_out"),
        remedy=RESTORE,
    )
    rows, brief = [], []
    few = 0  # pairs in a game of which one agent has too few runs for a test
    tested = 0
    for row in table.to_dict("records"):
        pair = [_agent(row, which, called) for which in ("", "other_")]
        if pd.isna(row["probability"]):
            rows.append((*pair, "all games", _text(row.get("left_out")) or NOTHING, NOTHING, NOTHING))
            continue
        is_pooled = row["game"] == ALL_GAMES
        if min(row["runs"], row["other_runs"]) < ENOUGH_RUNS * row["games"] or "p_holm" not in row:
            few += not is_pooled
            continue
        counts = f"{_count(row['runs'])} and {_count(row['other_runs'])}"
        share = f"{row['probability']:.2g}"
        if is_pooled:
            rows += [(*pair, "all games", share, NOTHING, counts)] if row["games"] > 1 else []
            continue
        tested += 1
        title = game_title(row["game"])
        rows.append((*pair, title, share, f"{row['p_holm']:.2g}", counts))
        brief.append(
            f"{pair[0]} scores more than {pair[1]} in {row['probability']:.0%} of the pairs of runs in {title}"
            f" (p = {row['p_holm']:.2g})"
        )
    head = ("agent", "other agent", "game", "share of pairs of runs in which the first scores more", "p", "runs")
    tests, pairs = number_range([tested], "test"), number_range([few], "pair")
    note = [f"p: exact rank test, two-sided, corrected for {tests} (Holm)."] if tested else []
    if few:
        note.append(
            f"{pairs} of agents in a game: fewer than five runs of one, so not tested. Three against three runs cannot "
            "have a p below 0.1."
        )
    return ResultTable("Pairs of agents", head, rows, brief, note=" ".join(note))


def read_archives(path: Path, claim: Claim, runs: Sequence[RecordedRun] = ()) -> ResultTable:
    """Reads a table of `records.archives.archive_table`, with ratios to the claim's baseline after as many evaluations.

    Where the runs are known, ratios have intervals: the runs of both searches are drawn anew.
    """
    scores = ("qd_score", "qd_score_low", "qd_score_high", "corrected_qd_score", "coverage")
    table = read_csv_table(
        path, numbers=("runs", "evaluations", *scores), texts=("game", "algo", "model"), remedy=RESTORE
    )
    has_several_games = table["game"].nunique() > 1
    rows, brief = [], []
    for row in table.to_dict("records"):
        is_like = (table[["game", "evaluations"]] == [row["game"], row["evaluations"]]).all(axis=1)
        base = table[is_like & (table["algo"] == claim.baseline)]
        agent = agent_name(row["algo"], row["model"])
        agent = f"{game_title(row['game'])}, {agent}" if has_several_games else agent
        own = _scores_of(row, runs)
        score = with_interval(row["qd_score"], row["qd_score_low"], row["qd_score_high"], runs=own or int(row["runs"]))
        ratio = NOTHING
        if len(base) == 1:
            of = base.iloc[0]
            if known := claim.baseline_score:
                ratio = f"{row['qd_score'] / known.value:.2f}"
            else:
                ratio = f"{row['qd_score'] / of['qd_score']:.2f}{_interval_of_ratio(row, of, runs)}"
        cells = (score, score_text(row["corrected_qd_score"]), f"{row['coverage']:.1%}", ratio)
        rows.append((agent, *cells, _count(row["runs"]), _count(row["evaluations"])))
        brief.append(f"{agent}: {score}" + (f", ratio {ratio}" if len(base) == 1 else ""))
    ratio = f"ratio to {algo_name(claim.baseline)}" if claim.baseline else "ratio"
    if known := claim.baseline_score:
        ratio += f" ({score_text(known.value)}, {known.runs} runs)"
    ratio += " [95 %]" if any("[" in row[4] for row in rows) else ""
    head = ("search", f"QD score, mean {_BRACKETS}", "corrected", "coverage", ratio, "runs", "evaluations")
    return ResultTable("Archives", head, rows, brief)


def _scores_of(row: Mapping[str, Any], runs: Sequence[RecordedRun]) -> list[float]:
    """Returns the scores of the runs behind a row; none if they are not all known, or of several settings."""
    own = [
        run.score
        for run in runs
        if (run.game, run.progress, run.algo, run.model) == (row["game"], row["evaluations"], row["algo"], row["model"])
        and run.score is not None
    ]
    return own if len(own) == row["runs"] else []


def _interval_of_ratio(row: Mapping[str, Any], of: Mapping[str, Any], runs: Sequence[RecordedRun]) -> str:
    """Returns the interval of a search's mean score through that of the baseline, or nothing if it is not known."""
    samples = [np.array(_scores_of(each, runs)) for each in (row, of)]
    if row["algo"] == of["algo"] or not all(map(len, samples)):
        return ""
    ratio = {"ratio": lambda games: games[0].mean(axis=-1) / games[1].mean(axis=-1)}
    with np.errstate(divide="ignore", invalid="ignore"):  # a baseline that comes to nothing
        low, high = bootstrap_intervals(samples, ratio)["ratio"]
    return f" [{low:.2f}, {high:.2f}]" if np.isfinite([low, high]).all() else ""


def read_imports(path: Path) -> ResultTable:
    """Reads a table of `agents.scoring.write_evaluation_table`."""
    table = read_csv_table(
        path,
        numbers=("run", "episodes", "mean", "mean_low", "mean_high"),
        texts=("game", "model", "protocol", "start_state"),
        more_texts=("note",),
        remedy=RESTORE,
    )
    rows, brief = [], []
    for row in table.to_dict("records"):
        score = with_interval(row["mean"], row["mean_low"], row["mean_high"], runs=int(row["episodes"]))
        start = "today's start" if row["start_state"] == "today" else f"start of {row['start_state']}"
        cells = (score, _count(row["episodes"]), row["protocol"], start, _text(row.get("note")))
        rows.append((game_title(row["game"]), row["model"].replace("_", " "), *cells))
        brief.append(f"{game_title(row['game'])}, {row['model']}, {start}: {score}")
    head = ("game", "network", "mean over episodes [95 %]", "episodes", "protocol", "start", "note")
    return ResultTable("Scores of the genomes", head, rows, brief)


# ---- earlier tables


def earlier_table(earlier: Earlier, claim: Claim, project: Path) -> ResultTable:
    """Reads a table that was made before records were kept.

    Raises:
        NeurozooError: It is damaged.
    """
    path = project / earlier.table
    readers: dict[EarlierKind, Callable[[], ResultTable]] = {
        "scores": lambda: read_scores(path, claim, earlier.game),
        "archives": lambda: read_archives(path, claim),
        "evaluation": lambda: _evaluation(path),
        "elites": lambda: elite_table(read_elites(path)),
    }
    return readers[earlier.kind]()


def _evaluation(path: Path) -> ResultTable:
    """Reads an `evaluation.json`: episodes of one agent."""
    record = read_json(path, RESTORE)
    try:
        scores = np.array([episode["score"] for episode in record["episodes"]], float)
        place = game_title(record["game"]), record["model"], record["protocol"]["name"]
        is_same = is_one_game(record["episodes"], record["protocol"])
    except (KeyError, TypeError, ValueError) as error:
        raise NeurozooError(f"{path} is damaged ({type(error).__name__}: {error}). {RESTORE}") from error
    low, high = bootstrap_intervals([scores], {"mean": mean_over_games})["mean"]
    mean = float(scores.mean())
    score = score_text(mean) if is_same else with_interval(mean, float(low), float(high), runs=len(scores))
    head = ("game", "network", "protocol", "mean over episodes [95 %]", "episodes")
    brief = [f"{score}, one run, over its episodes"]
    return ResultTable("Test of one agent", head, [(*place, score, str(len(scores)))], brief)


# ---- speed and cost


def speed_table(project: Path) -> ResultTable:
    """Reads the measured speed of one core, see `neurozoo.benchmark`.

    Raises:
        NeurozooError: The file is missing or damaged.
    """
    record = read_json(project / BENCHMARK, "Make it again: make bench-page.")
    try:
        rows = []
        for entry in record["results"]:
            if entry["engine"] == "native" and entry["threads"] == 1:
                place = (entry["network"].replace("_", " "), game_title(entry["game"]))
                rows.append((*place, f"{entry['frames_per_second_per_core']:,.0f}"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NeurozooError(
            f"{project / BENCHMARK} is damaged ({type(error).__name__}: {error}). Make it again: make bench-page."
        ) from error
    brief = [f"{network}, {game}: {speed}" for network, game, speed in rows if network == "large"]
    version = record.get("software", {}).get("neurozoo", "?")
    how = f"one thread, {machine_text(record.get('machine'))}, version {version}"
    return ResultTable("One thread of the native engine", ("network", "game", "frames/s and core"), rows, brief, how)


def cost_table() -> ResultTable:
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
    return ResultTable("A billion frames", ("machine", "spot (USD)", "on demand (USD)"), rows, brief, how)


def _agent(row: Mapping[str, Any], which: str, called: Mapping[tuple[str, str], str]) -> str:
    algo, model = row[f"{which}algo"], row[f"{which}model"]
    return agent_name(algo, model, called.get((algo, model), "") or _text(row.get(f"{which}variant")))


def _text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(value)


def _count(value: Any) -> str:
    return "?" if value is None or pd.isna(value) else f"{int(value):,}"
