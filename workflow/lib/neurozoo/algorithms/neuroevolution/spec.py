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
    if selection in _SESSIONS and context.algo != "ga":
        raise NeurozooError(f"selection: {selection} is for ga, not for {context.algo}. Leave out selection.")
    return session_of(f"neuroevolution.{kind}")(context)


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
    _selecting("rs", "Random search", GaSettings),
    _spec("es", "Evolution strategies", EsSettings),
    _spec("ns_es", "NS-ES", NoveltySettings, chooses="report"),
    _spec("nsr_es", "NSR-ES", NoveltySettings, chooses="report"),
    _spec("nsra_es", "NSRA-ES", NsraSettings, chooses="report"),
    _selecting("ga_ns", "Genetic algorithm with novelty search", GaNoveltySettings, extra_files=FAMILY_TREE),
)
