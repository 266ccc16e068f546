"""The published settings of DSAGE and of what it was compared with, and smaller ones."""

from dataclasses import replace
from typing import Any

from neurozoo.algorithms.quality_diversity.settings import (
    CmaMeSettings,
    DomainRandomizationSettings,
    DsageSettings,
    MapElitesSettings,
)

_DEMO: dict[str, Any] = {"evaluations": 600, "num_episodes": 20}
_LAPTOP: dict[str, Any] = {"evaluations": 10_000}

DOMAIN_RANDOMIZATION = {
    "paper": DomainRandomizationSettings(),
    "laptop": DomainRandomizationSettings(**_LAPTOP),
    "demo": DomainRandomizationSettings(**_DEMO),
}
MAP_ELITES = {
    "paper": MapElitesSettings(),
    "laptop": MapElitesSettings(**_LAPTOP),
    "demo": MapElitesSettings(**_DEMO, initial_population=30),
}
CMA_ME = {
    "paper": CmaMeSettings(),
    "laptop": CmaMeSettings(**_LAPTOP),
    "demo": CmaMeSettings(**_DEMO),
}
_PAPER = DsageSettings()
# A narrow surrogate that trains for a shorter time and is searched for a shorter time: a thousandth of the arithmetic.
_SMALL = replace(
    _PAPER,
    **_LAPTOP,
    inner_iterations=300,
    channels=32,
    occupancy_channels=16,
    residual_blocks=1,
    train_epochs=30,
    train_sample_size=2_000,
)
DSAGE = {
    "paper": _PAPER,
    "laptop": _SMALL,
    "demo": replace(
        _SMALL,
        **_DEMO,
        inner_iterations=40,
        initial_population=30,
        num_random=100,
        channels=8,
        occupancy_channels=8,
        train_epochs=40,
    ),
}
