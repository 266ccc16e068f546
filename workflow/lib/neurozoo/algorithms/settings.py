"""The settings of a run: a preset, with the changes that the user wants."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from neurozoo.algorithms.registry import get_algorithm, unknown_preset, unknown_setting


def resolve_settings(
    algo: str, *, preset: str, overrides: Mapping[str, object] | None = None, from_yaml: bool = False
) -> Any:
    """Returns a preset with the changes that the user wants.

    Args:
        algo: Algorithm such as `ga`.
        preset: Named settings such as `uber2018`.
        overrides: Changed values by setting name.
        from_yaml: Whether a whole number may be written as a float, such as 6.0e+9.

    Returns:
        The complete, checked settings.

    Raises:
        NeurozooError: The algorithm, the preset or a setting is unknown, or a value is out of range. The message
            suggests the most similar name.
    """
    presets = get_algorithm(algo).presets
    if preset not in presets:
        raise unknown_preset(preset, algo)
    settings = presets[preset]
    known = [field.name for field in fields(settings)]
    for name in overrides or {}:
        if name not in known:
            raise unknown_setting(name, algo)
    return settings.changed(overrides or {}, from_yaml=from_yaml)
