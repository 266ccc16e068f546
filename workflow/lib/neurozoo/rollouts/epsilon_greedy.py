"""Epsilon-greedy tests of a frozen agent, as deep Q-learning reports them.

In a deterministic game, a deterministic agent plays the same episode again and again. Random actions and sticky actions
make the episodes differ. Sources: Mnih et al. 2015 (epsilon 0.05); Machado et al. 2018, arXiv:1709.06009.
"""

import itertools
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace

from neurozoo.agents.frozen import FrozenModel, open_frozen, use_one_thread
from neurozoo.agents.scoring import ScoredEpisode, summary
from neurozoo.environments.protocols import Protocol, protocol_of
from neurozoo.errors import NeurozooError
from neurozoo.files import write_json
from neurozoo.rollouts.episode import Episode
from neurozoo.rollouts.perturbations import Perturbation
from neurozoo.rollouts.player import Player, default_epsilon, episode_starts, own_rule, world_of_agent
from neurozoo.rollouts.progress import Progress
from neurozoo.text import aligned

HEADS = (
    "protocol", "actions", "sticky", "epsilon", "episodes", "mean", "error", "median", "lowest", "highest", "steps/s",
)  # fmt: skip


def play_epsilon_greedily(
    frozen_folder: str | os.PathLike,
    output: str | os.PathLike | None = None,
    *,
    epsilon: float | None = None,
    action_rules: Sequence[str] = (),
    protocols: Sequence[str] = (),
    sticky_probability: float | None = None,
    episodes: int = 30,
    steps: int | None = None,
    seed: int = 0,
    log: str | os.PathLike | None = None,
    terminal: str = "bar",
) -> dict:
    """Lets a frozen agent play whole episodes with random actions, under one or several protocols.

    Args:
        frozen_folder: The frozen model; nothing else of the run is needed.
        output: JSON file for the record that is returned.
        epsilon: Probability in every step of a random action, drawn uniformly. None for 0.05, or 0 for agents that
            draw their actions anyway.
        action_rules: How outputs become actions: `greedy`, `sampled`, or both; empty for the agent's own rule.
        protocols: Names of protocols; empty for the agent's own. Another protocol decides how episodes begin and end
            and how actions stick. The agent keeps its own observations and actions.
        sticky_probability: Replaces that of every protocol; None keeps it.
        episodes: Number of episodes of each test.
        steps: Instead of `episodes`: plays until each test has this many steps. The last episode is played to its end.
            (simple_dqn drops it.)
        seed: Decides how episodes begin, which actions stick and which are random.
        log: See `Progress`.
        terminal: See `Progress`.

    Returns:
        The agent, `epsilon`, `seed` and `tests`, one for each protocol and action rule. Each test has the `protocol`,
        the `action_rule`, a `summary`, the `episodes` and `steps_per_second`. The same agent and arguments give the
        same episodes.

    Raises:
        NeurozooError: The folder holds no frozen model, the model does not fit its game, a protocol or an action rule,
            or a probability is out of range.
    """
    if epsilon is not None and not 0 <= epsilon <= 1:
        raise NeurozooError(f"epsilon should be a probability from 0 to 1, but is {epsilon}.")
    frozen = open_frozen(frozen_folder)
    epsilon = default_epsilon(frozen) if epsilon is None else epsilon
    perturbation = Perturbation(action=epsilon, sticky_probability=sticky_probability)
    played_protocols = [
        perturbation.protocol(replace(frozen, protocol=_protocol_for(frozen, name)))
        for name in protocols or (frozen.protocol.name,)
    ]
    use_one_thread()
    rules = action_rules or (own_rule(frozen),)
    players = {rule: Player(frozen, perturbation, seed=seed, action_rule=rule) for rule in rules}
    record = {name: getattr(frozen, name) for name in ("algo", "game", "model", "run", "tag")}
    record |= {"epsilon": epsilon, "seed": seed, "tests": []}
    total = None if steps is None else steps * len(played_protocols) * len(players)
    with (
        Progress(f"test of {frozen.title}", total=total, log=log, terminal=terminal) as progress,
        ExitStack() as open_worlds,
    ):
        worlds = [open_worlds.enter_context(closing(world_of_agent(frozen, each))) for each in played_protocols]
        for world, (rule, player) in itertools.product(worlds, players.items()):
            began, draws_actions = time.perf_counter(), epsilon > 0 or rule == "sampled"
            played: list[ScoredEpisode] = []
            for start in episode_starts(world.protocol, seed=seed):
                episode = Episode(world, player, start, len(played))
                while not world.is_done:
                    episode.step()
                    progress.advance()
                played.append(episode.scored)
                done = sum(episode.steps for episode in played)
                if done >= steps if steps else len(played) == episodes:
                    break
            record["tests"].append({
                "protocol": asdict(world.protocol),
                "action_rule": rule,
                "summary": summary(played, world.protocol, draws_actions=draws_actions),
                "steps_per_second": done / (time.perf_counter() - began),
                "episodes": [asdict(episode) for episode in played],
            })  # fmt: skip
    if output is not None:
        write_json(output, record)
    return record


def _protocol_for(frozen: FrozenModel, name: str) -> Protocol:
    """Returns a named protocol with the agent's own observations and actions."""
    own = frozen.protocol
    if name == own.name:
        return own
    kept = ("action_set", "preprocessing", "frame_skip", "least_frame_skip", "observation")
    return replace(protocol_of(frozen.game, name), **{field: getattr(own, field) for field in kept})


def as_table(record: dict) -> str:
    """Returns the record of `play_epsilon_greedily` as a table with a row for each test."""
    rows, notes = [HEADS], []
    for test in record["tests"]:
        figures, protocol = test["summary"], test["protocol"]
        numbers = (figures[name] for name in ("mean", "standard_error", "median", "lowest", "highest"))
        rows.append((
            protocol["name"], test["action_rule"], f"{protocol['sticky_probability']:g}", f"{record['epsilon']:g}",
            str(len(test["episodes"])), *("undefined" if number is None else f"{number:.4g}" for number in numbers),
            f"{test['steps_per_second']:,.0f}",
        ))  # fmt: skip
        if "note" in figures:
            notes.append(f"{protocol['name']}, {test['action_rule']}: {figures['note']}")
    return "\n".join([*aligned(rows, right=HEADS[2:]), *notes])
