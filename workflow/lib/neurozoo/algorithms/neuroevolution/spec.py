"""The specs of the neuroevolution family."""

from functools import partial
from typing import Any

from neurozoo.algorithms.neuroevolution.novelty import choose_behaviour
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
from neurozoo.algorithms.spec import AlgorithmSpec, check_protocol, game_protocol
from neurozoo.environments.games import check_game
from neurozoo.environments.protocols import has_continuous_outputs, output_names
from neurozoo.errors import NeurozooError


def _open_session(context: RunContext) -> Session:
    if getattr(context.settings, "selection", "") == "asynchronous":
        from neurozoo.algorithms.neuroevolution.asynchronous_session import AsynchronousSession

        return AsynchronousSession(context)
    from neurozoo.algorithms.neuroevolution.session import EvolutionSession

    return EvolutionSession(context)


def _check_fit(game: str, settings: EvolutionSettings) -> None:
    check_protocol(game, settings)
    if isinstance(settings, NoveltySettings | GaNoveltySettings):
        choose_behaviour(settings.behaviour, protocol=game_protocol(game, settings))
    if getattr(settings, "action_noise", 0.0):
        protocol = game_protocol(game, settings)
        if protocol.world != "gymnasium" or not has_continuous_outputs(protocol, output_names(game, protocol)):
            raise NeurozooError(
                f"action_noise is for gym. worlds with continuous actions, not for {game!r}. Set action_noise to 0."
            )
    if getattr(settings, "stage_threshold", None) is not None and game_protocol(game, settings).rules != "fixed":
        raise NeurozooError(
            f"stage_threshold is for river_crossing with fixed rules, but {game!r} is played under "
            f"{game_protocol(game, settings).name!r}. Leave stage_threshold empty."
        )


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
        check_game=check_game,
        check_fit=_check_fit,
        start_sources=lambda settings: () if settings.start_source is None else (settings.start_source,),
        gpus=_gpus,
        **traits,
    )


_selecting = partial(_spec, score_is_selected=True)

SPECS = (
    _selecting("ga", "Genetic algorithm", GaSettings, has_lineage=True),
    _selecting("rs", "Random search", GaSettings),
    _spec("es", "Evolution strategies", EsSettings),
    _spec("ns_es", "NS-ES", NoveltySettings, keeps_best=True),
    _spec("nsr_es", "NSR-ES", NoveltySettings, keeps_best=True),
    _spec("nsra_es", "NSRA-ES", NsraSettings, keeps_best=True),
    _selecting("ga_ns", "Genetic algorithm with novelty search", GaNoveltySettings, has_lineage=True),
)
