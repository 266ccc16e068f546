"""Continues a run with its recorded settings."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from neurozoo.agents.playable_agent import IMPORTED
from neurozoo.agents.tags import PUBLISHED
from neurozoo.algorithms.registry import get_algorithm
from neurozoo.errors import NeurozooError
from neurozoo.records.run_config import config_of_run, read_run_settings
from neurozoo.training.context import make_context
from neurozoo.training.loop import train
from neurozoo.training.reporting import Terminal
from neurozoo.training.state import read_spent


def resume(
    run_dir: str | os.PathLike,
    *,
    budget: int | None = None,
    terminal: Terminal = "log",
    keep_tags: Sequence[str] = PUBLISHED,
    tensorboard: bool = False,
    **given: Any,
) -> None:
    """Continues a run with its recorded settings, so that users need not remember them.

    Another `budget`, in the algorithm's unit, has to be above what is spent. `given` are `core`, `noise`, `threads`,
    `slots`, `mpi` and `distributed`, as for `make_context`; the others are as for `train`.

    Raises:
        NeurozooError: The folder holds no run that can be continued, or the budget is spent already.
    """
    run_dir = Path(run_dir)
    config, has_state = config_of_run(run_dir), (run_dir / "state" / "state.json").exists()
    if not config.exists() and has_state:
        raise NeurozooError(
            f"{run_dir} has a state, but no config.yaml: Snakemake deletes it if a job fails. To continue, give the "
            "snakemake command that began the run."
        )
    if not config.exists() and (run_dir / "genome.json").exists():
        raise NeurozooError(
            f"{run_dir} has an agent, but no state that training could continue from. To train it further, begin "
            "another run with it: load_population (ga) or load_from (es)."
        )
    found = read_run_settings(config)
    algo = found["algo"]
    if algo == IMPORTED:
        raise NeurozooError(
            f"{run_dir} was imported, so there is no training to continue. Record how it plays: "
            f"python -m neurozoo rollout {shlex.quote(str(run_dir))}"
        )
    spec = get_algorithm(algo)
    if not has_state:
        raise NeurozooError(f"{run_dir} has no state/state.json to continue from; train the run again.")
    settings: dict[str, Any] = {field.name: found[field.name] for field in fields(spec.settings) if field.name in found}
    if budget is not None:
        unit = spec.budget_unit
        if not isinstance(settings.get(unit), int):
            raise NeurozooError(
                f"{config} should say the budget in {unit}, but says {settings.get(unit)!r}. Restore the file."
            )
        if budget < settings[unit] and budget <= (spent := read_spent(run_dir)):
            raise NeurozooError(
                f"{run_dir} has spent {spent:,} {unit} of {settings[unit]:,}, but {budget:,} was given. Give a budget "
                "above what is spent."
            )
        settings[unit] = budget
    names = {name: found[name] for name in ("algo", "game", "model", "run")}
    context = make_context(**names, settings=settings, run_dir=run_dir, **given)
    train(context, terminal=terminal, keep_tags=keep_tags, tensorboard=tensorboard)
