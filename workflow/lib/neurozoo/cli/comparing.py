"""`python -m neurozoo compare`: compares runs by scores, embeddings and classification of states."""

import sys
from math import isnan
from pathlib import Path

from neurozoo.cli import arguments as args
from neurozoo.errors import NeurozooError


def add_commands(commands: args.Commands) -> None:
    """Adds `compare` and its subcommands."""
    summary = "compare runs: statistics, embeddings or classification of states"
    compare = args.add_command(commands, "compare", None, summary)
    compared = compare.add_subparsers(title="what", metavar="WHAT", required=True)

    summary = "compute scores with intervals, compare pairs of algorithms, draw figures"
    command = args.add_command(compared, "statistics", _statistics, summary)
    option = command.add_argument
    option("metrics", type=Path, help="metrics of all runs: tables/metrics.parquet or a .csv")
    option("--output", type=Path, default=Path("statistics"), help="folder to write")
    option("--replications", type=args.positive, default=50_000, help="number of bootstrap resamples")
    option("--confidence", type=float, default=0.95, help="confidence level of the intervals")
    args.add(command, "seed")

    command = args.add_command(compared, "embed", _embed, "embed the states of several runs of a game in one plane")
    option = command.add_argument
    _add_run_dirs(command)
    keys = "data to embed: ram, ram_bits, representation (default: ram representation)"
    option("--keys", nargs="+", default=["ram", "representation"], help=keys)
    option("--methods", nargs="+", default=["pca", "pca_tsne", "umap"], help="default: pca pca_tsne umap")
    option("--max-points", type=args.positive, default=6000, help="most states to embed")
    args.add(command, "seed")

    summary = "test whether a classifier can tell from states who played"
    command = args.add_command(compared, "classify", _classify, summary)
    option = command.add_argument
    _add_run_dirs(command)
    option("--by", default="algo", help="classes: algo, model or run")
    option("--source", default="observations", help="observations or frames")
    option("--epochs", type=args.positive, default=3, help="training epochs")
    args.add(command, "seed")
    args.add(command, "json", help="print the result as JSON")

    summary = "show a run's populations in behaviour space on a page"
    option = args.add_command(compared, "population", _population, summary).add_argument
    option("run_dir", type=Path, help="folder of a run that was trained with record_population: true")
    option("--generations", type=int, nargs=2, metavar=("FIRST", "LAST"), help="generations to show (default: all)")
    option("--max-points", type=args.positive, default=40_000, help="most individuals on the page")
    option("--output", type=Path, help="page to write (default: RUN_DIR/population.html)")


def _add_run_dirs(command):
    folders = "folders of runs of one game, each with frozen/ and rollout.npz"
    command.add_argument("run_dirs", type=Path, nargs="+", help=folders)
    command.add_argument("--output", type=Path, default=Path("comparison"), help="folder to write")


def _statistics(options):
    from neurozoo.figures.aggregates import plot_aggregates, plot_improvement, plot_performance_profile
    from neurozoo.figures.style import FORMATS
    from neurozoo.records.improvement import comparison_table
    from neurozoo.records.tables import read_scores, score_table

    if not 0 < options.confidence < 1:
        raise NeurozooError(f"--confidence is {options.confidence:g}, but should be between 0 and 1.")
    metrics = read_scores(options.metrics)
    scores, comparison = options.output / "scores.csv", options.output / "comparison.csv"
    bootstrap = args.chosen(options, "replications", "confidence", "seed")
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

    args.say_if_outdated(*options.run_dirs)
    embedding, page = options.output / "embedding.npz", options.output / "embedding.html"
    choices = args.chosen(options, "keys", "methods", "max_points", "seed")
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

    args.say_if_outdated(*options.run_dirs)
    facts, csv, figure = (options.output / f"classification.{end}" for end in ("json", "csv", "png"))
    choices = args.chosen(options, "by", "source", "epochs", "seed")
    result = classify_states(options.run_dirs, facts=facts, csv=csv, figures=[figure], **choices)
    record = read_json(facts, "")
    _say_left_out(record["left_out"])
    low, high = result.interval
    interval = "no interval: a class has a single test stretch" if isnan(low) else f"{low:.3f} to {high:.3f}"
    text = f"{csv}: accuracy {result.accuracy:.3f} ({interval}), guessing {result.chance:.3f}"
    args.print_result(options, record, text)


def _say_left_out(left_out):
    for name, reason in left_out.items():
        print(f"left out {name}: {reason}", file=sys.stderr)
