"""Which share of random mazes an agent solves, by the probability of a wall: what a trained agent is accepted by.

Source: section 13.1 of the description of DSAGE.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from neurozoo.environments.episode_seeds import draw_seed
from neurozoo.environments.level_domains import Play, check_agent
from neurozoo.environments.mazes.agents import make_agent
from neurozoo.environments.mazes.domain import MazeDomain
from neurozoo.environments.mazes.endpoints import SIDE
from neurozoo.environments.protocols import get_protocol
from neurozoo.errors import NeurozooError
from neurozoo.randomness import Purpose, generator
from neurozoo.records.statistics import bootstrap_intervals, mean_over_games

WALLS = (0.1, 0.2, 0.3, 0.4, 0.5)  # probabilities of a wall
WANTED = (0.95, 0.85, 0.85, 0.85, 0.95)  # solved rates that an agent should reach there
REPLICATIONS = 10_000  # of the bootstrap


@dataclass(frozen=True)
class MazeScore:
    """How an agent does in random mazes with one probability of a wall."""

    walls: float  # the probability
    mazes: int  # number of mazes
    optimal_length: float  # mean length of the shortest way, in cells
    solved: float  # mean share of solved episodes
    solved_low: float  # lower end of its 95 % bootstrap interval over mazes
    solved_high: float  # upper end
    length: float  # mean length of an episode in steps; a failure counts as 648
    wanted: float | None  # the solved rate that an agent should reach; None for other probabilities than `WALLS`

    @property
    def is_enough(self) -> bool | None:
        """Whether the agent reaches the wanted rate; None if there is none."""
        return None if self.wanted is None else self.solved >= self.wanted


def score_in_mazes(
    agent: str,
    *,
    core: str | os.PathLike,
    walls: Sequence[float] = WALLS,
    mazes: int = 200,
    episodes: int = 10,
    seed: int = 0,
    threads: int = 1,
) -> list[MazeScore]:
    """Sends an agent into mazes that no training has seen, from endpoints that are as far apart as possible.

    Each episode counts, and begins in a direction of its own. Actions are drawn, as in training.
    `agent` is `wall_follower`, or the file of a trained agent; `mazes` and `episodes` count for each probability of
    `walls` and for each maze. The number of threads does not change the scores.

    Returns:
        One entry per probability.

    Raises:
        NeurozooError: A number is out of range, or the agent or the core is missing or damaged.
    """
    if mazes < 2 or episodes < 1 or threads < 1 or seed < 0:
        raise NeurozooError(
            f"mazes should be at least 2, episodes and threads at least 1 and seed at least 0, but they are {mazes}, "
            f"{episodes}, {threads} and {seed}."
        )
    if wrong := [each for each in walls if not 0 <= each <= 0.9]:
        raise NeurozooError(f"The probability of a wall should be from 0 to 0.9, but is {wrong[0]}.")
    domain = MazeDomain()
    check_agent(domain, agent)
    make_agent(agent)  # refuses a damaged file before any work
    play = Play(
        agent=agent,
        num_episodes=episodes,
        sampling="fixed",
        shares_first_direction=False,
        core=Path(core),
        threads=threads,
    )
    return [_score(domain, play, each, mazes=mazes, seed=seed) for each in walls]


def _score(domain: MazeDomain, play: Play, walls: float, *, mazes: int, seed: int) -> MazeScore:
    protocol = get_protocol("maze")
    rngs = []
    for number in range(mazes):
        of_maze = generator((seed,), Purpose.EVALUATION, round(1000 * walls), number)
        rngs.append(np.random.default_rng(draw_seed(of_maze, Purpose.EVALUATION, protocol)))
    levels = np.array([rng.random((SIDE, SIDE)) < walls for rng in rngs], np.uint8)
    values = domain.evaluate(levels, play, rngs).values
    solvable = values["optimal_path_length"] >= 1
    solved = values["solved"][solvable].astype(np.float64)
    low, high = bootstrap_intervals(
        [solved], {"": mean_over_games}, replications=REPLICATIONS, confidence=0.95, seed=0
    )[""]
    return MazeScore(
        walls=walls,
        mazes=int(solvable.sum()),
        optimal_length=float(values["optimal_path_length"][solvable].mean()),
        solved=float(solved.mean()),
        solved_low=float(low),
        solved_high=float(high),
        length=float(values["path_length"][solvable].mean()),
        wanted=dict(zip(WALLS, WANTED, strict=True)).get(walls),
    )
