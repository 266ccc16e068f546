"""Measures evaluations of mazes in the op, and compares them with the floor: the network's multiply-adds at peak.

    python benchmarks/mazes.py                       1,000 random mazes, the wall follower
    python benchmarks/mazes.py --agent random        random weights: nearly every episode has the full 648 steps
    python benchmarks/mazes.py --agent FILE.npz      a trained agent
    python benchmarks/mazes.py --walls 0.3 --levels 100 --threads 2

An evaluation is 50 episodes of ten copies, as published. The floor is that of the network as it is written down,
427,044 multiply-adds per step without the critic; the op computes what depends on the pose alone once per pose, so it
may be faster. Processor times are shown beside wall times, because other load disturbs them least.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "workflow" / "lib"))

from neurozoo.benchmark.machine_peak import measure_peak
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.environments.mazes.recurrent_agent import MULTIPLY_ADDS, RecurrentAgent


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", default="wall_follower", help="wall_follower, random, or a file (.npz)")
    parser.add_argument("--levels", type=int, default=1000)
    parser.add_argument("--walls", type=float, default=0.5, help="probability of a wall (default: 0.5)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ops", type=Path, default=Path("results/native/libneurozoo_ops.so"))
    given = parser.parse_args()
    rng, domain = np.random.default_rng(0), get_level_domain("maze")
    levels = (rng.random((given.levels, 16, 16)) < given.walls).astype(np.uint8)
    peak = measure_peak(threads=[1], ops=given.ops)["multiply_adds_per_second"]
    with tempfile.TemporaryDirectory() as folder:
        agent = given.agent
        if agent == "random":
            agent = f"{folder}/random.npz"
            RecurrentAgent.draw(rng).write(agent)
        play = Play(agent=agent, ops=given.ops, threads=given.threads)
        domain.evaluate(levels[:2], play, [np.random.default_rng(n) for n in range(2)])  # loads the op
        wall, processor = time.perf_counter(), time.process_time()
        found = domain.evaluate(levels, play, [np.random.default_rng(n) for n in range(given.levels)])
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    solvable = found.objectives > 0
    steps = float(found.occupancy[solvable].sum() * play.num_episodes)
    print(f"{given.levels:,} levels x {play.num_episodes} episodes, {given.threads} threads: {wall:.2f} s by the clock")
    print(f"processor time {processor:.2f} s: {1e6 * processor / steps:.2f} us per step")
    print(f"{steps / given.levels:,.0f} steps per level; {found.values['solved'][solvable].mean():.3f} solved")
    if given.agent != "wall_follower":
        floor = steps * MULTIPLY_ADDS / peak
        print(f"floor: {floor:.2f} s of one core at its peak of {peak / 1e9:.1f} billion multiply-adds per second")
        print(f"processor time / floor: {processor / floor:.2f}")


if __name__ == "__main__":
    main()
