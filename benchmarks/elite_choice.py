"""How good is the elite that a rule chooses from one real population? Sticky actions, resampled episodes.

    PYTHONPATH=workflow/lib python benchmarks/elite_choice.py play --threads 2
    PYTHONPATH=workflow/lib python benchmarks/elite_choice.py show

`play` makes a second generation in each game (60 children of the best 10 of 60 random networks), lets each child play
24 episodes, and writes all scores. `show` takes these scores as the truth: an episode is one of the 24, drawn with
replacement. The library's rules choose elites from these 60 for three generations, thousands of times.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from neurozoo.algorithms.neuroevolution.elites import ELITE_RULES, Elite, Individual
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.environments.layouts import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.evaluation import Episode, EpisodeResult, native
from neurozoo.genomes.genome import Genome
from neurozoo.genomes.noise_table import open_noise_table

FOLDER = Path("docs/results/racing")
GAMES = ("asterix", "assault")
POPULATION, PARENTS, EPISODES, CUTOFF, POWER = 60, 10, 24, 250, 0.01
GENERATIONS = 3


def play(*, threads: int, ops: Path, noise: Path) -> None:
    """Plays the population of each game."""
    rows = []
    for game in GAMES:
        random = np.random.default_rng(7)
        protocol = protocol_of(game, name="machado2018", action_set="minimal")
        layout = layout_of(game, "small", protocol)
        indices = len(open_noise_table(noise)) - layout.parameter_count + 1
        engine = {"ops": ops, "noise": noise, "layout": layout, "game": game, "protocol": protocol, "threads": threads}
        with native.NativeEvaluator(**engine) as evaluator:

            def scores(genomes: list[Genome], episodes: int, evaluator=evaluator, random=random) -> np.ndarray:
                every = [
                    Episode(genome, 0, int(random.integers(2**31)), 4 * CUTOFF)
                    for genome in genomes
                    for _ in range(episodes)
                ]
                evaluator.submit(dict(enumerate(every)))
                results: dict[int, EpisodeResult] = {}
                while len(results) < len(every):
                    results |= evaluator.receive(timeout=1.0)
                return np.array([results[n].score for n in range(len(every))]).reshape(len(genomes), episodes)

            first = [Genome(int(index)) for index in random.integers(indices, size=POPULATION)]
            best = np.argsort(-scores(first, 1)[:, 0], kind="stable")[:PARENTS]
            parents = [first[place] for place in best]
            evaluator.pin(parents)
            children = [
                parents[random.integers(PARENTS)].mutated(int(random.integers(indices)), POWER)
                for _ in range(POPULATION)
            ]
            for individual, of_one in enumerate(scores(children, EPISODES)):
                rows += [(game, individual, episode, score) for episode, score in enumerate(of_one)]
    FOLDER.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(rows, columns=["game", "individual", "episode", "score"])
    table.to_csv(FOLDER / "population.csv", index=False, lineterminator="\n")


def choose(rule: str, episodes: np.ndarray, settings: GaSettings, random: np.random.Generator) -> list[tuple]:
    """Returns the elite's true mean and its reported score in each generation."""
    count, drawn = episodes.shape
    truth = episodes.mean(axis=1)
    elite: Elite | None = None
    found = []
    for generation in range(1, GENERATIONS + 1):
        fitness = episodes[np.arange(count), random.integers(drawn, size=count)]
        order = np.argsort(-fitness, kind="stable")
        ranked = [Individual(Genome(0), (generation, int(place)), None, float(fitness[place])) for place in order]
        contest = ELITE_RULES[rule](ranked, elite, settings)
        while asked := contest.ask():
            contest.tell(
                [
                    EpisodeResult(float(score), CUTOFF, 4 * CUTOFF)
                    for player in asked.players
                    for score in random.choice(episodes[player.birth[1]], len(asked.repeats))
                ]
            )
        elite = contest.elite
        found.append((truth[elite.individual.birth[1]], elite.score))
    return found


def show(replications: int) -> None:
    """Compares the rules."""
    table = pd.read_csv(FOLDER / "population.csv")
    rows = []
    for game, of_game in table.groupby("game"):
        episodes = of_game.pivot(index="individual", columns="episode", values="score").to_numpy()
        for rule in ELITE_RULES:
            settings = GaSettings(
                population_size=POPULATION,
                selection_threshold=PARENTS,
                validation_threshold=5,
                num_validation_episodes=10,
                elite_rule=rule,
            )
            random = np.random.default_rng(0)
            found = np.array([choose(rule, episodes, settings, random) for _ in range(replications)])
            for generation in (1, GENERATIONS):
                truth, score = found[:, generation - 1].T
                error = 1.96 * truth.std(ddof=1) / np.sqrt(replications)
                rows.append(
                    {
                        "game": game,
                        "rule": rule,
                        "generation": generation,
                        "best_individual": episodes.mean(axis=1).max(),
                        "noise_of_an_episode": episodes.std(axis=1, ddof=1).mean(),
                        "true_mean": truth.mean(),
                        "low": truth.mean() - error,
                        "high": truth.mean() + error,
                        "reported": score.mean(),
                    }
                )
    summary = pd.DataFrame(rows)
    summary.to_csv(FOLDER / "choice.csv", index=False, float_format="%.4g", lineterminator="\n")
    print(summary.to_string())


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["play", "show"])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ops", type=Path, default=Path("results/native/libneurozoo_ops.so"))
    parser.add_argument("--noise", type=Path, default=Path("results/noise/table.f32"))
    arguments = parser.parse_args()
    if arguments.command == "play":
        play(threads=arguments.threads, ops=arguments.ops, noise=arguments.noise)
    else:
        show(arguments.replications)


if __name__ == "__main__":
    main()
