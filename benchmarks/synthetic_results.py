"""Makes results of any size with the real writers, for `growth.py`: long logs, and many copies of one run."""

import csv
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.session import ELITE_GENOME, make_report
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.games import reference_scores
from neurozoo.environments.layouts import layout_of
from neurozoo.environments.protocols import get_protocol
from neurozoo.evaluation import EpisodeResult
from neurozoo.records.comparability import read_facts
from neurozoo.records.run_config import read_identity
from neurozoo.records.run_log import parse_log
from neurozoo.training.clock import Clock
from neurozoo.training.reporting import RunReporter, log_record
from neurozoo.training.state import RunState

SETTINGS = {
    "population_size": 12,
    "selection_threshold": 4,
    "validation_threshold": 3,
    "num_validation_episodes": 1,
    "num_test_episodes": 1,
    "frames": 10**12,
}
RUNS_PER_KIND = 10
KINDS = (("ga", "large"), ("ga", "small"), ("rs", "large"), ("rs", "small"), ("es", "large"))
NOISE_VALUES = 250_000_000


def genetic_algorithm(settings: dict[str, object]) -> GeneticAlgorithm:
    """Returns the genetic algorithm of a run in Frostbite that plays no episodes."""
    protocol = get_protocol("uber2018")
    return GeneticAlgorithm(
        resolve_settings("ga", preset="demo", overrides=settings),
        entropy=(1,),
        layout=layout_of("frostbite", "large", protocol),
        noise=np.broadcast_to(np.float32(0), NOISE_VALUES),
        protocol=protocol,
    )


def invented(algorithm: GeneticAlgorithm) -> list[EpisodeResult]:
    """Returns results by which genomes grow by a mutation in every second generation."""
    episodes, wanted = algorithm.ask().episodes, algorithm.iteration / 2
    return [EpisodeResult(-abs(len(e.genome.mutations) - wanted) + n / 100, 500, 2000) for n, e in enumerate(episodes)]


def write_log(run_dir: Path, generations: int) -> None:
    """Writes the log, the text log and the state of a run, generation by generation, as training does."""
    algorithm, clock = genetic_algorithm(SETTINGS), Clock()
    state = RunState(run_dir, identity={"made_by": "growth.py"}, budget=10**12)
    reporter = RunReporter(
        kept=state.text_log, shown=run_dir / "train.log", budget=10**12, unit="frames", progress=0, title="growth",
        report_name="generation", fields=algorithm.fields, terminal="lines",
    )  # fmt: skip
    elite: list | None = None
    try:
        while algorithm.iteration < generations:
            while (record := algorithm.tell(invented(algorithm))) is None:
                pass
            report, elite = make_report(record, elite_before=elite), record[ELITE_GENOME]
            clock.add(1.0, untimed=0.1, playing=0.8, processor=1.0)
            line = log_record(report, unit="frames", spent=clock.end_iteration(), clock=clock)
            state.report(line)
            reporter.report(line, report)
            state.save(algorithm.get_state(), clock.to_state(), algorithm.get_arrays(), progress=algorithm.frames)
    finally:
        reporter.close()
    shutil.copyfile(state.log, run_dir / "log.jsonl")


def resume(run_dir: Path) -> None:
    """Continues the run of `write_log`, up to its next generation."""
    algorithm = genetic_algorithm(SETTINGS)
    state = RunState(run_dir, identity={"made_by": "growth.py"}, budget=10**12)
    assert state.saved is not None
    algorithm.set_state(state.saved["algorithm"], state.arrays())


def make_template(folder: Path, *, library: Path, root: Path) -> Path:
    """Trains, freezes, records and films one short run with the network `large`; returns its folder."""
    run_dir = folder / "template"
    settings = ("population_size=6", "selection_threshold=3", "validation_threshold=2", "num_validation_episodes=2",
                "num_test_episodes=2", "episode_cutoff_mode=60", "frames=8000")  # fmt: skip
    identity = ["--algo", "ga", "--game", "frostbite", "--model", "large", "--run-dir", str(run_dir)]
    for words in (
        ["train", *identity, *itertools.chain(*(("--set", setting) for setting in settings))],
        ["freeze", str(run_dir)],
        ["rollout", str(run_dir), "--max-steps", "120"],
        ["movie", str(run_dir)],
    ):
        environment = {**os.environ, "PYTHONPATH": str(library), "TF_CPP_MIN_LOG_LEVEL": "3"}
        command = [sys.executable, "-m", "neurozoo", *words]
        answer = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
        if answer.returncode:
            raise SystemExit(f"{' '.join(words)} failed:\n{answer.stderr[-2000:]}")
    config = run_dir / "config.yaml"
    parse_log(run_dir / "log.jsonl", run_dir / "metrics.csv", identity=read_identity(config), facts=read_facts(config))
    return run_dir


def identities(count: int) -> Iterator[dict[str, object]]:
    """Yields the names of runs: 50 in each game, 10 of each kind."""
    games = (game for game in sorted(reference_scores()) if game != "frostbite")
    for game in itertools.chain(["frostbite"], games):
        for (algo, model), run in itertools.product(KINDS, range(1, RUNS_PER_KIND + 1)):
            if count == 0:
                return
            count -= 1
            yield {"algo": algo, "game": game, "model": model, "run": run}


def make_results(folder: Path, template: Path, *, runs: int, reports: int) -> list[Path]:
    """Copies a run under many names, with longer tables; large files are links. Returns the tables of metrics."""
    with open(template / "metrics.csv", encoding="utf-8", newline="") as file:
        row = list(csv.DictReader(file))[-1]
    config = yaml.safe_load((template / "config.yaml").read_text(encoding="utf-8"))
    random, tables = np.random.default_rng(0), []
    for names in identities(runs):
        run_dir = folder / "runs" / "/".join(map(str, names.values()))
        for source in (path for path in template.rglob("*") if path.is_file()):
            target = run_dir / source.relative_to(template)
            if not {"state", "tags", "snapshots"} & set(target.relative_to(run_dir).parts):
                target.parent.mkdir(parents=True, exist_ok=True)
                os.link(source, target)
        for name in ("config.yaml", "metrics.csv", "result.json", "genome.json", "frozen/model.json"):
            (run_dir / name).unlink(missing_ok=True)
        for name in ("result.json", "genome.json", "frozen/model.json"):
            if (template / name).exists():
                found = json.loads((template / name).read_text(encoding="utf-8"))
                (run_dir / name).write_text(json.dumps({**found, **names}, indent=1), encoding="utf-8")
        (run_dir / "config.yaml").write_text(yaml.safe_dump({**config, **names}, sort_keys=False), encoding="utf-8")
        scores = np.cumsum(random.normal(1, 10, reports)).round(2)
        with open(run_dir / "metrics.csv", "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(row), lineterminator="\n")
            writer.writeheader()
            for number, score in enumerate(scores.tolist(), start=1):
                moment = {"Iteration": number, "frames": 400_000 * number, "score": score, "test_score": score}
                writer.writerow({**row, **names, **moment})
        tables.append(run_dir / "metrics.csv")
    return tables
