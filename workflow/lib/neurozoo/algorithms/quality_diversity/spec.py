"""The specs of quality-diversity searches through levels."""

from collections.abc import Iterable, Mapping

from neurozoo.algorithms.quality_diversity.presets import CMA_ME, DOMAIN_RANDOMIZATION, DSAGE, MAP_ELITES
from neurozoo.algorithms.quality_diversity.settings import LevelSearchSettings
from neurozoo.algorithms.quality_diversity.variants import VARIANTS
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.algorithms.spec import LEVEL_FILES, AlgorithmSpec, session_of
from neurozoo.environments.level_domains import check_level_domain
from neurozoo.errors import needing, unknown_name


def _spec(
    name: str,
    title: str,
    presets: Mapping[str, LevelSearchSettings],
    session: str,
    variants: Iterable[str] = ("plain",),
) -> AlgorithmSpec:
    def open_session(context: RunContext) -> Session:
        with needing("levels", "A search through levels"):
            return session_of(f"quality_diversity.{session}")(context)

    def check_variant(variant: str) -> str:
        if variant not in variants:
            raise unknown_name("variant", variant, variants, owner=name)
        return variant

    return AlgorithmSpec(
        name=name,
        title=title,
        settings=type(presets["paper"]),
        presets=presets,
        open_session=open_session,
        report_name="iteration",
        result="archive",
        extras=("compare", "levels"),
        extra_files=LEVEL_FILES,
        predicts_levels=name == "dsage",
        check_game=check_level_domain,
        check_variant=check_variant,
    )


SPECS = (
    _spec("dsage", "DSAGE", DSAGE, "dsage.DsageSession", VARIANTS),
    _spec("map_elites", "MAP-Elites", MAP_ELITES, "direct_search.MapElitesSession"),
    _spec("cma_me", "CMA-ME", CMA_ME, "direct_search.CmaMeSession"),
    _spec(
        "domain_randomization",
        "Domain randomization",
        DOMAIN_RANDOMIZATION,
        "direct_search.DomainRandomizationSession",
    ),
)
