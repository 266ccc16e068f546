"""The specs of quality-diversity searches through levels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from neurozoo.algorithms.quality_diversity.presets import CMA_ME, DOMAIN_RANDOMIZATION, DSAGE, MAP_ELITES
from neurozoo.algorithms.quality_diversity.settings import (
    CmaMeSettings,
    DomainRandomizationSettings,
    DsageSettings,
    LevelSearchSettings,
    MapElitesSettings,
)
from neurozoo.algorithms.quality_diversity.variants import check_plain, check_variant
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.algorithms.spec import AlgorithmSpec, Need
from neurozoo.environments.level_domains import check_level_domain, get_level_domain
from neurozoo.errors import needing


def _open_dsage(context: RunContext) -> Session:
    with needing("levels", "A search through levels"):
        from neurozoo.algorithms.quality_diversity.dsage import DsageSession

    return DsageSession(context)


def _open_map_elites(context: RunContext) -> Session:
    with needing("levels", "A search through levels"):
        from neurozoo.algorithms.quality_diversity.direct_search import MapElitesSession

    return MapElitesSession(context)


def _open_cma_me(context: RunContext) -> Session:
    with needing("levels", "A search through levels"):
        from neurozoo.algorithms.quality_diversity.direct_search import CmaMeSession

    return CmaMeSession(context)


def _open_domain_randomization(context: RunContext) -> Session:
    with needing("levels", "A search through levels"):
        from neurozoo.algorithms.quality_diversity.direct_search import DomainRandomizationSession

    return DomainRandomizationSession(context)


def _check_fit(game: str, settings: LevelSearchSettings) -> None:
    domain = get_level_domain(game)
    settings.check(domain)
    # Files that are missing may still be made by a rule.
    if settings.generator_file and Path(settings.generator_file).exists():
        get_level_domain(game, decoder=settings.decoder)
    if settings.agent_file and domain.read_agent and Path(settings.agent_file).exists():
        domain.read_agent(settings.agent_file)


def _needs_besides(game: str, settings: LevelSearchSettings) -> tuple[Need, ...]:
    return ("op",) if settings.agent_file or get_level_domain(game).needs_op else ()


def _describe_protocol(game: str, settings: LevelSearchSettings) -> dict[str, object]:
    """Returns what an archive's scores depend on: its axes and cells, and how levels are evaluated."""
    domain, play = get_level_domain(game), settings.play
    plays_once = domain.trained_play_once and settings.agent_file is not None
    learned = {} if settings.generator_file is None else {"decoder": settings.decoder}
    return {
        "name": f"{game}_{'_'.join(settings.axes(domain))}",
        "measures": list(settings.axes(domain)),
        "cells": list(settings.dims(domain)),
        **learned,
        "agent": play.agent,
        "num_episodes": 1 if plays_once else play.num_episodes,
        "num_envs": play.num_envs,
        "episode_sampling": play.sampling,
        "shares_first_direction": play.shares_first_direction,
    }


def _memory(settings: LevelSearchSettings) -> int:
    """A level and its record take 2 kB (mazes) to 7 kB, and are held twice while they are saved."""
    return 2500 + settings.evaluations // 75


def _spec(
    name: str,
    title: str,
    settings: type[LevelSearchSettings],
    presets: Any,
    open_session: Callable[[RunContext], Session],
    check: Callable[[str], str] = check_plain,
) -> AlgorithmSpec:
    return AlgorithmSpec(
        name=name,
        title=title,
        settings=settings,
        presets=presets,
        open_session=open_session,
        budget_unit="evaluations",
        report_name="iteration",
        result="archive",
        extras=("compare", "levels"),
        has_levels=True,
        predicts_levels=settings is DsageSettings,
        check_game=check_level_domain,
        check_variant=check,
        check_fit=_check_fit,
        describe_protocol=_describe_protocol,
        memory=_memory,
        start_sources=lambda settings: tuple(
            file for file in (settings.agent_file, settings.generator_file) if file is not None
        ),
        needs_besides=_needs_besides,
    )


SPECS = (
    _spec("dsage", "DSAGE", DsageSettings, DSAGE, _open_dsage, check_variant),
    _spec("map_elites", "MAP-Elites", MapElitesSettings, MAP_ELITES, _open_map_elites),
    _spec("cma_me", "CMA-ME", CmaMeSettings, CMA_ME, _open_cma_me),
    _spec(
        "domain_randomization",
        "Domain randomization",
        DomainRandomizationSettings,
        DOMAIN_RANDOMIZATION,
        _open_domain_randomization,
    ),
)
