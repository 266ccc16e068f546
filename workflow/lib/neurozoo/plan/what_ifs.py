"""What-ifs of a configuration: the run that takes over, and whether a run can have them, before it is trained."""

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.environments.games import check_game
from neurozoo.environments.gymnasium_games import trust_module_of
from neurozoo.environments.protocols import Protocol, output_names
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.interventions.change import Change
from neurozoo.interventions.intervention import INPUT
from neurozoo.networks.catalogue import check_layer
from neurozoo.plan.planned_runs import PlannedRun, settings_of_run


def successor(name: str) -> PlannedRun:
    """Returns the run whose agent takes over, by its name.

    Raises:
        NeurozooError: It is no name of a run with a network.
    """
    if not (found := re.fullmatch(r"([\w.-]+)/([\w.-]+)/([\w.-]+)/([1-9][0-9]*)", name)):
        raise NeurozooError(f"agent should be a run, ALGO/GAME/MODEL/RUN such as dqn/pong/small/1, but is {name!r}.")
    algo, game, model, run = found.groups()
    able = [IMPORTED, *(algo for algo, spec in ALGORITHMS.items() if spec.result == "network")]
    if algo not in able:
        raise unknown_name("algorithm", algo, able)
    trust_module_of(game)  # the configuration names it
    if algo != IMPORTED:
        ALGORITHMS[algo].check_variant(model)
    return PlannedRun(algo, check_game(game), model, int(run))


def check_intervened(model: str, layer: str) -> None:
    """Checks that a network has the layer of an intervention, or raises `NeurozooError`."""
    if layer != INPUT:
        check_layer(model, layer)


def check_what_if(config: Mapping, run: PlannedRun, entry: Mapping[str, Any]) -> None:
    """Checks that a run can have a what-if. Agents that are there are checked when it is played.

    Raises:
        NeurozooError: The run's game has no such action or no memory, or another game or protocol is that of the agent
            that takes over.
    """
    change, protocol = Change.from_config(entry, config["interventions"]), _protocol_of(config, run)
    if protocol is not None:
        change.check(run.game, protocol, output_names(run.game, protocol))
    if change.intervention is not None:
        check_intervened(run.model, change.intervention.layer)
    if change.agent is not None:
        other = successor(change.agent)
        for what, own, found in (
            ("game", run.game, other.game),
            ("protocol", protocol, protocol and _protocol_of(config, other)),
        ):
            if found is not None and own != found:
                raise NeurozooError(
                    f"The {what} of {run.name} is not that of {other.name}, which cannot take over. Choose another "
                    "agent of the same game and protocol."
                )


def _protocol_of(config: Mapping, run: PlannedRun) -> Protocol | None:
    """Returns how a run will play that is to be trained; None for others, which have protocols of their own."""
    record = Path(config["pathvars"]["results"], "runs", run.name, "frozen", "model.json")
    if run.algo == IMPORTED or record.exists():
        return None
    return settings_of_run(config, **asdict(run)).game_protocol(run.game)
