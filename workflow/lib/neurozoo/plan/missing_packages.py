"""Packages that planned runs need and that are not installed: said before hours of training, not after them."""

from collections.abc import Mapping
from importlib.util import find_spec

from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.plan.planned_runs import planned_runs

# A module of each group of packages that only some users need.
MODULES = {"cluster": "dask_jobqueue", "compare": "plotly", "levels": "ribs"}


def missing_packages(config: Mapping) -> str | None:
    """Returns a sentence about packages that a configuration's runs need, but that are not installed here.

    Returns:
        The sentence, with the command that installs them; None if nothing is missing.
    """
    needed = {extra for run in planned_runs(config) for extra in ALGORITHMS[run.algo].extras}
    if config["distributed"]:
        needed.add("cluster")
    missing = sorted(extra for extra in needed if find_spec(MODULES[extra]) is None)
    if not missing:
        return None
    extras = f'"{" ".join(missing)}"' if len(missing) > 1 else missing[0]
    modules = " and ".join(MODULES[extra] for extra in missing)
    return (
        f"This configuration needs packages that are not installed here ({modules}); without them, jobs will fail. "
        f"Run once: make setup EXTRAS={extras}"
    )
