"""How far do networks in the hard maze get that mutate, but that nothing selects? The null of novelty search there.

    python benchmarks/maze_drift.py             some minutes on one core; docs/results/maze_drift/drift.csv

Random search draws first networks, whose last layer has small weights, so it is a weak null: mutations make weights
larger, too. Here each network has a number of random mutations with the power of `config/book/hard_maze_small.yaml`, as
many as an elite of that claim has after so many generations.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from neurozoo.environments.layouts import layout_of
from neurozoo.environments.protocols import protocol_of
from neurozoo.evaluation import Episode, make_evaluator
from neurozoo.genomes.genome import Genome, Mutation
from neurozoo.genomes.noise_table import open_noise_table

OUTPUT = Path("docs/results/maze_drift/drift.csv")
NOISE, OPS = Path("results/noise/table.f32"), Path("results/native/libneurozoo_ops.so")
GAME, MODEL, POWER, STEPS = "hard_maze", "simple", 0.05, 400
MUTATIONS = (0, 5, 20, 50, 100, 200)
NETWORKS, BATCH = 30_000, 1000  # of each number of mutations, and at once
DEAD_END, SOLVED = -45.0, -5.0  # scores; the dead end is 39 units from the goal


def final_scores(mutations: int) -> np.ndarray:
    """Returns minus the distance to the goal of random networks with a number of mutations; shape (NETWORKS,)."""
    protocol = protocol_of(GAME)
    layout = layout_of(GAME, MODEL, protocol)
    most = len(open_noise_table(NOISE, verify=False)) - layout.parameter_count
    rng = np.random.default_rng(mutations)
    scores: list[float] = []
    with make_evaluator(game=GAME, layout=layout, protocol=protocol, ops=OPS, noise=NOISE, threads=1) as evaluator:
        while len(scores) < NETWORKS:
            genomes = [
                Genome(int(first), tuple(Mutation(int(index), POWER) for index in rng.integers(most, size=mutations)))
                for first in rng.integers(most, size=BATCH)
            ]
            evaluator.pin(genomes)
            evaluator.submit({number: Episode(genome, 0, 0, STEPS) for number, genome in enumerate(genomes)})
            found: dict = {}
            while len(found) < BATCH:
                found |= evaluator.receive(timeout=1.0)
            scores += [result.score for result in found.values()]
    return np.array(scores)


def main() -> None:
    """Measures, prints and writes the table."""
    rows = []
    for mutations in MUTATIONS:
        scores = final_scores(mutations)
        in_dead_end, solved = float((scores > DEAD_END).mean()), int((scores > SOLVED).sum())
        rows.append((mutations, len(scores), scores.max(), in_dead_end, solved))
        print(*rows[-1], flush=True)
    head = ("mutations", "networks", "best_score", "share_in_dead_end_or_beyond", "solved")
    pd.DataFrame(rows, columns=head).round(4).to_csv(OUTPUT, index=False)


if __name__ == "__main__":
    main()
