"""The specs of quality-diversity searches through levels."""

from collections.abc import Callable
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
from neurozoo.algorithms.spec import LEVEL_FILES, AlgorithmSpec
from neurozoo.environments.level_domains import check_level_domain
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
        report_name="iteration",
        result="archive",
        extras=("compare", "levels"),
        extra_files=LEVEL_FILES,
        predicts_levels=settings is DsageSettings,
        check_game=check_level_domain,
        check_variant=check,
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
