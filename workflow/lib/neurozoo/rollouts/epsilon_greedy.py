"""How good a frozen agent is if it does something random now and then: tests as deep Q-learning reports them.

A deterministic agent in a deterministic game plays one episode again and again. A random action now and then, and
actions that stick, make many of one. Sources: Mnih et al. 2015 (epsilon 0.05); Machado et al. 2018, arXiv:1709.06009.
"""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, replace

from neurozoo.environments import World
from neurozoo.errors import NeurozooError
from neurozoo.files import write_json
from neurozoo.games import Protocol, protocol_of
from neurozoo.inspection.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.inspection.player import Disturbance, Player, episode_starts, world_of_agent
from neurozoo.inspection.progress import Progress
from neurozoo.scoring import ScoredEpisode, summary
from neurozoo.text_tables import aligned

HEADS = ("protocol", "sticky", "epsilon", "episodes", "mean", "error", "median", "lowest", "highest", "steps/s")


def play_epsilon_greedily(
    frozen_folder: str | os.PathLike,
    output: str | os.PathLike | None = None,
    *,
    epsilon: float = 0.05,
    protocols: Sequence[str] = (),
    sticky_probability: float | None = None,
    episodes: int = 30,
    steps: int | None = None,
    seed: int = 0,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> dict:
    """Lets a frozen agent play whole episodes, in a world of its own, with a random action now and then.

    Args:
        frozen_folder: The frozen model; nothing else of the run is needed.
        output: Optional JSON file.
        epsilon: Chance in every step of a random action, any with the same chance.
        protocols: Names of protocols; none for the agent's own. Of another protocol come how episodes begin and end and
            how actions stick; what the agent sees and can do stays its own.
        sticky_probability: Instead of the protocols'.
        episodes: How many, of each protocol.
        steps: Instead of a number of episodes: plays until there are so many steps. (In simple_dqn the episode that
            runs then is dropped; here it is played to its end, as all others.)
        seed: Decides how episodes begin, which actions stick and which are random.
        log: Optional file for progress lines.
        terminal: See `Progress`.

    Returns:
        What is written: the agent, `epsilon`, `seed`, and `tests`, for each protocol all of the protocol, a `summary`,
        the `episodes` and `steps_per_second`. The same agent and arguments give the same episodes.

    Raises:
        NeurozooError: The folder is no frozen model, it does not fit its game or a protocol, or a number is out of
            range.
    """
    if not 0 <= epsilon <= 1:
        raise NeurozooError(f"epsilon is a probability from 0 to 1, but {epsilon} came.")
    if episodes < 1 or (steps is not None and steps < 1) or seed < 0:
        raise NeurozooError("A test has at least 1 episode or step, and a seed of 0 or more.")
    frozen = open_frozen(frozen_folder)
    disturbance = Disturbance(action=epsilon, sticky_probability=sticky_probability)
    worlds = [
        world_of_agent(frozen, disturbance.protocol(replace(frozen, protocol=_protocol_for(frozen, name))))
        for name in protocols or (frozen.protocol.name,)
    ]
    use_one_thread()
    player = Player(frozen, disturbance, seed=seed)
    record = {name: getattr(frozen, name) for name in ("algo", "game", "model", "run", "tag")}
    record |= {"epsilon": epsilon, "seed": seed, "tests": []}
    total = None if steps is None else steps * len(worlds)
    with Progress(f"test of {frozen.title}", total=total, log=log, terminal=terminal) as progress:
        for world in worlds:
            start = time.perf_counter()
            played: list[ScoredEpisode] = []
            for begin in episode_starts(world.protocol, seed=seed):
                played.append(_play(world, player, begin, number=len(played), progress=progress))
                done = sum(episode.steps for episode in played)
                if done >= steps if steps else len(played) == episodes:
                    break
            record["tests"].append(
                {
                    "protocol": asdict(world.protocol),
                    "summary": summary(played),
                    "steps_per_second": done / (time.perf_counter() - start),
                    "episodes": [asdict(episode) for episode in played],
                }
            )
    if output is not None:
        write_json(output, record)
    return record


def _protocol_for(frozen: FrozenModel, name: str) -> Protocol:
    """Returns a named protocol through the agent's eyes and with its actions."""
    own = frozen.protocol
    if name == own.name:
        return own
    return replace(
        protocol_of(frozen.game, name),
        action_set=own.action_set,
        preprocessing=own.preprocessing,
        frame_skip=own.frame_skip,
        least_frame_skip=own.least_frame_skip,
        observation=own.observation,
    )


def _play(world: World, player: Player, begin: dict[str, int], *, number: int, progress: Progress) -> ScoredEpisode:
    observation = world.reset(**begin)
    player.begin(number)
    score = 0.0
    while not world.is_done:
        observation, reward, _ = world.act(player.choose(player.think(observation)[1]))
        score += reward
        progress.advance()
    return ScoredEpisode(**begin, score=score, steps=world.steps, frames=world.frames)


def as_table(record: dict) -> str:
    """Returns what `play_epsilon_greedily` did as a table: a row for each protocol."""
    rows = [HEADS]
    for test in record["tests"]:
        figures = test["summary"]
        numbers = (figures[name] for name in ("mean", "standard_error", "median", "lowest", "highest"))
        rows.append((
            test["protocol"]["name"], f"{test['protocol']['sticky_probability']:g}", f"{record['epsilon']:g}",
            str(len(test["episodes"])), *(f"{number:.4g}" for number in numbers), f"{test['steps_per_second']:,.0f}",
        ))  # fmt: skip
    return "\n".join(aligned(rows, right=HEADS[1:]))
