"""The published settings of DSAGE and of what it was compared with, and smaller ones."""

from typing import Any

from neurozoo.algorithms.quality_diversity.settings import (
    CmaMeSettings,
    DomainRandomizationSettings,
    DsageSettings,
    LevelSearchSettings,
    MapElitesSettings,
)

# Of platform levels: fewer evaluations, in which an agent plays each level five times.
_MARIO: dict[str, Any] = {"agent": "a_star", "num_episodes": 5}
# Of worlds of the river crossing task, where nothing is published: a deterministic agent plays each world once.
_RIVER: dict[str, Any] = {"agent": "shunting", "num_episodes": 1}
_BUDGETS: dict[str, dict[str, Any]] = {
    "paper": {},
    "laptop": {"evaluations": 10_000},
    "demo": {"evaluations": 600, "num_episodes": 20},
    "mario_paper": {**_MARIO, "evaluations": 10_000},
    "mario_laptop": {**_MARIO, "evaluations": 2_000},
    "mario_demo": {**_MARIO, "evaluations": 300},
    "river_crossing_laptop": {**_RIVER, "evaluations": 2_000},
    "river_crossing_demo": {**_RIVER, "evaluations": 600},
}


def _presets(settings: type[LevelSearchSettings], **changes: dict[str, Any]) -> dict[str, LevelSearchSettings]:
    """Returns settings with each of the budgets; `changes` are others of a preset's settings."""
    return {name: settings(**budget, **changes.get(name, {})) for name, budget in _BUDGETS.items()}


DOMAIN_RANDOMIZATION = _presets(DomainRandomizationSettings)
MAP_ELITES = _presets(
    MapElitesSettings,
    demo={"initial_population": 30},
    mario_demo={"initial_population": 30},
    river_crossing_demo={"initial_population": 30},
)
_WIDE = {"sigma0": 4.0}  # of entries from 0 to 19
CMA_ME = _presets(CmaMeSettings, river_crossing_laptop=_WIDE, river_crossing_demo=_WIDE)
_MARIO_DSAGE: dict[str, Any] = {"num_emitters": 1, "num_random": 250, "train_sample_size": None}
# A narrow surrogate that trains for a shorter time and is searched for a shorter time: a thousandth of the arithmetic.
_SMALL = {"inner_iterations": 300, "channels": 32, "occupancy_channels": 16, "residual_blocks": 1, "train_epochs": 30}
_TINY = {"inner_iterations": 40, "channels": 8, "residual_blocks": 1}
_LAPTOP = {**_SMALL, "train_sample_size": 2_000}
_DEMO = {
    **_TINY, "occupancy_channels": 8, "train_epochs": 40, "initial_population": 30, "num_random": 100,
    "train_sample_size": 2_000,
}  # fmt: skip
_RIVER_DSAGE: dict[str, Any] = {"num_random": 87, "standardises_heads": True}
DSAGE = _presets(
    DsageSettings,
    laptop=_LAPTOP,
    demo=_DEMO,
    mario_paper=_MARIO_DSAGE,
    mario_laptop={**_MARIO_DSAGE, **_SMALL, "channels": 16, "occupancy_channels": 8},
    mario_demo={**_MARIO_DSAGE, **_TINY, "occupancy_channels": 4, "train_epochs": 10, "num_random": 60},
    river_crossing_laptop={**_LAPTOP, **_RIVER_DSAGE},
    river_crossing_demo={**_DEMO, **_RIVER_DSAGE},
)
