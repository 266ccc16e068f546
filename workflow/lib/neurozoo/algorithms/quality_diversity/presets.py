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
# Of platform levels: fewer evaluations, in which an agent plays each level five times.
_MARIO: dict[str, Any] = {"agent": "a_star", "num_episodes": 5, "evaluations": 10_000}
_MARIO_LAPTOP: dict[str, Any] = {**_MARIO, "evaluations": 2_000}
_MARIO_DEMO: dict[str, Any] = {**_MARIO, "evaluations": 300}

DOMAIN_RANDOMIZATION = {
    "paper": DomainRandomizationSettings(),
    "laptop": DomainRandomizationSettings(**_LAPTOP),
    "demo": DomainRandomizationSettings(**_DEMO),
    "mario_paper": DomainRandomizationSettings(**_MARIO),
    "mario_laptop": DomainRandomizationSettings(**_MARIO_LAPTOP),
    "mario_demo": DomainRandomizationSettings(**_MARIO_DEMO),
}
MAP_ELITES = {
    "paper": MapElitesSettings(),
    "laptop": MapElitesSettings(**_LAPTOP),
    "demo": MapElitesSettings(**_DEMO, initial_population=30),
    "mario_paper": MapElitesSettings(**_MARIO),
    "mario_laptop": MapElitesSettings(**_MARIO_LAPTOP),
    "mario_demo": MapElitesSettings(**_MARIO_DEMO, initial_population=30),
}
CMA_ME = {
    "paper": CmaMeSettings(),
    "laptop": CmaMeSettings(**_LAPTOP),
    "demo": CmaMeSettings(**_DEMO),
    "mario_paper": CmaMeSettings(**_MARIO),
    "mario_laptop": CmaMeSettings(**_MARIO_LAPTOP),
    "mario_demo": CmaMeSettings(**_MARIO_DEMO),
}
_PAPER = DsageSettings()
_MARIO_PAPER = replace(_PAPER, **_MARIO, num_emitters=1, num_random=250, train_sample_size=None)
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
    "mario_paper": _MARIO_PAPER,
    "mario_laptop": replace(
        _MARIO_PAPER,
        **_MARIO_LAPTOP,
        inner_iterations=300,
        channels=16,
        occupancy_channels=8,
        residual_blocks=1,
        train_epochs=30,
    ),
    "mario_demo": replace(
        _MARIO_PAPER,
        **_MARIO_DEMO,
        inner_iterations=40,
        num_random=60,
        channels=8,
        occupancy_channels=4,
        residual_blocks=1,
        train_epochs=10,
    ),
}
