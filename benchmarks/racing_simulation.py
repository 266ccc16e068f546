"""How good are the elites that the rules choose if the true scores are known? A genetic algorithm without games.

    PYTHONPATH=workflow/lib python benchmarks/racing_simulation.py --replications 100

An individual is its true mean score. A mutation multiplies it by a factor: 40 % of the mutations change almost nothing,
50 % make it worse, 10 % make it better. An episode's score is the true mean times noise. An episode has as many frames
as points, because good players play long. The elite rules come from the library; this file simulates the rest of the
algorithm. Replications with the same number share their seed. Writes docs/results/racing/simulation.csv.
"""

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from neurozoo.algorithms.neuroevolution.elites import ELITE_RULES, Elite, Individual
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.evaluation import EpisodeResult
from neurozoo.genomes.genome import KEEPS_BEST_ELITE, Genome

OUTPUT = Path("docs/results/racing/simulation.csv")
GENERATIONS = 25
SIZES = {  # the published size, and the size of the experiment with games
    "1000, 10 x 30": {"population_size": 1000, "selection_threshold": 20, "validation_threshold": 10,
                      "num_validation_episodes": 30},
    "60, 5 x 10": {"population_size": 60, "selection_threshold": 10, "validation_threshold": 5,
                   "num_validation_episodes": 10},
}  # fmt: skip
RANKED = 200  # best individuals of the population, from which the rules and the parents are taken


def mild(random: np.random.Generator, size: int) -> np.ndarray:
    """Noise of 30 %."""
    return np.exp(random.normal(-0.045, 0.3, size))


def heavy(random: np.random.Generator, size: int) -> np.ndarray:
    """Noise with a heavy tail: log-normal with sigma 0.7."""
    return np.exp(random.normal(-0.245, 0.7, size))


def lucky(random: np.random.Generator, size: int) -> np.ndarray:
    """One episode in twenty has five times the usual score."""
    return np.where(random.random(size) < 0.05, 5.0, 0.75 / 0.95) * np.exp(random.normal(-0.02, 0.2, size))


Noise = Callable[[np.random.Generator, int], np.ndarray]


def mutated(means: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Returns the true means of the children, one per parent."""
    kind, size = random.random(len(means)), random.normal(size=len(means))
    factor = np.where(
        kind < 0.4, 1 + 0.02 * size, np.where(kind < 0.9, np.exp(-0.5 * np.abs(size)), np.exp(0.15 * np.abs(size)))
    )
    return means * factor


@dataclass
class Outcome:
    """The outcome of one run.

    Attributes:
        first: True mean of the elite of generation 1.
        result: True mean of the final elite.
        reported: Reported score of the final elite.
        episodes: Most validation episodes in a generation.
        frames: Frames of validation, as a share of the frames that the published rule is expected to need.
        stay: Most generations in a row with the same elite.
    """

    first: float
    result: float
    reported: float
    episodes: int
    frames: float
    stay: int


def simulate(rule: str, settings: GaSettings, noise: Noise, seed: int) -> Outcome:
    """Runs one genetic algorithm."""
    random = np.random.default_rng(seed)
    elite: Elite | None = None
    truth: dict[tuple[int, int], float] = {}  # true means of the elite and this generation's individuals
    parents = np.empty(0)
    best, best_score, first, most, shares = 0.0, -np.inf, 0.0, 0, []
    longest = stay = 0
    for generation in range(1, GENERATIONS + 1):
        if generation == 1:
            means = 100 * np.exp(random.normal(0, 0.5, settings.population_size))
        else:
            means = mutated(parents[random.integers(len(parents), size=settings.population_size)], random)
        fitness = means * noise(random, len(means))
        order = np.argsort(-fitness, kind="stable")[:RANKED]
        ranked = [Individual(Genome(0), (generation, int(place)), None, float(fitness[place])) for place in order]
        truth |= {individual.birth: float(means[individual.birth[1]]) for individual in ranked}
        contest = ELITE_RULES[rule](ranked, elite, settings)
        spent = episodes = 0
        while asked := contest.ask():
            played = [
                EpisodeResult(float(score), 1, max(1, round(float(score))))
                for player in asked.players
                for score in truth[player.birth] * noise(random, len(asked.repeats))
            ]
            spent += sum(result.frames for result in played)
            episodes += len(played)
            contest.tell(played)
        others = ranked[: settings.validation_threshold - (elite is not None)]
        published = [*([elite.individual] if elite else []), *others]
        shares.append(spent / settings.num_validation_episodes / sum(truth[p.birth] for p in published))
        most = max(most, episodes)
        stay = stay + 1 if elite and contest.elite.individual.birth == elite.individual.birth else 1
        longest, elite = max(longest, stay), contest.elite
        selected = list(contest.ranked[: settings.selection_threshold])
        if elite.individual not in selected:
            selected = [elite.individual, *selected[:-1]]
        parents = np.array([truth[individual.birth] for individual in selected])
        if rule not in KEEPS_BEST_ELITE or elite.score > best_score:
            best, best_score = truth[elite.individual.birth], elite.score
        first = first or best
        truth = {elite.individual.birth: truth[elite.individual.birth]}
    return Outcome(first, best, best_score, most, float(np.mean(shares)), longest)


def interval(values: np.ndarray, random: np.random.Generator) -> tuple[float, float]:
    """Returns the 95 % bootstrap interval of a mean."""
    means = values[random.integers(len(values), size=(2000, len(values)))].mean(axis=1)
    return tuple(np.quantile(means, [0.025, 0.975]))


def main() -> None:
    """Compares the rules with the published rule of 2018."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=100)
    replications = parser.parse_args().replications
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    with OUTPUT.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(
            ["size", "noise", "rule", "replications", "first_elite", "result", "result_to_validated", "low", "high",
             "reported_to_true", "most_episodes", "frames_to_published", "longest_stay"]
        )  # fmt: skip
        for size, values in SIZES.items():
            for noise in (mild, heavy, lucky):
                base = None
                for rule in ("validated", "racing", "carried"):
                    settings = GaSettings(**values, elite_rule=rule)
                    outcomes = [simulate(rule, settings, noise, seed) for seed in range(replications)]
                    results = np.array([outcome.result for outcome in outcomes])
                    base = results if base is None else base
                    ratio = np.log(results / base)  # growth is exponential, so ratios weigh replications equally
                    low, high = interval(ratio, np.random.default_rng(0))
                    numbers = [
                        np.mean([outcome.first for outcome in outcomes]),
                        np.exp(np.log(results).mean()),
                        *np.exp([ratio.mean(), low, high]),
                        np.exp(np.mean([np.log(outcome.reported / outcome.result) for outcome in outcomes])),
                    ]
                    row = [size, noise.__name__, rule, replications, *(f"{number:.4g}" for number in numbers)]
                    row += [max(o.episodes for o in outcomes), f"{np.mean([o.frames for o in outcomes]):.3f}"]
                    row.append(f"{np.mean([o.stay for o in outcomes]):.1f}")
                    writer.writerow(row)
                    file.flush()
                    print(*row, sep=", ")


if __name__ == "__main__":
    main()
