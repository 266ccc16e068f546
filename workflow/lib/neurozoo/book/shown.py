"""Reads what a claim shows: the tables of its record, earlier tables, speed and cost."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from neurozoo.agents.scoring import is_one_game
from neurozoo.algorithms.agent_names import agent_name, algo_name
from neurozoo.book.claims import Claim, Earlier
from neurozoo.book.elites import read_elites, shown_elites
from neurozoo.book.record import Record, TakenRun
from neurozoo.book.wording import NOTHING, RESTORE, Shown, machine_text, score_text, with_interval
from neurozoo.cloud.costs import DATE, SPEEDS, VCPUS_OF_CORE, core_hours, read_prices
from neurozoo.environments.game_titles import game_title
from neurozoo.errors import NeurozooError
from neurozoo.figures.style import ENOUGH_RUNS, number_range, si_label
from neurozoo.files import read_json
from neurozoo.records.comparability import SETTINGS, UNKNOWN
from neurozoo.records.csv_tables import read_csv_table
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games
from neurozoo.records.tables import ALL_GAMES

BENCHMARK = Path("docs", "results", "benchmark.json")
BILLION = 1_000_000_000  # frames


# ---- tables in a claim's folder


def shown_of_record(
    claim: Claim, record: Record, folder: Path, *, budgets: Mapping[str, int], labels: Mapping[str, str]
) -> list[Shown]:
    """Reads what a claim shows of its record, as far as the record has it.

    Args:
        claim: Says which tables are shown.
        record: The record.
        folder: Its folder.
        budgets: The budgets of all runs that are planned now, by name.
        labels: What the configuration calls runs now, by name.

    Raises:
        NeurozooError: A table is damaged.
    """
    called = _labels_of_agents(record, labels)
    readers: Mapping[str, tuple[str, Callable[[Path, Claim], Shown]]] = {
        **{
            kind: (f"{kind}.csv", lambda path, claim: read_scores_of(path, claim, called=called))
            for kind in ("scores", "scores_at_equal_frames", "scores_at_equal_hours")
        },
        "comparison": ("comparison.csv", lambda path, claim: read_comparison(path, claim, called=called)),
        "archives": ("archives.csv", lambda path, claim: read_archives(path, claim, record.runs)),
        "imports": ("imported_scores.csv", read_imports),
    }
    found = []
    finished = [run for run in record.runs if run.progress >= budgets.get(run.name, run.budget)]
    for kind in claim.shows:
        file, read = readers.get(kind, ("", read_scores_of))
        if file not in record.files:
            if kind == "scores_at_equal_hours" and finished:
                reason = "no log has a test and a processor time up to then"
                found.append(Shown("At equal processor hours", ("agents",), [(reason,)], []))
            continue
        shown = read(folder / file, claim)
        if kind == "scores_at_equal_frames":
            frames = ", ".join(f"{game_title(game)} {si_label(number)}" for game, number in record.frames.items())
            left_out = _left_out(folder / file, finished, "without a test up to then")
            title = f"At equal frames of training ({frames}){left_out}"
            shown = replace(shown, title=title, heading="At equal frames")
        elif kind == "scores_at_equal_hours":
            hours = ", ".join(f"{game_title(game)} {hour:.2g} h" for game, hour in record.hours.items())
            left_out = _left_out(folder / file, finished, "without a test up to then, or a processor time in the log")
            title = f"At equal processor hours, with tests ({hours}){left_out}{_doubts_about_hours(record, finished)}"
            shown = replace(shown, title=title, heading="At equal processor hours")
        elif kind == "comparison" and record.frames:
            shown = replace(shown, title=f"{shown.title}, at equal frames")
        elif kind == "scores" and record.frames:
            shown = replace(shown, brief=[])  # budgets differ, so the list has the scores at equal frames
        found.append(shown)
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


def _doubts_about_hours(record: Record, finished: Sequence[TakenRun]) -> str:
    """Says why hours of the processor may not be equal: of several processors, or of machines that are not known."""
    if len({record.machines[run.machine].get("processor") for run in record.runs if run.machine}) > 1:
        return "; on different processors, so hours are not equal"
    unknown = [run for run in finished if not run.machine]
    if not unknown:
        return ""
    whose = (
        "the machines" if len(unknown) == len(finished) else f"the machines of {len(unknown)} of {len(finished)} runs"
    )
    return f"; {whose} are not recorded, so hours may not be equal"


def read_scores_of(path: Path, claim: Claim, game: str = "", *, called: Mapping[tuple[str, str], str] = {}) -> Shown:
    """Reads a table of scores, see `records.tables.score_table`.

    Args:
        path: The table.
        claim: Names the statistic.
        game: The game that counts; empty for all.
        called: What agents are called now, by algorithm and network.
    """
    name = f"score_{claim.statistic}"
    table = read_csv_table(
        path,
        numbers=("runs", "frames", name, f"{name}_low", f"{name}_high"),
        texts=("algo", "model", "protocol", "game"),
        more_texts=("variant", "played"),
        remedy=RESTORE,
    )
    table = table[table["game"] == game] if game else table[table["game"] != ALL_GAMES]
    has_several_games = table["game"].nunique() > 1
    of_highest = "" if claim.highest is None else f" of {score_text(claim.highest)}"
    rows = []
    brief: list[tuple[str, float, str]] = []
    for row in table.sort_values("game", kind="stable").to_dict("records"):
        agent = _agent(row, "", called)
        score = with_interval(row[name], row[f"{name}_low"], row[f"{name}_high"])
        episodes = _count(row.get("episodes"))
        played = _text(row.get("played")) or row["protocol"]
        rows.append(
            (agent, game_title(row["game"]), score, _count(row["runs"]), episodes, si_label(row["frames"]), played)
        )
        place = f"{game_title(row['game'])}, {agent}" if has_several_games else agent
        brief.append((row["game"], -row[name], f"{place}: {score}{of_highest}"))
    head = (
        "agent",
        "game",
        f"test score, {claim.statistic} [95 %]",
        "runs",
        "episodes of a test",
        "frames",
        "protocol",
    )
    is_narrow = _is_narrow(table["runs"], table[f"{name}_low"])
    return Shown("Final test scores", head, rows, [words for _, _, words in sorted(brief)], is_narrow=is_narrow)


def read_comparison(path: Path, claim: Claim, *, called: Mapping[tuple[str, str], str] = {}) -> Shown:
    """Reads a table of pairs, see `records.improvement.comparison_table`; pairs with a single run are only counted.

    Args:
        path: The table.
        claim: Not used.
        called: What agents are called now, by algorithm and network.
    """
    table = read_csv_table(
        path,
        numbers=("games", "probability", "probability_low", "probability_high", "runs", "other_runs"),
        texts=("algo", "model", "other_algo", "other_model", "game"),
        more_texts=("variant", "other_variant", "left_out"),
        remedy=RESTORE,
    )
    rows, brief = [], []
    single = 0  # pairs in a game of which one agent has a single run, which may be the best or the worst by chance
    for row in table.to_dict("records"):
        pair = [_agent(row, which, called) for which in ("", "other_")]
        if pd.isna(row["probability"]):
            rows.append((*pair, "all games", _text(row.get("left_out")) or NOTHING, NOTHING))
            continue
        if pd.isna(row["probability_low"]):
            single += row["game"] != ALL_GAMES
            continue
        found = with_interval(row["probability"], row["probability_low"], row["probability_high"])
        game = "all games" if row["game"] == ALL_GAMES else game_title(row["game"])
        if row["game"] != ALL_GAMES or row["games"] > 1:
            rows.append((*pair, game, found, f"{_count(row['runs'])} and {_count(row['other_runs'])}"))
        if row["game"] == ALL_GAMES:
            brief.append(f"{pair[0]} better than {pair[1]} with probability {found}")
    if single:
        pairs = number_range([single], "pair")
        rows.append((f"{pairs} with a single run of an agent", NOTHING, NOTHING, "not known", NOTHING))
    head = ("agent", "other agent", "game", "probability that the first scores more [95 %]", "runs")
    fewest = table[["runs", "other_runs"]].min(axis=1) / table["games"].clip(lower=1)
    return Shown(
        "Probability of improvement", head, rows, brief, is_narrow=_is_narrow(fewest, table["probability_low"])
    )


def read_archives(path: Path, claim: Claim, runs: Sequence[TakenRun] = ()) -> Shown:
    """Reads a table of archives, see `records.archives.archive_table`.

    Args:
        path: The table.
        claim: Names the search that others are related to, where it had as many evaluations.
        runs: Where they are known, ratios have intervals: the runs of both searches are drawn anew.
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
        score = with_interval(row["qd_score"], row["qd_score_low"], row["qd_score_high"])
        ratio = NOTHING
        if len(base) == 1:
            of = base.iloc[0]
            ratio = f"{row['qd_score'] / of['qd_score']:.2f}{_interval_of_ratio(row, of, runs)}"
        cells = (score, score_text(row["corrected_qd_score"]), f"{row['coverage']:.1%}", ratio)
        rows.append((agent, *cells, _count(row["runs"]), _count(row["evaluations"])))
        brief.append(f"{agent}: {score}" + (f", ratio {ratio}" if len(base) == 1 else ""))
    ratio = f"ratio to {algo_name(claim.baseline)}" if claim.baseline else "ratio"
    ratio += " [95 %]" if any("[" in row[4] for row in rows) else ""
    head = ("search", "QD score, mean [95 %]", "corrected", "coverage", ratio, "runs", "evaluations")
    return Shown("Archives", head, rows, brief, is_narrow=_is_narrow(table["runs"], table["qd_score_low"]))


def _interval_of_ratio(row: Mapping[str, Any], of: Mapping[str, Any], runs: Sequence[TakenRun]) -> str:
    """Returns the interval of a search's mean score through that of the baseline, or nothing if it is not known.

    It is not where the table has another number of runs: then these are of several settings, or not all in the table.
    """
    if row["algo"] == of["algo"]:
        return ""
    alike = [run for run in runs if (run.game, run.progress) == (row["game"], row["evaluations"])]
    taken = [run for run in alike if run.score is not None]
    own = [run.score for run in taken if (run.algo, run.model) == (row["algo"], row["model"])]
    base = [run.score for run in taken if (run.algo, run.model) == (of["algo"], of["model"])]
    if (len(own), len(base)) != (row["runs"], of["runs"]) or min(len(own), len(base)) < 2:
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
        remedy=RESTORE,
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


# ---- earlier tables


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
    record = read_json(path, RESTORE)
    try:
        scores = np.array([episode["score"] for episode in record["episodes"]], float)
        place = game_title(record["game"]), record["model"], record["protocol"]["name"]
        is_same = is_one_game(record["episodes"], record["protocol"])
    except (KeyError, TypeError, ValueError) as error:
        raise NeurozooError(f"{path} is damaged ({type(error).__name__}: {error}). {RESTORE}") from error
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
    table = read_csv_table(path, numbers=("frames", "score", "score_episodes"), texts=(), remedy=RESTORE)
    last = table.iloc[-1]
    cells = (si_label(last["frames"]), score_text(last["score"]), _count(last["score_episodes"]))
    head = ("frames", "training score", "mean of games")
    brief = [f"{cells[1]} in training, after {cells[0]} frames; no test"]
    return Shown("Training of one run", head, [cells], brief)


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


def _is_narrow(runs: pd.Series, lows: pd.Series) -> bool:
    """Says whether an interval comes from fewer runs than it should."""
    return bool(((runs < ENOUGH_RUNS) & lows.notna()).any())


def _agent(row: Mapping[str, Any], which: str, called: Mapping[tuple[str, str], str]) -> str:
    algo, model = row[f"{which}algo"], row[f"{which}model"]
    return agent_name(algo, model, called.get((algo, model), "") or _text(row.get(f"{which}variant")))


def _text(value: Any) -> str:
    return "" if value is None or pd.isna(value) else str(value)


def _count(value: Any) -> str:
    return "?" if value is None or pd.isna(value) else f"{int(value):,}"
