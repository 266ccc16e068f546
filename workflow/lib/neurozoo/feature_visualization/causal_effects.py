"""What ablations change: paired differences between games, with intervals, corrections and a table."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from neurozoo.files.csv import write_csv_rows
from neurozoo.interventions.intervention import Intervention
from neurozoo.records.statistics import holm_corrected, signed_rank_test

Intervals = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # from (rows, starts) to the ends of each row's mean


@dataclass
class Effect:
    """A part of the network, and what its ablation changes. All that was not measured is NaN."""

    kind: str  # `none`, `layer`, `input`, `channel`, `group`, `named` (in the configuration) or `pair`
    name: str  # such as `conv2 7`
    interventions: tuple[Intervention, ...]
    scores: np.ndarray = field(default_factory=lambda: np.zeros(0))  # one per start
    steps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    changed_actions: float = np.nan  # share of recorded observations for which it takes another action
    activation: float = np.nan  # mean on them
    is_silent: bool | None = None  # whether it was 0 in all games, so that its ablation changes nothing: not played
    numbers: dict[str, float] = field(default_factory=dict)  # columns of the table


def compare(effects: Sequence[Effect], intervals: Intervals, *, has_chance: bool) -> None:
    """Compares each effect with the first, that of nothing, start by start."""
    none = effects[0]
    p_values = np.full(len(effects), np.nan)
    for count in {len(effect.scores) for effect in effects}:
        numbers = [n for n, effect in enumerate(effects) if len(effect.scores) == count]
        those = [effects[n] for n in numbers]
        places = different_starts([replace(none, scores=none.scores[:count]), *those], has_chance=has_chance)
        for name, of in (("", "scores"), ("steps_", "steps")):
            differences = np.stack([getattr(each, of)[places] - getattr(none, of)[places] for each in those])
            for each, found in zip(those, _with_intervals(differences, intervals), strict=True):
                each.numbers |= dict(zip((f"{name}change", f"{name}low", f"{name}high"), found, strict=True))
        for n, effect in zip(numbers, those, strict=True):
            effect.numbers |= {"starts": len(places), "score": effect.scores[places].mean()}
            if n and not effect.is_silent:
                p_values[n] = signed_rank_test(effect.scores[places] - none.scores[places])
    for effect, p_value, corrected in zip(effects, p_values, holm_corrected(p_values), strict=True):
        effect.numbers |= {"p_value": p_value, "p_corrected": corrected}
    places = different_starts([none], has_chance=has_chance)
    (score, low, high), *_ = _with_intervals(none.scores[None, places], intervals)
    none.numbers |= {"score": score, "low": low, "high": high, "change": np.nan}


def compare_again(
    effects: Sequence[Effect],
    again: Sequence[Effect],
    pairs: Sequence[Effect],
    intervals: Intervals,
    *,
    has_chance: bool,
) -> Sequence[Effect]:
    """Adds what the other starts say: the effects of the top parts, and how far pairs are from the sum of both.

    Args:
        effects: What was played from the first starts.
        again: Nothing and the top parts of `effects`, played from other starts.
        pairs: Played from the same starts as `again`.
        intervals: Finds the ends of means.
        has_chance: Whether two games from the same no-ops can differ.

    Returns:
        The pairs; none if the other starts are copies of the first.
    """
    first = {(effect.kind, effect.name): effect for effect in effects}
    places = different_starts([*again, *pairs], has_chance=has_chance)
    if not has_chance:
        known = {*zip(*(first[each.kind, each.name].scores for each in again), strict=True)}
        places = [place for place in places if tuple(each.scores[place] for each in again) not in known]
    if not places:
        return []
    base = again[0].scores[places]
    singles = {each.name: each.scores[places] - base for each in again[1:]}
    for each, numbers in zip(again[1:], _with_intervals(np.array([*singles.values()]), intervals), strict=True):
        own = dict(zip(("again", "again_low", "again_high"), numbers, strict=True))
        first[each.kind, each.name].numbers |= own
    if not pairs:
        return []
    joint = np.array([pair.scores[places] - base for pair in pairs])
    excess = joint - np.array([sum(singles[name] for name in pair.name.split(" + ")) for pair in pairs])
    p_values = np.array([signed_rank_test(row) for row in excess])
    rows = zip(
        pairs,
        _with_intervals(joint, intervals),
        _with_intervals(excess, intervals),
        p_values,
        holm_corrected(p_values),
        strict=True,
    )
    for pair, of_both, of_excess, p_value, corrected in rows:
        pair.numbers |= {"starts": len(places), "score": pair.scores[places].mean()}
        pair.numbers |= dict(zip(("change", "low", "high"), of_both, strict=True))
        pair.numbers |= dict(zip(("excess", "excess_low", "excess_high"), of_excess, strict=True))
        pair.numbers |= {"p_value": p_value, "p_corrected": corrected}
    return pairs


def different_starts(effects: Sequence[Effect], *, has_chance: bool) -> list[int]:
    """Returns the starts that are not copies of another: without chance, a game has many starts, but few games.

    From two starts of one game, every agent, with whatever is ablated, has the same score. Only one of them counts.
    """
    if has_chance:
        return list(range(len(effects[0].scores)))
    columns = np.stack([effect.scores for effect in effects])
    return sorted(np.unique(columns, axis=1, return_index=True)[1].tolist())


def _with_intervals(rows: np.ndarray, intervals: Intervals) -> list[tuple[float, float, float]]:
    """Returns the mean of each row, with the ends of its interval."""
    if not len(rows):
        return []
    low, high = intervals(rows)
    return list(zip(rows.mean(axis=1), low, high, strict=True))


NUMBERS = (
    "score", "change", "low", "high", "p_value", "p_corrected", "steps_change", "steps_low", "steps_high",
    "changed_actions", "activation", "again", "again_low", "again_high", "excess", "excess_low", "excess_high",
    "silent", "starts", "episodes", "sticky_probability",
)  # fmt: skip
TEXTS = ("kind", "name", "with")


def write_effects(
    output: str | os.PathLike, effects: Sequence[Effect], sticky_probability: float, *, with_: str, episodes: int
) -> None:
    """Writes a row per effect; what was not measured is empty."""
    facts = {"episodes": episodes, "sticky_probability": sticky_probability}
    rows = []
    for effect in effects:
        kind_of = effect.interventions[0].with_ if effect.interventions else with_
        silent = np.nan if effect.is_silent is None else float(effect.is_silent)
        own = {"changed_actions": effect.changed_actions, "activation": effect.activation, "silent": silent}
        own |= effect.numbers | facts
        numbers = [own.get(name, np.nan) for name in NUMBERS]
        rows.append(
            [
                effect.kind,
                effect.name,
                kind_of,
                *("" if np.isnan(number) else float(f"{number:.10g}") for number in numbers),
            ]
        )
    write_csv_rows(output, [*TEXTS, *NUMBERS], rows)
