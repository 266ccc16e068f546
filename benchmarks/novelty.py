"""Compares two ways to find the nearest neighbours of positions: a tree, and a table of all distances.

    python benchmarks/novelty.py
    python benchmarks/novelty.py --population 2000

`spread` positions are drawn uniformly; of those that are `stuck`, 40 % are equal, as with robots that never moved.
Processor times are shown, because other load disturbs them least. Both ways give the same bits.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from neurozoo.algorithms.neuroevolution import novelty as module

SIDE = 200  # of the maze
NEAREST = 25
TREE = module.MOST_AXES


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--population", type=int, default=20_000)
    parser.add_argument("--archive", type=int, default=5_000)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    archive = list(rng.uniform(0, SIDE, (given.archive, 1, 2)).astype(np.float32))
    for kind in ("spread", "stuck"):
        points = rng.uniform(0, SIDE, (given.population, 2)).astype(np.float32)
        if kind == "stuck":
            points[: given.population * 2 // 5] = points[0]
        population, found, seconds = list(points[:, None]), [], []
        for module.MOST_AXES in (TREE, 0):  # 0: no tree
            began = time.process_time()
            found.append(module.novelty(population, archive, nearest=NEAREST, among_themselves=True))
            seconds.append(time.process_time() - began)
        assert np.array_equal(*found)
        print(f"{kind}: tree {seconds[0]:.2f} s, table {seconds[1]:.2f} s, ratio {seconds[1] / seconds[0]:.0f}")


if __name__ == "__main__":
    main()
