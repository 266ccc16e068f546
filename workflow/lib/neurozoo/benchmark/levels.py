"""Speed of searches through levels: agents in mazes, beside their floor, the agent of the platform game, the surrogate.

    python -m neurozoo.benchmark.levels mazes                    1,000 random mazes, the wall follower
    python -m neurozoo.benchmark.levels mazes --agent random     nearly every episode has the full 648 steps
    python -m neurozoo.benchmark.levels mazes --agent FILE.npz   a trained agent
    python -m neurozoo.benchmark.levels platformer               levels that can be won, and levels that cannot
    python -m neurozoo.benchmark.levels surrogate                what predicts mazes, in Keras and in the core, in turn

An evaluation in a maze is 50 episodes of ten copies, as published. The floor is that of the network as it is written
down; the core computes what depends on the pose alone once per pose,
so it may be faster. Platform levels are those of the seeded corpus, with five budgets from 350 to 550 each, as in
searches. Processor times of all threads are shown beside wall times, because other load disturbs them least.
"""

import argparse
import functools
import tempfile
from pathlib import Path

import numpy as np

from neurozoo.algorithms.compiled import keep_to_threads
from neurozoo.algorithms.quality_diversity.settings import DsageSettings
from neurozoo.benchmark.learning_floor import timed
from neurozoo.benchmark.machine_peak import measure_peak
from neurozoo.environments.level_domains import Play, get_level_domain
from neurozoo.environments.mazes.recurrent_agent import layout
from neurozoo.environments.platformer.corpus import draw_corpus
from neurozoo.environments.platformer.simulator import play
from neurozoo.environments.platformer.tiles import to_characters
from neurozoo.native import CORE
from neurozoo.native.processor import processor_flags

RUNS = 5  # of a platform level, as published
ROUNDS = 20  # of all surrogates; the fastest count
MULTIPLY_ADDS = 427_044  # of a step in a maze with seven actions, without the critic


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("levels", choices=("mazes", "platformer", "surrogate"))
    parser.add_argument("--agent", default="wall_follower", help="of mazes: wall_follower, random, or a file (.npz)")
    parser.add_argument("--walls", type=float, default=0.5, help="of mazes: probability of a wall (default: 0.5)")
    parser.add_argument(
        "--count", type=int, help="levels (default: 1000 mazes, 200 platform levels of each kind, 150 to predict)"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--core", type=Path, default=CORE)
    options = parser.parse_args()
    if options.levels == "mazes":
        _mazes(options.agent, options.count or 1000, options.walls, threads=options.threads, core=options.core)
    elif options.levels == "surrogate":
        _surrogate(options.count or 150, threads=options.threads, core=options.core)
    else:
        _platformer(options.count or 200, threads=options.threads)


def _mazes(agent: str, count: int, walls: float, *, threads: int, core: Path) -> None:
    rng, domain = np.random.default_rng(0), get_level_domain("maze")
    levels = (rng.random((count, 16, 16)) < walls).astype(np.uint8)
    peak = measure_peak(threads=[1], core=core)["multiply_adds_per_second"]
    with tempfile.TemporaryDirectory() as folder:
        if is_network := agent != "wall_follower":
            file = f"{folder}/random.npz" if agent == "random" else agent
            if agent == "random":
                np.savez(file, allow_pickle=False, **layout().split(layout().draw(rng, "orthogonal")))
        given = Play(agent=file if is_network else agent, core=core, threads=threads)
        domain.evaluate(levels[:2], given, [np.random.default_rng(n) for n in range(2)])  # loads the core
        seeds = [np.random.default_rng(n) for n in range(count)]
        found, wall, processor = timed(lambda: domain.evaluate(levels, given, seeds))
    solvable = found.objectives > 0
    steps = float(found.occupancy[solvable].sum() * given.num_episodes)
    print(f"{count:,} levels x {given.num_episodes} episodes, {threads} threads: {wall:.2f} s by the clock")
    print(f"processor time {processor:.2f} s: {1e6 * processor / steps:.2f} us per step")
    print(f"{steps / count:,.0f} steps per level; {found.values['solved'][solvable].mean():.3f} solved")
    if is_network:
        floor = steps * MULTIPLY_ADDS / peak
        print(f"floor: {floor:.2f} s of one core at its peak of {peak / 1e9:.1f} billion multiply-adds per second")
        print(f"processor time / floor: {processor / floor:.2f}")


def _platformer(count: int, *, threads: int) -> None:
    rng = np.random.default_rng(0)
    corpus = draw_corpus(0, count=2 * count, hopeless=0.5, threads=threads)
    for name, is_meant in (("can be won", corpus.is_won), ("cannot", ~corpus.is_won)):
        levels = to_characters(corpus.levels[is_meant])
        budgets = rng.integers(350, 551, (len(levels), RUNS))
        games, wall, processor = timed(functools.partial(play, levels, budgets, threads=threads))
        print(
            f"levels that {name}: {len(levels) / wall:,.1f} per second with {threads} threads; processor time "
            f"{1e3 * processor / len(levels):.0f} ms for {RUNS} runs, {1e6 * processor / games.nodes.sum():.2f} us for "
            "a node (a copied state and at least one tick)"
        )


def _surrogate(count: int, *, threads: int, core: Path) -> None:
    keep_to_threads(threads)
    from neurozoo.algorithms.quality_diversity.native_surrogate import SurrogateEnsemble

    domain, rng = get_level_domain("maze"), np.random.default_rng(0)
    levels = rng.integers(2, size=(count, *domain.shape)).astype(np.uint8)
    batch = levels[:64], rng.random((len(levels[:64]), 3), np.float32), rng.random(levels[:64].shape, np.float32)
    kinds: dict[str, tuple[Path | None, DsageSettings]] = {
        "Keras": (None, DsageSettings()),
        "the core": (core, DsageSettings()),
    }
    if "avx512_bf16" in processor_flags():
        kinds["the core, bfloat16"] = (core, DsageSettings(dtype="mixed_bfloat16"))
    surrogates = {
        name: SurrogateEnsemble(domain, settings, predicts_occupancy=True, rng=rng, core=own, threads=threads)
        for name, (own, settings) in kinds.items()
    }
    best: dict[str, np.ndarray] = {}
    for number in range(ROUNDS + 1):
        for name, surrogate in surrogates.items():
            predict = functools.partial(surrogate.predict, levels)
            update = functools.partial(surrogate.train_epoch, *batch, rng)
            times = np.array([timed(run)[1:] for run in (predict, update)])
            if number:  # the first compiles
                best[name] = np.minimum(best.get(name, np.inf), times)
    for name, ((wall, processor), (update_wall, update_processor)) in best.items():
        print(
            f"{name}: {count / wall:,.0f} predictions per second with {threads} threads, {count / processor:,.0f} per "
            f"second of processor time; an update of {len(batch[0])} takes {1e3 * update_wall:.0f} ms, "
            f"{1e3 * update_processor:.0f} of processor time"
        )


if __name__ == "__main__":
    main()
