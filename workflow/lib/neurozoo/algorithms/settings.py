"""The settings of a run: a preset, with the changes that the user wants."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from neurozoo.algorithms.registry import get_algorithm, unknown_preset, unknown_setting
from neurozoo.errors import NeurozooError


def resolve_settings(
    algo: str, *, preset: str, overrides: Mapping[str, object] | None = None, from_yaml: bool = False
) -> Any:
    """Returns a preset, complete and checked, with the changes that the user wants.

    Args:
        algo: Algorithm such as `ga`.
        preset: Named settings such as `uber2018`.
        overrides: Changed values by setting name.
        from_yaml: Whether a whole number may be written as a float, such as 6.0e+9.

    Raises:
        NeurozooError: The algorithm, the preset or a setting is unknown, or a value is out of range. The message
            suggests the most similar name.
    """
    spec = get_algorithm(algo)
    if preset not in spec.presets:
        raise unknown_preset(preset, algo)
    settings = spec.presets[preset]
    known = [field.name for field in fields(settings)]
    for name in overrides or {}:
        if name not in known:
            raise unknown_setting(name, algo)
    settings = settings.changed(overrides or {}, from_yaml=from_yaml)
    spec.check(settings)
    return settings


def fitting_settings(
    algo: str, game: str, model: str, *, preset: str, overrides: Mapping[str, object], from_yaml: bool = False
) -> Any:
    """Returns what `resolve_settings` returns, with a preset that fits a run for which nobody chose it.

    In a game that has presets, that is `mario_demo`, for example, instead of `demo`. Elsewhere it is the preset with a
    protocol of the game, and with what the network needs. Settings that fit as they are stay as they are.
    """
    settings = resolve_settings(algo, preset=preset, overrides=overrides, from_yaml=from_yaml)
    try:
        settings.check_game(game)
        settings.check_model(model)
    except NeurozooError:
        presets = get_algorithm(algo).presets
        own = presets.get(f"{game}_{preset}", presets[preset])
        settings = own.changed({**own.changes_for(game, model), **overrides}, from_yaml=from_yaml)
    return settings
