"""Measures the platform game and its agent in levels that can be won, and in levels that cannot.

    python benchmarks/platformer.py
    python benchmarks/platformer.py --levels 200 --threads 1

Levels are those of the seeded corpus; every level is played with five budgets from 350 to 550, as in searches.
Processor times (user and system, all threads) are shown beside wall times, because other load disturbs them least.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from neurozoo.environments.platformer.corpus import draw_corpus
from neurozoo.environments.platformer.simulator import play
from neurozoo.environments.platformer.tiles import to_characters

RUNS = 5  # of a level, as published


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--levels", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    corpus = draw_corpus(0, count=2 * given.levels, hopeless=0.5, threads=given.threads)
    for name, is_meant in (("can be won", corpus.is_won), ("cannot", ~corpus.is_won)):
        levels = to_characters(corpus.levels[is_meant])
        budgets = rng.integers(350, 551, (len(levels), RUNS))
        wall, processor = time.perf_counter(), time.process_time()
        games = play(levels, budgets, threads=given.threads)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        print(
            f"levels that {name}: {len(levels) / wall:,.1f} per second with {given.threads} threads; processor time "
            f"{1e3 * processor / len(levels):.0f} ms for {RUNS} runs, {1e6 * processor / games.nodes.sum():.2f} us for "
            "a node (a copied state and at least one tick)"
        )


if __name__ == "__main__":
    main()
