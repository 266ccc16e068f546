"""What a search gains that never waits: closed generations and the asynchronous form at equal wall time.

    PYTHONPATH=workflow/lib python benchmarks/asynchronous.py lengths      plays two generations in two games
    PYTHONPATH=workflow/lib python benchmarks/asynchronous.py simulate     100 to 10,000 workers, without games
    PYTHONPATH=workflow/lib python benchmarks/asynchronous.py play         one real pair of runs
    PYTHONPATH=workflow/lib python benchmarks/asynchronous.py show         the figure

The algorithms in `simulate` are those of the library; only workers and games are pretended. Each worker plays one
episode at a time, and takes the next one that waits. The length of an episode is drawn from those that `lengths` has
measured, whoever plays. An individual is its true mean score: a mutation multiplies it by a factor (40 % change almost
nothing, 50 % make it worse, 10 % better), and an episode's score is the true mean times log-normal noise. We made that
up, so the factors say nothing about a game; idle workers and numbers of episodes do. All files are in
docs/results/asynchronous/.
"""

import argparse
import csv
import heapq
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import plotnine as p9
from neurozoo.agents.scoring import score_genome
from neurozoo.algorithms.neuroevolution.asynchronous import AsynchronousGeneticAlgorithm
from neurozoo.algorithms.neuroevolution.genetic import GeneticAlgorithm
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.environments.layouts import layout_of
from neurozoo.environments.protocols import get_protocol, protocol_of
from neurozoo.evaluation import Episode, EpisodeResult, make_evaluator, play
from neurozoo.figures.style import figure_theme, save_figure
from neurozoo.genomes.genome import Genome
from neurozoo.genomes.noise_table import open_noise_table
from neurozoo.randomness import Purpose, generator
from neurozoo.records.run_log import read_log

FOLDER = Path("docs/results/asynchronous")
OPS, NOISE = Path("results/native/libneurozoo_ops.so"), Path("results/noise/table.f32")
GAMES = ("frostbite", "seaquest")
PLAYED = GaSettings(
    population_size=100,
    selection_threshold=10,
    validation_threshold=1,
    num_validation_episodes=1,
    num_test_episodes=1,
    test_cutoff=100,
    mutation_power=0.005,
)


def measure_lengths(threads: int) -> None:
    """Plays two generations of the network `small` per game; writes generation, score and steps of every episode."""
    rows = []
    for game in GAMES:
        protocol = protocol_of(game, "uber2018")
        layout = layout_of(game, "small", protocol)
        world = {"game": game, "layout": layout, "protocol": protocol}
        ga = GeneticAlgorithm(PLAYED, entropy=(0, 1), layout=layout, noise=open_noise_table(NOISE), protocol=protocol)
        with make_evaluator(**world, ops=OPS, noise=NOISE, threads=threads) as evaluator:
            while ga.iteration < 2:
                batch = ga.ask()
                evaluator.pin(batch.parents)
                results = play(evaluator, dict(enumerate(batch.episodes)))
                played = [results[number] for number in range(len(batch.episodes))]
                if batch.phase == "population":
                    rows += [[game, ga.iteration + 1, result.score, result.steps] for result in played]
                ga.tell(played)
    write_rows("lengths.csv", ("game", "generation", "score", "steps"), rows)


def write_rows(name: str, header: tuple[str, ...], rows: list[list]) -> None:
    """Writes a table."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


# ---- pretended workers

STEPS_PER_SECOND = 2_250  # of one core: 9,000 frames/s (docs/benchmarks.md)
SEARCH = GaSettings(test_cutoff=5_000, frames=10**15)  # the published one, with the tests of the preset neurozoo
SIZES = {100: (180, 4), 1_000: (40, 4), 10_000: (20, 2)}  # workers: wall time in seconds, replications
FORMS = {
    "generations of 1,000": SEARCH,
    "generations of 5,000": replace(SEARCH, population_size=5_000),
    "asynchronous, 1,000": replace(SEARCH, selection="asynchronous"),
}
SIGMA = 0.7  # of the logarithm of an episode's noise: a heavy tail
COLUMNS = ("game", "workers", "wall_seconds", "form", "replication", "reports", "children", "busy", "true_mean")


class PretendedGame:
    """Knows the true mean of every genome, and plays its episodes without a game.

    Args:
        steps: Lengths to draw from, in steps.
        seed: Seed of the noise and of the lengths.
    """

    def __init__(self, steps: np.ndarray, seed: int) -> None:
        self._steps, self._random = steps, np.random.default_rng(seed)
        self._logs: dict[tuple[int, bool], float] = {}

    def true_log(self, genome: Genome) -> float:
        """Returns the logarithm of a genome's true mean."""
        assert isinstance(genome.initial, int)
        return self._log(genome.initial, False) + sum(self._log(index, True) for index, _ in genome.mutations)

    def _log(self, index: int, is_mutation: bool) -> float:
        if (index, is_mutation) not in self._logs:
            kind, size = generator((index, is_mutation), Purpose.OFFSPRING).normal(size=2)
            value = np.log(100) + 0.5 * size
            if is_mutation:  # kinds: 40 % below -0.253, 10 % above 1.282
                value = 0.02 * size if kind < -0.253 else abs(size) * (0.15 if kind > 1.282 else -0.5)
            self._logs[index, is_mutation] = float(value)
        return self._logs[index, is_mutation]

    def play(self, episode: Episode) -> EpisodeResult:
        """Plays an episode."""
        steps = int(self._random.choice(self._steps))
        score = np.exp(self.true_log(episode.genome) + SIGMA * self._random.normal() - SIGMA**2 / 2)
        return EpisodeResult(float(score), steps, 4 * steps)


def made(kind: Callable, settings: GaSettings, seed: int) -> GeneticAlgorithm | AsynchronousGeneticAlgorithm:
    """Makes an algorithm for the pretended game."""
    noise = np.broadcast_to(np.float32(0), 2**40)  # of which only the length matters
    layout, protocol = SimpleNamespace(parameter_count=1), get_protocol("uber2018")
    return kind(settings, entropy=(seed, 1), layout=layout, noise=noise, protocol=protocol)


Found = tuple[list[tuple[float, float, int]], float]


def by_generations(settings: GaSettings, game: PretendedGame, *, workers: int, end: float, seed: int) -> Found:
    """Lets a search by generations play until the time is over.

    Args:
        settings: Its settings.
        game: The game.
        workers: Number of workers.
        end: The time, in steps of one worker.
        seed: Seed of the algorithm.

    Returns:
        Of each report the time, the logarithm of the true mean of the best so far, and the number of children; and the
        share of the time in which the workers were busy.
    """
    ga, now, busy, found = made(GeneticAlgorithm, settings, seed), 0.0, 0, []
    while True:
        results = [game.play(episode) for episode in ga.ask().episodes]
        free = [0.0] * min(workers, len(results))
        for result in results:  # each goes to the worker that is free first
            heapq.heapreplace(free, free[0] + result.steps)
        if now + max(free) > end:
            return found, busy / (workers * now) if now else float("nan")
        now += max(free)
        busy += sum(result.steps for result in results)
        if (report := ga.tell(results)) is not None:
            found.append((now, game.true_log(ga.best.genome), report["PopulationEpCount"]))


def without_waiting(settings: GaSettings, game: PretendedGame, *, workers: int, end: float, seed: int) -> Found:
    """The same for the asynchronous form, which has as many episodes in flight as there are workers."""
    ga = made(AsynchronousGeneticAlgorithm, replace(settings, episodes_in_flight=workers), seed)
    playing, begun, now, busy, found = [], 0, 0.0, 0, []
    while True:
        episodes = ga.draw()
        while begun in episodes:
            result = game.play(episodes[begun])
            heapq.heappush(playing, (now + result.steps, begun, result))
            begun += 1
        if playing[0][0] > end:
            unfinished = sum(now - (over - result.steps) for over, _, result in playing)
            return found, (busy + unfinished) / (workers * now)
        now, number, result = heapq.heappop(playing)
        busy += result.steps
        if (report := ga.arrive(number, result)) is not None:
            found.append((now, game.true_log(ga.best.genome), report["PopulationEpCount"]))


def simulate() -> None:
    """Compares the forms; writes a row per run and the curves of the elites."""
    rows, curves = [], []
    lengths = read_lengths()
    for workers, (seconds, replications) in SIZES.items():
        for game in GAMES:
            for name, settings in FORMS.items():
                for seed in range(replications):
                    world, end = PretendedGame(lengths[game], seed), seconds * STEPS_PER_SECOND
                    search = by_generations if settings.selection == "generations" else without_waiting
                    found, busy = search(settings, world, workers=workers, end=end, seed=seed)
                    facts = [game, workers, seconds, name, seed]
                    means = [float(np.exp(log)) for _, log, _ in found] or [float("nan")]
                    rows.append([*facts, len(found), sum(n for *_, n in found), f"{busy:.3f}", f"{means[-1]:.4g}"])
                    curves += [[*facts, f"{at / STEPS_PER_SECOND:.3f}", f"{np.exp(log):.4g}"] for at, log, _ in found]
                    print(*rows[-1], sep=", ", flush=True)
    write_rows("simulation.csv", COLUMNS, rows)
    write_rows("curves.csv", (*COLUMNS[:5], "seconds", "true_mean"), curves)


def read_lengths() -> dict[str, np.ndarray]:
    """Returns the lengths of each game's episodes in the second generation, in steps."""
    with (FOLDER / "lengths.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["generation"] == "2"]
    return {game: np.array([int(row["steps"]) for row in rows if row["game"] == game]) for game in GAMES}


# ---- a real pair

REAL = {
    "game": "frostbite",
    "model": "small",
    "population_size": 40,
    "selection_threshold": 5,
    "validation_threshold": 3,
    "num_validation_episodes": 5,
    "num_test_episodes": 5,
    "test_cutoff": 500,
    "episode_cutoff_mode": 500,
    "mutation_power": 0.005,
    "frames": 10**12,
    "action_set": "minimal",
}


def play_pair(seconds: int, pairs: int, threads: int) -> None:
    """Trains both forms at the same time, so that both have the same share of the machine, and lets their elites play.

    Adds rows to runs.csv.

    Args:
        seconds: Wall time from the first finished episode of both.
        pairs: Number of pairs.
        threads: Threads of each form.
    """
    table = FOLDER / "runs.csv"
    rows = list(csv.reader(table.open(newline="")))[1:] if table.exists() else []
    first = len(rows) // 2 + 1
    for run in range(first, first + pairs):
        with tempfile.TemporaryDirectory() as folder:
            runs = {form: Path(folder, form) for form in ("generations", "asynchronous")}
            trainings = [start_training(form, run, run_dir, threads) for form, run_dir in runs.items()]
            while not all((run_dir / "state" / "journal.jsonl").exists() for run_dir in runs.values()):
                if any(training.poll() is not None for training in trainings):
                    raise SystemExit("A training ended before its first episode did; see its message above.")
                time.sleep(0.1)
            time.sleep(seconds)
            for training in trainings:
                training.terminate()
            for training in trainings:
                training.wait()
            rows += [[run, form, seconds, threads, *outcome(run_dir, run)] for form, run_dir in runs.items()]
    header = ("run", "form", "seconds", "threads", "reports", "children", "frames", "reported", "true_mean", "error")
    write_rows("runs.csv", header, rows)


def start_training(form: str, run: int, run_dir: Path, threads: int) -> subprocess.Popen:
    """Starts a training in a process of its own."""
    names = {"game": REAL["game"], "model": REAL["model"], "run": run, "threads": threads, "run-dir": run_dir}
    words = [word for name, value in names.items() for word in (f"--{name}", str(value))]
    chosen = {name: value for name, value in REAL.items() if name not in names} | {"selection": form}
    settings = [word for name, value in chosen.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "neurozoo", "train", "--algo", "ga", *words, *settings]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


def outcome(run_dir: Path, seed: int) -> list:
    """Returns the number of reports, children and frames of a run, and the score of its elite: reported and true."""
    reports = read_log(run_dir / "state" / "log.jsonl")
    last = max(reports, key=lambda report: report["score"])
    played = score_genome(
        Genome.from_json(last["TruncatedPopulationEliteSeeds"]),
        game=REAL["game"],
        model=REAL["model"],
        protocol=protocol_of(REAL["game"], "uber2018", action_set=REAL["action_set"]),
        episodes=60,
        max_frames=4 * REAL["episode_cutoff_mode"],
        seed=seed,
        ops=OPS,
        noise=NOISE,
        threads=2,
    )
    scores = np.array([episode.score for episode in played])
    children = sum(report["PopulationEpCount"] for report in reports)
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    return [
        len(reports), children, reports[-1]["frames"], last["score"], f"{scores.mean():.1f}", f"{error:.1f}"
    ]  # fmt: skip


# ---- the figure


def show() -> None:
    """Prints the simulation's means, and draws the curves of the elites."""
    runs = pd.read_csv(FOLDER / "simulation.csv")
    runs["log"] = np.log(runs["true_mean"])
    groups = runs.groupby(["workers", "wall_seconds", "game", "form"], sort=False)
    table = groups.agg(n=("log", "size"), reports=("reports", "mean"), children=("children", "mean"),
                       busy=("busy", "mean"), true_mean=("log", lambda log: np.exp(log.mean())))  # fmt: skip
    print(table.round(3).to_string())
    curves = pd.read_csv(FOLDER / "curves.csv")
    order = {f"{workers:,} workers": None for workers in curves["workers"].unique()}
    curves["panel"] = pd.Categorical([f"{workers:,} workers" for workers in curves["workers"]], [*order], ordered=True)
    curves["title"] = curves["game"].str.title()
    curves["run"] = curves["form"] + curves["replication"].astype(str)
    curves["form"] = pd.Categorical(curves["form"], [*FORMS], ordered=True)
    figure = (
        p9.ggplot(curves, p9.aes("seconds", "true_mean", colour="form", group="run"))
        + p9.geom_step(size=0.6, alpha=0.8)
        + p9.facet_grid("title", "panel", scales="free_x")
        + p9.scale_y_log10()
        + p9.scale_colour_manual(values=["#0072B2", "#56B4E9", "#D55E00"])
        + p9.labs(
            title="A search that never waits, at equal wall time",
            subtitle="Simulation with episode lengths of two games: one line per run, the true mean of its best so far",
            x="Wall time in seconds, at 9,000 frames/s per worker",
            y="True mean (made up)",
            colour="",
        )
        + figure_theme((9.0, 5.2), has_legend=True)
    )
    save_figure(figure, [FOLDER / "asynchronous.png"])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["lengths", "simulate", "play", "show"])
    parser.add_argument("--seconds", type=int, default=90, help="wall time of each real pair (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=1, help="number of real pairs (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each real run (default: %(default)s)")
    options = parser.parse_args()
    if options.command == "lengths":
        measure_lengths(options.threads)
    elif options.command == "simulate":
        simulate()
    elif options.command == "play":
        play_pair(options.seconds, options.pairs, options.threads)
    else:
        show()


if __name__ == "__main__":
    main()
