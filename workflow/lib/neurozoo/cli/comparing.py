"""`python -m neurozoo compare`: compares runs by scores, embeddings and classification of states."""

import json
import sys
from math import isnan
from pathlib import Path

from neurozoo.cli.arguments import Commands, add_command, add_json, chosen, natural, positive, say_if_outdated
from neurozoo.errors import NeurozooError


def add_comparing_commands(commands: Commands) -> None:
    """Adds `compare` and its subcommands."""
    compare = add_command(commands, "compare", None, "compare runs: statistics, embeddings or classification of states")
    compared = compare.add_subparsers(title="what", metavar="WHAT", required=True)

    statistics = add_command(
        compared, "statistics", _statistics, "compute scores with intervals, compare pairs of algorithms, draw figures"
    )
    statistics.add_argument("metrics", type=Path, help="metrics of all runs: tables/metrics.parquet or a .csv")
    statistics.add_argument(
        "--output", type=Path, default=Path("statistics"), help="folder to write (default: %(default)s)"
    )
    statistics.add_argument(
        "--replications", type=positive, default=50_000, help="number of bootstrap resamples (default: %(default)s)"
    )
    statistics.add_argument(
        "--confidence", type=float, default=0.95, help="confidence level of the intervals (default: %(default)s)"
    )
    statistics.add_argument("--seed", type=natural, default=0, help="default: %(default)s")

    embed = add_command(compared, "embed", _embed, "embed the states of several runs of a game in one plane")
    _add_run_dirs(embed)
    embed.add_argument(
        "--keys",
        nargs="+",
        default=["ram", "representation"],
        help="data to embed: ram, ram_bits, representation (default: ram representation)",
    )
    embed.add_argument("--methods", nargs="+", default=["pca", "pca_tsne", "umap"], help="default: pca pca_tsne umap")
    embed.add_argument("--max-points", type=positive, default=6000, help="most states to embed (default: %(default)s)")
    embed.add_argument("--seed", type=natural, default=0, help="default: %(default)s")

    classify = add_command(compared, "classify", _classify, "test whether a classifier can tell from states who played")
    _add_run_dirs(classify)
    classify.add_argument("--by", default="algo", help="classes: algo, model or run (default: %(default)s)")
    classify.add_argument("--source", default="observations", help="observations or frames (default: %(default)s)")
    classify.add_argument("--epochs", type=positive, default=3, help="training epochs (default: %(default)s)")
    classify.add_argument("--seed", type=natural, default=0, help="default: %(default)s")
    add_json(classify, "the result as JSON")

    population = add_command(
        compared, "population", _population, "show a run's populations in behaviour space on a page"
    )
    population.add_argument("run_dir", type=Path, help="folder of a run that was trained with record_population: true")
    population.add_argument(
        "--generations", type=int, nargs=2, metavar=("FIRST", "LAST"), help="generations to show (default: all)"
    )
    population.add_argument(
        "--max-points", type=positive, default=40_000, help="most individuals on the page (default: %(default)s)"
    )
    population.add_argument("--output", type=Path, help="page to write (default: RUN_DIR/population.html)")


def _add_run_dirs(command):
    command.add_argument(
        "run_dirs", type=Path, nargs="+", help="folders of runs of one game, each with frozen/ and rollout.npz"
    )
    command.add_argument(
        "--output", type=Path, default=Path("comparison"), help="folder to write (default: %(default)s)"
    )


def _statistics(options):
    from neurozoo.figures.aggregates import plot_aggregates, plot_improvement, plot_performance_profile
    from neurozoo.figures.style import FORMATS
    from neurozoo.records.improvement import comparison_table
    from neurozoo.records.tables import read_scores, score_table

    if options.replications < 1 or not 0 < options.confidence < 1:
        raise NeurozooError(
            f"--replications is {options.replications} and --confidence is {options.confidence:g}, but there should be "
            "at least 1 replication and a confidence between 0 and 1."
        )
    metrics = read_scores(options.metrics)
    scores, comparison = options.output / "scores.csv", options.output / "comparison.csv"
    bootstrap = chosen(options, "replications", "confidence", "seed")
    score_table(metrics, scores, **bootstrap)
    comparison_table(metrics, comparison, **bootstrap)

    def figures(name):
        return [options.output / f"{name}.{format}" for format in FORMATS]

    plot_performance_profile(metrics, figures("performance_profile"), confidence=options.confidence, seed=options.seed)
    plot_aggregates(scores, figures("aggregates"), confidence=options.confidence)
    plot_improvement(comparison, figures("probability_of_improvement"), confidence=options.confidence)
    print(f"{options.output}: scores.csv, comparison.csv, and figures")


def _embed(options):
    from neurozoo.comparison import embed_states, write_embedding_page

    say_if_outdated(*options.run_dirs)
    embedding, page = options.output / "embedding.npz", options.output / "embedding.html"
    choices = chosen(options, "keys", "methods", "max_points", "seed")
    left_out = embed_states(options.run_dirs, embedding, **choices)
    _say_left_out(left_out)
    write_embedding_page(embedding, options.run_dirs, page)
    print(f"{page}: open it in a browser; the numbers are in {embedding}")


def _population(options):
    from neurozoo.comparison.population_page import as_sentence, write_population_page

    page = options.output or options.run_dir / "population.html"
    between = tuple(options.generations) if options.generations else None
    counts = write_population_page(options.run_dir, page, generations=between, most_points=options.max_points)
    print(as_sentence(page, counts))


def _classify(options):
    from neurozoo.comparison import classify_states
    from neurozoo.files import read_json

    say_if_outdated(*options.run_dirs)
    facts, csv, figure = (options.output / f"classification.{end}" for end in ("json", "csv", "png"))
    choices = chosen(options, "by", "source", "epochs", "seed")
    result = classify_states(options.run_dirs, facts=facts, csv=csv, figures=[figure], **choices)
    record = read_json(facts, "")
    _say_left_out(record["left_out"])
    if options.json:
        print(json.dumps(record))
    else:
        low, high = result.interval
        interval = "no interval: a class has a single test stretch" if isnan(low) else f"{low:.3f} to {high:.3f}"
        print(f"{csv}: accuracy {result.accuracy:.3f} ({interval}), guessing {result.chance:.3f}")


def _say_left_out(left_out):
    for name, reason in left_out.items():
        print(f"left out {name}: {reason}", file=sys.stderr)
