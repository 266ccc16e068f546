"""Which rule chooses the better elite, the published validation or racing? Short paired runs with sticky actions.

    PYTHONPATH=workflow/lib python benchmarks/elite_rules.py play --threads 2 --runs 6
    PYTHONPATH=workflow/lib python benchmarks/elite_rules.py show

`play` trains pairs of runs that differ only in the rule, lets each elite play new episodes, and adds a row to runs.csv.
Runs that already have a row are skipped. `show` makes summary.csv and its figure from the complete pairs. All files are
in docs/results/racing/.
"""

import argparse
import csv
import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import plotnine as p9
from neurozoo.agents.scoring import score_genome
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.environments.protocols import protocol_of
from neurozoo.figures.style import figure_theme, save_figure
from neurozoo.genomes.genome import read_genome
from neurozoo.training import make_context, train

FOLDER = Path("docs/results/racing")
GAMES = ("asterix", "assault")
RULES = ("validated", "racing")
CUTOFF = 250  # steps, in training and in the new episodes
SETTINGS = {
    "population_size": 60,
    "selection_threshold": 10,
    "validation_threshold": 5,
    "num_validation_episodes": 10,
    "num_test_episodes": 1,
    "mutation_power": 0.01,
    "episode_cutoff_mode": CUTOFF,
    "frames": 400_000,
    "protocol": "machado2018",
    "action_set": "minimal",
}
COLUMNS = (
    "game", "seed", "rule", "generations", "frames", "validation_episodes", "validation_steps", "reported_score",
    "episodes", "true_mean", "standard_error",
)  # fmt: skip


def play(*, runs: int, episodes: int, threads: int, ops: Path, noise: Path) -> None:
    """Plays all pairs, seed by seed."""
    table = FOLDER / "runs.csv"
    table.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if table.exists():
        done = {(row["game"], int(row["seed"]), row["rule"]) for row in csv.DictReader(table.open())}
    else:
        table.write_text(",".join(COLUMNS) + "\n")
    for seed in range(1, runs + 1):
        for game in GAMES:
            for rule in RULES:
                if (game, seed, rule) not in done:
                    row = play_one(game, seed, rule, episodes=episodes, threads=threads, ops=ops, noise=noise)
                    with table.open("a", newline="") as file:
                        csv.writer(file, lineterminator="\n").writerow([row[name] for name in COLUMNS])


def play_one(game: str, seed: int, rule: str, *, episodes: int, threads: int, ops: Path, noise: Path) -> dict:
    """Trains one run, and lets its elite play new episodes."""
    where = {"ops": ops, "noise": noise, "threads": threads}
    settings = vars(resolve_settings("ga", preset="uber2018", overrides={**SETTINGS, "elite_rule": rule, "seed": seed}))
    with tempfile.TemporaryDirectory() as folder:
        names = {"algo": "ga", "game": game, "model": "small", "run": 1}
        train(make_context(**names, settings=settings, run_dir=folder, **where), terminal="lines")
        reports = [json.loads(line) for line in (Path(folder) / "log.jsonl").read_text().splitlines()]
        genome = read_genome(Path(folder) / "genome.json").genome
        reported = json.loads((Path(folder) / "genome.json").read_text())["validation_score"]
    played = score_genome(
        genome,
        game=game,
        model="small",
        protocol=protocol_of(game, name=SETTINGS["protocol"], action_set=SETTINGS["action_set"]),
        episodes=episodes,
        max_frames=4 * CUTOFF,
        seed=seed,
        **where,
    )
    scores = np.array([episode.score for episode in played])
    return {
        "game": game,
        "seed": seed,
        "rule": rule,
        "generations": len(reports),
        "frames": reports[-1]["frames"],
        "validation_episodes": SETTINGS["validation_threshold"] * SETTINGS["num_validation_episodes"],
        "validation_steps": reports[-1]["ValidationTimestepsSoFar"],
        "reported_score": reported,
        "episodes": episodes,
        "true_mean": scores.mean(),
        "standard_error": scores.std(ddof=1) / np.sqrt(episodes),
    }


def show() -> None:
    """Compares the pairs."""
    runs = pd.read_csv(FOLDER / "runs.csv")
    runs["bias"] = runs["reported_score"] / runs["true_mean"] - 1
    runs["validation_steps_per_generation"] = runs["validation_steps"] / runs["generations"]
    pairs = runs.pivot(index=["game", "seed"], columns="rule").dropna()
    random = np.random.default_rng(0)
    rows = []
    differences = {}
    for game, of_game in pairs.groupby("game"):
        true = of_game["true_mean"]
        differences[game] = ((true["racing"] - true["validated"]) / true["validated"].mean()).to_numpy()
    for game in (*differences, "both"):
        chosen = list(differences.values()) if game == "both" else [differences[game]]
        resampled = [d[random.integers(len(d), size=(50_000, len(d)))].mean(axis=1) for d in chosen]
        low, high = np.quantile(np.mean(resampled, axis=0), [0.025, 0.975])
        part = pairs if game == "both" else pairs.loc[[game]]
        row = {"game": game, "pairs": len(part)}
        for rule in RULES:
            if game != "both":
                row[f"true_mean_{rule}"] = part["true_mean"][rule].mean()
            row[f"reported_too_high_{rule}"] = part["bias"][rule].mean()
        row["relative_difference"] = np.mean([d.mean() for d in chosen])
        row |= {"low": low, "high": high}
        steps = part["validation_steps_per_generation"].mean()
        rows.append(row | {"validation_frames_racing_to_validated": steps["racing"] / steps["validated"]})
    summary = pd.DataFrame(rows)
    summary.to_csv(FOLDER / "summary.csv", index=False, float_format="%.4g", lineterminator="\n")
    print(summary.T.to_string())
    _draw(pairs["true_mean"].stack(future_stack=True).rename("true_mean").reset_index(), rows[-1])


def _draw(runs: pd.DataFrame, both: dict) -> None:
    runs = runs.assign(
        rule=pd.Categorical(runs["rule"], RULES, ordered=True), panel=runs["game"].str.replace("_", " ").str.title()
    )
    figure = (
        p9.ggplot(runs, p9.aes("rule", "true_mean"))
        + p9.geom_line(p9.aes(group="seed"), colour="#BDBDBD", size=0.5)
        + p9.geom_point(p9.aes(colour="rule"), size=2.2)
        + p9.stat_summary(fun_y=np.mean, geom="point", shape="_", size=9, stroke=1.2)
        + p9.facet_wrap("panel", scales="free_y")
        + p9.expand_limits(y=0)
        + p9.scale_colour_manual(values=["#0072B2", "#D55E00"])
        + p9.labs(
            title="The final elite under both rules",
            subtitle=(
                "Points: mean of new episodes of one run's elite; lines join runs of equal seed; bars: means.\n"
                f"Difference relative to the validated rule, both games: {both['relative_difference']:+.0%} "
                f"(95 % bootstrap interval {both['low']:+.0%} to {both['high']:+.0%}, {both['pairs']} pairs)."
            ),
            x="",
            y="True mean score",
        )
        + figure_theme((7.4, 4.2), has_legend=False)
    )
    save_figure(figure, [FOLDER / f"racing.{format}" for format in ("png", "svg")])


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["play", "show"])
    parser.add_argument("--runs", type=int, default=6, help="pairs per game")
    parser.add_argument("--episodes", type=int, default=200, help="new episodes of each elite")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ops", type=Path, default=Path("results/native/libneurozoo_ops.so"))
    parser.add_argument("--noise", type=Path, default=Path("results/noise/table.f32"))
    arguments = vars(parser.parse_args())
    if arguments.pop("command") == "play":
        play(**arguments)
    else:
        show()


if __name__ == "__main__":
    main()
