"""Goes on with a run as it was begun."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from neurozoo.algorithms.settings import PRESETS, resolve_settings
from neurozoo.errors import NeurozooError, unknown_name
from neurozoo.evaluation import DEFAULT_SLOTS
from neurozoo.logs import read_run_settings
from neurozoo.tags import PUBLISHED
from neurozoo.training.loop import train
from neurozoo.training.reporting import Terminal


def resume(
    run_dir: str | os.PathLike,
    *,
    ops: str | os.PathLike,
    noise: str | os.PathLike,
    frames: int | None = None,
    threads: int = 1,
    slots: int = DEFAULT_SLOTS,
    terminal: Terminal = "log",
    distributed: str | Mapping[str, object] | None = None,
    keep_tags: Sequence[str] = PUBLISHED,
) -> None:
    """Continues a run with the settings that it has on record, so that nobody has to remember them.

    Args:
        run_dir: Folder of the run, with `config.yaml` and `state/`.
        ops: The op library.
        noise: The noise table.
        frames: A larger budget; None for that on record.
        threads: As for `train`, like the rest.
        slots: Episodes at once of the batched engine.
        terminal: What standard error gets.
        distributed: The Dask cluster that plays the episodes.
        keep_tags: Moments at which the best so far is kept.

    Raises:
        NeurozooError: The folder is no run that can be continued, the budget is smaller, or anything that `train`
            refuses.
    """
    run_dir = Path(run_dir)
    found = read_run_settings(run_dir / "config.yaml")
    algo = found["algo"]
    if algo not in PRESETS:
        raise unknown_name("algorithm", str(algo), PRESETS)
    if not (run_dir / "state" / "state.json").exists():
        raise NeurozooError(f"{run_dir} has no state/state.json to continue from; train the run again.")
    names = [field.name for field in fields(resolve_settings(algo, preset="demo"))]
    settings = {name: found[name] for name in names if name in found}
    if frames is not None:
        if frames < settings["frames"]:
            raise NeurozooError(
                f"{run_dir} has a budget of {settings['frames']:,} frames, which can grow, but {frames:,} came."
            )
        settings["frames"] = frames
    train(
        algo=algo,
        game=found["game"],
        model=found["model"],
        run=found["run"],
        settings=settings,
        ops=ops,
        noise=noise,
        run_dir=run_dir,
        threads=threads,
        slots=slots,
        terminal=terminal,
        distributed=distributed,
        keep_tags=keep_tags,
    )
