"""What the session of a run needs, checked before anything starts."""

from collections.abc import Mapping
from pathlib import Path

from neurozoo.algorithms.registry import get_algorithm
from neurozoo.algorithms.session import RunContext
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.compute.dask_settings import ClusterSettings
from neurozoo.errors import NeurozooError
from neurozoo.evaluation import DEFAULT_SLOTS


def make_context(
    *,
    algo: str,
    game: str,
    model: str,
    run: int,
    settings: Mapping[str, object],
    run_dir: str | Path,
    distributed: str | Mapping[str, object] | None = None,
    core: str | Path | None = None,
    noise: str | Path | None = None,
    threads: int = 1,
    slots: int = DEFAULT_SLOTS,
    mpi: str = "mpirun",
    backup: str = "",
) -> RunContext:
    """Checks the settings of a run and collects everything that its session needs.

    Args:
        algo: Algorithm such as `ga`.
        game: Game id such as `frostbite`.
        model: Network such as `large`, or another variant of the algorithm.
        run: Number of the run; part of the seed.
        settings: Settings of the algorithm by name. A setting that is left out has its value in the preset `demo`.
        run_dir: Folder of the run.
        distributed: The Dask cluster that plays the episodes, in any form that `ClusterSettings.of` reads; None to play
            them in this process.
        core: The native core, for algorithms that need it.
        noise: The noise table, for algorithms that need it.
        threads: Number of threads; results do not depend on it.
        slots: Episodes that the batched engine plays at once.
        mpi: The command that starts several processes, if the settings ask for them: `mpirun`, `srun`, or one of them
            with options.
        backup: Where the state is kept besides, so that another node can continue: an address such as
            `s3://my-bucket/backup`, or "" for nowhere.

    Raises:
        NeurozooError: A name is unknown, a value is out of range or does not fit, or the core or the table is missing.
    """
    spec = get_algorithm(algo)
    for need, given in (("core", core), ("noise", noise)):
        if need in spec.needs and given is None:
            raise NeurozooError(f"{algo} needs the {need}, but none was given. Build it: make foundations")
    game, resolved = spec.check_game(game), resolve_settings(algo, preset="demo", overrides=settings)
    model = spec.check_variant(model)
    resolved.check_game(game)
    resolved.check_model(model)
    return RunContext(
        algo=algo,
        game=game,
        model=model,
        run=run,
        settings=resolved,
        run_dir=Path(run_dir),
        threads=threads,
        core=None if core is None else Path(core),
        noise=None if noise is None else Path(noise),
        slots=slots,
        cluster=ClusterSettings.of(distributed),
        mpi=mpi,
        backup=backup,
    )
