"""The specs of the neuroevolution family."""

from functools import partial
from typing import Any

from neurozoo.algorithms.neuroevolution.presets import PRESETS
from neurozoo.algorithms.neuroevolution.settings import (
    EsSettings,
    EvolutionSettings,
    GaNoveltySettings,
    GaSettings,
    NoveltySettings,
    NsraSettings,
)
from neurozoo.algorithms.session import RunContext, Session
from neurozoo.algorithms.spec import AlgorithmSpec, check_protocol
from neurozoo.environments.games import check_behaviour


def _open_session(context: RunContext) -> Session:
    from neurozoo.algorithms.neuroevolution.session import EvolutionSession

    return EvolutionSession(context)


def _check_fit(game: str, settings: EvolutionSettings) -> None:
    check_protocol(game, settings)
    check_behaviour(game, getattr(settings, "behaviour", None) or "none")


def _gpus(settings: EvolutionSettings) -> int:
    return 1 if settings.engine == "batched" else 0


def _spec(name: str, title: str, settings: type[EvolutionSettings], **traits: Any) -> AlgorithmSpec:
    return AlgorithmSpec(
        name=name,
        title=title,
        settings=settings,
        presets=PRESETS[name],
        open_session=_open_session,
        needs=("op", "noise"),
        has_genome=True,
        check_fit=_check_fit,
        start_source=lambda settings: settings.start_source,
        gpus=_gpus,
        **traits,
    )


_selecting = partial(_spec, score_is_selected=True)

SPECS = (
    _selecting("ga", "Genetic algorithm", GaSettings, has_lineage=True),
    _selecting("rs", "Random search", GaSettings),
    _spec("es", "Evolution strategies", EsSettings),
    _spec("ns_es", "NS-ES", NoveltySettings),
    _spec("nsr_es", "NSR-ES", NoveltySettings),
    _spec("nsra_es", "NSRA-ES", NsraSettings),
    _selecting("ga_ns", "Genetic algorithm with novelty search", GaNoveltySettings, has_lineage=True),
)
