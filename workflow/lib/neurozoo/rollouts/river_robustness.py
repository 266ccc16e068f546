"""The robustness of an agent in the river crossing task: ten thousand worlds of each width, as a report and a table."""

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from neurozoo.agents.frozen import open_frozen
from neurozoo.environments.games import RIVER_ACTIONS
from neurozoo.environments.protocols import Protocol, get_protocol
from neurozoo.environments.river_agents import Agent, PlanningAgent, ShuntingAgent
from neurozoo.environments.river_robustness import (
    CAUSES,
    WIDTHS,
    WORLDS,
    Choose,
    Outcome,
    play_worlds,
    summarise,
    world_seeds,
)  # fmt: skip
from neurozoo.environments.river_world import RiverCrossingWorld
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.files import write_json
from neurozoo.files.csv import write_csv_rows
from neurozoo.provenance import provenance
from neurozoo.text import markdown_table

_SCRIPTED: dict[str, Callable[[], Agent]] = {"shunting": ShuntingAgent, "planning": PlanningAgent}
BASELINES = (*_SCRIPTED, "random")


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
        step_limit: Most steps in a world.
        start_column: Column in which the agent starts.
        progress: Called with the number of worlds that were played and of all.

    Raises:
        NeurozooError: There is no such agent, it does not play the river crossing task, or a width is out of range.
    """
    name, protocol, choose = _agent(agent)
    outcomes: list[Outcome] = []
    options = {"step_limit": step_limit, "start_column": start_column}
    seeds, report = world_seeds(worlds), []
    place = {seed: i for i, seed in enumerate(seeds)}
    for width in widths:
        found = []
        for outcome in play_worlds(choose, protocol, width=width, seeds=seeds, **options):
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


def _agent(agent: str | os.PathLike) -> tuple[str, Protocol, Choose]:
    if os.fspath(agent) in BASELINES:
        return str(agent), get_protocol("river_fixed", observation="greyscale"), _scripted(str(agent))
    if not Path(agent).exists() and os.sep not in os.fspath(agent):
        raise unknown_name("agent", str(agent), BASELINES)
    frozen = open_frozen(agent)
    if frozen.game != "river_crossing":
        raise NeurozooError(f"{agent} plays {frozen.game!r}. Robustness is tested in the river crossing task only.")
    model = frozen.load_keras()

    def choose(worlds: Sequence[RiverCrossingWorld]) -> np.ndarray:
        # One size of batch, so that TensorFlow compiles the network once.
        next_power_of_two = 1 << (len(worlds) - 1).bit_length()
        batch = np.zeros((next_power_of_two, *frozen.shape.observation), np.float32)
        for place, world in enumerate(worlds):
            batch[place] = world.observation
        return model.predict_on_batch(batch)[: len(worlds)]

    return frozen.title, frozen.protocol, choose


def _scripted(name: str) -> Choose:
    actions = np.eye(len(RIVER_ACTIONS), dtype=np.float32)
    random = np.random.default_rng(0)
    # Each world has an agent of its own, because agents remember their plan.
    agents: dict[int, Agent] = defaultdict(_SCRIPTED.get(name))

    def choose(worlds: Sequence[RiverCrossingWorld]) -> np.ndarray:
        if name == "random":
            return actions[random.integers(len(RIVER_ACTIONS), size=len(worlds))]
        return actions[[agents[id(world)](world.river) for world in worlds]]

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
