"""Measures how time, memory and bytes grow with the number of runs and of generations.

    python benchmarks/growth.py                                all of it, in about half an hour
    python benchmarks/growth.py --only generations             long logs, in some minutes
    python benchmarks/growth.py --runs 10 100 --reports 100    fewer runs with shorter tables

Logs, states and tables have the formats of real runs; scores are invented, so that no episode is played. Every stage is
a process of its own. Its time is processor time (user and system, with its children) without imports, because other
load disturbs that least; its memory is the peak of the process, with all libraries. The exponent is the slope of a line
through the logarithms of the two largest sizes: 1 is linear, 2 is quadratic.
"""

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMPORTS = """
import neurozoo.agents.generation_reports, neurozoo.agents.tagged_agents, neurozoo.figures.learning_curves
import neurozoo.gallery.pages, neurozoo.records.lineage, neurozoo.records.run_log, neurozoo.records.tables
import synthetic_results
"""


def parse(run_dir: Path) -> None:
    """Makes a run's table of metrics."""
    from neurozoo.records.run_log import parse_log

    names = {"algo": "ga", "game": "frostbite", "model": "large", "run": 1, "protocol": "uber2018"}
    parse_log(run_dir / "log.jsonl", run_dir / "metrics.csv", identity=names)


def lineage(run_dir: Path) -> None:
    """Makes a run's table of ancestors."""
    from neurozoo.records.lineage import write_lineage

    write_lineage(run_dir / "log.jsonl", run_dir / "lineage.parquet")


def tags(run_dir: Path) -> None:
    """Finds the tags that a run has reached."""
    from neurozoo.agents.tagged_agents import reached_tags

    reached_tags(run_dir, game="frostbite")


def genomes(run_dir: Path) -> None:
    """Reads the genomes of four generations, as a movie of generations does."""
    from neurozoo.agents.generation_reports import read_reports, reports_of
    from neurozoo.movies.generations import choose_generations

    for report in reports_of(run_dir, choose_generations(sorted(read_reports(run_dir)))):
        assert len(report.genome.mutations) > report.generation / 3 - 1, "the genome should have grown"


def resume(run_dir: Path) -> None:
    """Reads a run's state and makes its next generation."""
    import synthetic_results

    synthetic_results.resume(run_dir)


def write(run_dir: Path, generations: int) -> None:
    """Writes a run's logs and states."""
    import synthetic_results

    synthetic_results.write_log(run_dir, generations)


def merge(results: Path) -> None:
    """Merges the metrics of all runs."""
    from neurozoo.records.tables import merge_metrics

    tables = sorted(results.glob("runs/*/*/*/*/metrics.csv"))
    merge_metrics(tables, csv=results / "tables/metrics.csv", parquet=results / "tables/metrics.parquet")


def scores(results: Path) -> None:
    """Makes the table of scores."""
    from neurozoo.records.tables import read_scores, score_table

    score_table(read_scores(results / "tables/metrics.parquet"), results / "tables/scores.csv")


def curves(results: Path) -> None:
    """Draws the learning curves."""
    from neurozoo.figures.learning_curves import plot_learning_curves
    from neurozoo.records.tables import read_scores

    plot_learning_curves(read_scores(results / "tables/metrics.parquet"), [results / "figures/learning_curves.png"])


def gallery(results: Path) -> None:
    """Writes the gallery."""
    from neurozoo.gallery.pages import build_site

    build_site(results)


BY_RUNS: dict[str, tuple[str, Callable]] = {
    "merge": ("merge the metrics", merge),
    "scores": ("table of scores", scores),
    "curves": ("learning curves", curves),
    "gallery": ("gallery, first time", gallery),
    "gallery again": ("gallery, again", gallery),
}
BY_GENERATIONS: dict[str, tuple[str, Callable]] = {
    "write": ("write logs and states", write),
    "parse": ("parse the log", parse),
    "lineage": ("table of ancestors", lineage),
    "tags": ("tags reached", tags),
    "genomes": ("genomes of four generations", genomes),
    "resume": ("read the state", resume),
}
Figures = dict[str, dict[int, float]]


def spent() -> float:
    """Returns the processor seconds of this process and of its children that have ended."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run_stage(name: str, folder: Path, *numbers: int) -> None:
    """Runs one stage in this process and prints its seconds and its peak memory as JSON."""
    exec(IMPORTS, {})
    start = spent()
    (BY_RUNS | BY_GENERATIONS)[name][1](folder, *numbers)
    memory = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": spent() - start, "memory": memory}))


def measure(library: Path, stage: str, *words: object) -> dict[str, float]:
    """Runs one stage in a process of its own."""
    command = [sys.executable, __file__, "--library", str(library), "--stage", stage, *map(str, words)]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode:
        raise SystemExit(f"{stage} failed:\n{answer.stderr[-3000:]}")
    return json.loads(answer.stdout.splitlines()[-1])


def measure_generations(folder: Path, library: Path, sizes: list[int]) -> dict[str, Figures]:
    """Measures everything that reads or writes a run's log."""
    table: dict[str, Figures] = {"seconds": {}, "memory": {}, "bytes": {}}
    for size in sizes:
        run_dir = folder / f"generations-{size}"
        for stage, (title, _) in BY_GENERATIONS.items():
            add(table, title, size, measure(library, stage, run_dir, *([size] if stage == "write" else [])))
        for name in ("log.jsonl", "train.log", "state/state.json"):
            table["bytes"].setdefault(name, {})[size] = (run_dir / name).stat().st_size
        table["bytes"].setdefault("whole run", {})[size] = occupied(run_dir)
        shutil.rmtree(run_dir)
    return table


def measure_runs(folder: Path, library: Path, sizes: list[int], reports: int) -> dict[str, Figures]:
    """Measures everything that reads all runs."""
    import synthetic_results

    template = synthetic_results.make_template(folder, library=library, root=ROOT)
    table: dict[str, Figures] = {"seconds": {}, "memory": {}, "bytes": {}}
    for size in sizes:
        results = folder / f"runs-{size}"
        synthetic_results.make_results(results, template, runs=size, reports=reports)
        for stage, (title, _) in BY_RUNS.items():
            add(table, title, size, measure(library, stage, results))
        for name in ("site/index.html", "site/manifest.json", "tables/metrics.csv"):
            table["bytes"].setdefault(name, {})[size] = (results / name).stat().st_size
        if milliseconds := filter_time(results / "site"):
            table["seconds"].setdefault("clear a filter, in Chromium", {})[size] = milliseconds / 1000
        shutil.rmtree(results)
    weights = [path for path in template.rglob("*") if path.is_file()]
    for path in sorted(weights, key=lambda path: -path.stat().st_size)[:8]:
        table["bytes"].setdefault(f"one run: {path.relative_to(template)}", {})[1] = path.stat().st_size
    table["bytes"].setdefault("one run: all of it", {})[1] = occupied(template)
    return table


def occupied(folder: Path) -> int:
    """Returns the bytes of all files in a folder; a file with several names counts once."""
    return sum({(s.st_dev, s.st_ino): s.st_size for s in map(os.stat, folder.rglob("*.*"))}.values())


def filter_time(site: Path) -> float | None:
    """Returns the milliseconds that the index needs to clear a filter and lay itself out; None without Chromium."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        return None
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(word)
    with webdriver.Chrome(options=options, service=webdriver.ChromeService(driver)) as browser:
        browser.get((site / "index.html").as_uri())
        return min(browser.execute_script(CLEAR_A_FILTER) for _ in range(3))


CLEAR_A_FILTER = """
const form = document.getElementById("filters");
const show = (text) => {
  const start = performance.now();
  form.q.value = text;
  form.dispatchEvent(new Event("input"));
  document.body.getBoundingClientRect().height;
  document.querySelector("#runs .cards").lastElementChild.getBoundingClientRect();
  return performance.now() - start;
};
show("nothing is called so");
return show("");
"""


def add(table: dict[str, Figures], title: str, size: int, figures: dict[str, float]) -> None:
    """Adds a stage's seconds and memory to a table."""
    for name, figure in figures.items():
        table[name].setdefault(title, {})[size] = figure


def exponent(figures: dict[int, float]) -> float | None:
    """Returns the slope between the two largest sizes on logarithmic axes."""
    if len(figures) < 2:
        return None
    (small, low), (large, high) = sorted(figures.items())[-2:]
    return math.log(max(high, 1e-3) / max(low, 1e-3)) / math.log(large / small)


def show(title: str, table: dict[str, Figures], unit: str) -> str:
    """Returns a table as Markdown."""
    sizes = sorted({size for rows in table.values() for row in rows.values() for size in row if size > 1})
    lines = [f"| {title} | {' | '.join(f'{size:,} {unit}' for size in sizes)} | exponent |"]
    lines.append("| --- |" + " ---: |" * (len(sizes) + 1))
    formats = {"seconds": lambda v: f"{v:.2f} s", "memory": lambda v: f"{v / 1e6:,.0f} MB", "bytes": size_label}
    for kind, rows in table.items():
        for name, row in rows.items():
            if set(row) == {1}:
                continue
            cells = [formats[kind](row[size]) if size in row else "" for size in sizes]
            slope = exponent(row)
            lines.append(f"| {name}, {kind} | {' | '.join(cells)} | {'' if slope is None else f'{slope:.2f}'} |")
    once = [f"- {name}: {size_label(row[1])}" for name, row in table["bytes"].items() if set(row) == {1}]
    return "\n".join([*lines, *([""] if once else []), *once])


def size_label(size: float) -> str:
    """Returns a number of bytes for people."""
    return f"{size / 1e6:,.2f} MB"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--reports", type=int, default=1000, help="reports of each run (default: 1000)")
    parser.add_argument("--generations", type=int, nargs="+", default=[100, 1000, 10_000])
    parser.add_argument("--only", choices=["runs", "generations"])
    parser.add_argument("--library", type=Path, default=ROOT / "workflow" / "lib")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--stage", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.library))
    if arguments.stage:
        name, folder, *numbers = arguments.stage
        run_stage(name, Path(folder), *map(int, numbers))
        return
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if arguments.only != "runs":
            found["generations"] = measure_generations(folder, arguments.library, arguments.generations)
            print(show("one run", found["generations"], "generations"), end="\n\n", flush=True)
        if arguments.only != "generations":
            found["runs"] = measure_runs(folder, arguments.library, arguments.runs, arguments.reports)
            print(show("all runs", found["runs"], "runs"), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
