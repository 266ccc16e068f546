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
from neurozoo.algorithms.spec import FAMILY_TREE, AlgorithmSpec, session_of
from neurozoo.errors import NeurozooError

_SESSIONS = {  # by `selection`
    "asynchronous": "asynchronous_session.AsynchronousSession",
    "tournaments": "tournaments.TournamentSession",
}


def _open_session(context: RunContext) -> Session:
    selection = getattr(context.settings, "selection", "")
    kind = _SESSIONS.get(selection, "session.EvolutionSession")
    return session_of(f"neuroevolution.{kind}")(context)


def _check_random_search(settings: GaSettings) -> None:
    if settings.selection_threshold:
        raise NeurozooError(
            f"selection_threshold is {settings.selection_threshold:,}, but random search (rs) has no parents. Leave it "
            "out, or choose the algorithm ga."
        )


def _spec(name: str, title: str, settings: type[EvolutionSettings], **traits: Any) -> AlgorithmSpec:
    return AlgorithmSpec(
        name=name,
        title=title,
        settings=settings,
        presets=PRESETS[name],
        open_session=_open_session,
        needs=("core", "noise"),
        **traits,
    )


_selecting = partial(_spec, chooses="individual")

SPECS = (
    _selecting("ga", "Genetic algorithm", GaSettings, extra_files=FAMILY_TREE),
    _selecting("rs", "Random search", GaSettings, check=_check_random_search),
    _spec("es", "Evolution strategies", EsSettings),
    _spec("ns_es", "NS-ES", NoveltySettings, chooses="report"),
    _spec("nsr_es", "NSR-ES", NoveltySettings, chooses="report"),
    _spec("nsra_es", "NSRA-ES", NsraSettings, chooses="report"),
    _selecting("ga_ns", "Genetic algorithm with novelty search", GaNoveltySettings, extra_files=FAMILY_TREE),
)
