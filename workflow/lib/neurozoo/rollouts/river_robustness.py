"""The robustness of an agent in the river crossing task: whether it solves ten thousand single worlds, and why not.

Source: the robustness test of github.com/WatchJolley/rivercrossing: 10,000 fixed seeds of worlds of width 3.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import sqrt

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.agents.policies import ACTION_RULES, PolicyInputs
from neurozoo.environments.episode_seeds import RANGES
from neurozoo.environments.game_networks import layout_of
from neurozoo.environments.games import RIVER_ACTIONS
from neurozoo.environments.protocols import Protocol, get_protocol
from neurozoo.environments.river_agents import PlanningAgent
from neurozoo.environments.river_crossing import RESOURCE, TRAP, WATER, RiverCrossing, RiverRules
from neurozoo.environments.river_world import RiverCrossingWorld
from neurozoo.environments.rivers.agents import EDGE, SHUNTING, LandscapeAgent, river_agent
from neurozoo.environments.rivers.simulator import play
from neurozoo.environments.rivers.worlds import START
from neurozoo.errors import NeurozooError
from neurozoo.files import write_json
from neurozoo.files.csv import write_csv_rows
from neurozoo.machine import provenance
from neurozoo.rollouts.player import compiled_forward_pass
from neurozoo.text import markdown_table

CAUSES = ("edge", "trap", "water", "age")
WIDTHS = (0, 1, 2, 3, 4)  # the last one is wider than any river of the task: an extrapolation
WORLDS = 10_000
SEED = 12345  # of the seeds of the worlds
AT_ONCE = 256  # worlds that are played side by side
FEW = 16  # the last ones, which take longest, are computed in smaller batches

BASELINES = ("shunting", "planning", "random")
_CAUSES = {EDGE: "edge", TRAP: "trap", WATER: "water", RESOURCE: ""}  # by the kind of cell that ends a world

Play = Callable[..., "Iterator[Outcome]"]  # plays worlds: width, seeds, step_limit, start_column
# From some worlds by their places, of which there are at most `AT_ONCE`, to the outputs for each: (worlds, 18).
Choose = Callable[[Mapping[int, RiverCrossingWorld]], np.ndarray]


@dataclass(frozen=True)
class Outcome:
    """What became of one world."""

    width: int  # columns of the river
    seed: int  # seed of the world
    is_solved: bool  # whether the agent reached the resource
    steps: int  # steps until then, or until the agent failed
    cause: str  # why it failed: one of `CAUSES`; empty if it did not


def world_seeds(count: int) -> list[int]:
    """Returns the fixed seeds of the worlds, all different, from the range of tests: fewer are the first of more."""
    low, high = RANGES["test"]
    random, found = np.random.default_rng(SEED), dict[int, None]()
    while len(found) < count:
        found[int(random.integers(low, high))] = None
    return list(found)


def play_worlds(
    choose: Choose,
    protocol: Protocol,
    *,
    width: int,
    seeds: Sequence[int],
    step_limit: int = 150,
    start_column: int = 1,
) -> Iterator[Outcome]:
    """Plays worlds of one width, each once, and yields outcomes as they come.

    `choose` is the agent, which may remember what it did at each place. Its protocol says what it sees. Seeds are all
    different. After `step_limit` steps in a world, the agent has failed by `age`.
    """
    is_faithful = protocol.rules == "faithful"
    options = {"step_limit": step_limit, "start_column": start_column}
    rules = RiverRules(is_faithful, min_width=width, max_width=width, attempts=1, **options)
    waiting = iter(seeds)
    worlds = [RiverCrossingWorld("river_crossing", protocol, rules) for _ in range(min(AT_ONCE, len(seeds)))]
    free = list(range(len(worlds)))
    playing: dict[int, int] = {}  # seeds by place
    while True:
        while free and (seed := next(waiting, None)) is not None:
            playing[place := free.pop()] = seed
            worlds[place].reset(seed=seed)
        if not playing:
            return
        for place, outputs in zip(playing, choose({place: worlds[place] for place in playing}), strict=True):
            worlds[place].act(outputs)
        for place, seed in list(playing.items()):
            world, river = worlds[place], worlds[place].river
            if river.levels_solved or river.final_positions:
                is_solved = river.levels_solved > 0
                yield Outcome(width, seed, is_solved, world.steps, "" if is_solved else river.cause)
                del playing[place]
                free.append(place)


def walk_worlds(
    agent: LandscapeAgent, *, width: int, seeds: Sequence[int], step_limit: int = 150, start_column: int = 1
) -> Iterator[Outcome]:
    """Plays worlds with a modular agent, as `play_worlds` does, but many times as fast: only few landscapes are new."""
    rules = RiverRules(min_width=width, max_width=width, attempts=1, step_limit=step_limit, start_column=start_column)
    river = RiverCrossing(rules)
    for start in range(0, len(seeds), AT_ONCE):
        some = seeds[start : start + AT_ONCE]
        walks = play(agent, np.stack([_world(river, seed) for seed in some]), step_limit=step_limit)
        for seed, end, steps in zip(some, walks.ends.tolist(), walks.steps.tolist(), strict=True):
            yield Outcome(width, seed, end == RESOURCE, steps, _CAUSES.get(end, "age"))


def _world(river: RiverCrossing, seed: int) -> np.ndarray:
    river.reset(seed=seed)
    world = river.grid.T.copy()
    world[river.row, river.column] = START
    return world


def summarise(outcomes: Sequence[Outcome]) -> dict[str, object]:
    """Summarises the outcomes of one width.

    It has `width`, `worlds`, `solved` (their number), `share` with its 95 % interval `low` to `high`, `mean_steps` and
    `steps_95` (95th percentile) of the solved worlds (None if there is none), and the failures by each of `CAUSES`.
    """
    steps = [outcome.steps for outcome in outcomes if outcome.is_solved]
    causes = Counter(outcome.cause for outcome in outcomes)
    low, high = wilson_interval(len(steps), len(outcomes))
    return {
        "width": outcomes[0].width,
        "worlds": len(outcomes),
        "solved": len(steps),
        "share": len(steps) / len(outcomes),
        "low": low,
        "high": high,
        "mean_steps": float(np.mean(steps)) if steps else None,
        "steps_95": float(np.percentile(steps, 95)) if steps else None,
        **{cause: causes[cause] for cause in CAUSES},
    }


def wilson_interval(successes: int, count: int, *, z: float = 1.959964) -> tuple[float, float]:
    """Returns an interval for a probability, 95 % by default; it is sound for shares of 0 and 1, too.

    Source: Wilson 1927, doi:10.1080/01621459.1927.10502953.
    """
    share, weight = successes / count, z * z / count
    centre = (share + weight / 2) / (1 + weight)
    half = z / (1 + weight) * sqrt(share * (1 - share) / count + weight / (4 * count))
    return max(0.0, centre - half), min(1.0, centre + half)


def measure_robustness(
    agent: str | os.PathLike,
    output: str | os.PathLike,
    *,
    table: str | os.PathLike,
    widths: Sequence[int] = WIDTHS,
    worlds: int = WORLDS,
    step_limit: int = 150,
    start_column: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> dict:
    """Plays fixed worlds of each width and reports how many are solved, in how many steps, and why the others fail.

    The seeds of the worlds are from the range of tests, so no run under `river_split` has trained in them.

    Args:
        agent: Folder of a frozen agent, or one of `BASELINES`, which do not learn.
        output: The JSON file to write, with what is returned.
        table: The CSV file to write, with a row per world: `width,seed,complete,age,death`.
        widths: Widths of the river.
        worlds: Worlds of each width.
        step_limit: As in `play_worlds`.
        start_column: Column in which the agent starts.
        progress: Called with the number of worlds that were played and of all.

    Raises:
        NeurozooError: There is no such agent, it does not play the river crossing task, or a width is out of range.
    """
    name, protocol, play_all = _agent(agent)
    outcomes: list[Outcome] = []
    options = {"step_limit": step_limit, "start_column": start_column}
    seeds, report = world_seeds(worlds), []
    place = {seed: i for i, seed in enumerate(seeds)}
    for width in widths:
        found = []
        for outcome in play_all(width=width, seeds=seeds, **options):
            found.append(outcome)
            if progress is not None:
                progress(len(outcomes) + len(found), worlds * len(widths))
        report.append(summarise(found))
        outcomes += sorted(found, key=lambda outcome: place[outcome.seed])
    record = {
        "agent": name,
        "protocol": asdict(protocol),
        **options,
        "worlds_per_width": worlds,
        "widths": report,
        **provenance(),
    }
    rows = ((o.width, o.seed, int(o.is_solved), o.steps, o.cause) for o in outcomes)
    write_csv_rows(table, ("width", "seed", "complete", "age", "death"), rows)
    write_json(output, record)
    return record


def _agent(agent: str | os.PathLike) -> tuple[str, Protocol, Play]:
    if (name := os.fspath(agent)) in BASELINES:
        protocol = get_protocol("river_fixed", observation="greyscale")
        walk = partial(walk_worlds, SHUNTING) if name == "shunting" else partial(play_worlds, _scripted(name), protocol)
        return name, protocol, walk
    frozen = open_frozen(agent)
    if frozen.game != "river_crossing":
        raise NeurozooError(f"{agent} plays {frozen.game!r}. Robustness is tested in the river crossing task only.")
    if frozen.layers[0].kind == "decision":  # a modular agent
        layout = layout_of(frozen.game, frozen.model, frozen.protocol)
        theta = np.concatenate([weights.numpy().ravel() for weights in frozen.load_keras().weights])
        return frozen.title, frozen.protocol, partial(walk_worlds, river_agent(layout, theta))
    return frozen.title, frozen.protocol, partial(play_worlds, _acting(frozen), frozen.protocol)


def _acting(frozen: FrozenModel) -> Choose:
    policy = ACTION_RULES[frozen.action_rule](compiled_forward_pass(frozen), state_shapes=frozen.state_shapes)
    random, actions = np.random.default_rng(0), np.eye(len(frozen.actions), dtype=np.float32)
    # At each place: the action before, and what the network remembers.
    before, state = np.zeros(AT_ONCE, np.int64), policy.initial_state(AT_ONCE)

    def choose(worlds: Mapping[int, RiverCrossingWorld]) -> np.ndarray:
        # Batches of two sizes, each of which is compiled once. A world is over with its first reward.
        count = len(worlds)
        size = AT_ONCE if count > FEW else FEW
        places = np.resize(list(worlds), size)
        is_first = np.resize([world.steps == 0 for world in worlds.values()], size)
        before[places[is_first]] = 0
        observation = np.zeros((size, *frozen.shape.observation), np.float32)
        for row, world in enumerate(worlds.values()):
            observation[row] = world.observation
        inputs = PolicyInputs(observation, before[places], np.zeros(size, np.float32), is_first)
        step = policy.step(inputs, tuple(each[places] for each in state), random)
        for kept, new in zip((before, *state), (step.action, *step.state), strict=True):
            kept[places[:count]] = new[:count]
        return actions[step.action[:count]]

    return choose


def _scripted(name: str) -> Choose:
    actions = np.eye(len(RIVER_ACTIONS), dtype=np.float32)
    random = np.random.default_rng(0)
    # Each place has an agent of its own, because agents remember their plan.
    agents: dict[int, PlanningAgent] = defaultdict(PlanningAgent)

    def choose(worlds: Mapping[int, RiverCrossingWorld]) -> np.ndarray:
        if name == "random":
            return actions[random.integers(len(RIVER_ACTIONS), size=len(worlds))]
        return actions[[agents[place](world.river) for place, world in worlds.items()]]

    return choose


def as_table(record: dict) -> str:
    """Returns the report as a table for people."""
    head = ("width", "solved", "95 % interval", "mean steps", "95th percentile", *CAUSES)
    rows = []
    for row in record["widths"]:
        steps = [f"{row[name]:.1f}" if row[name] is not None else "-" for name in ("mean_steps", "steps_95")]
        solved = f"{row['share']:.2%}", f"{row['low']:.2%} to {row['high']:.2%}"
        rows.append((str(row["width"]), *solved, *steps, *(f"{row[cause]:,}" for cause in CAUSES)))
    start = f"from column {record['start_column']}, at most {record['step_limit']} steps"
    worlds = f"{record['worlds_per_width']:,} worlds of each width, {start}"
    return f"{record['agent']}: {worlds}.\n{markdown_table(head, rows)}"
