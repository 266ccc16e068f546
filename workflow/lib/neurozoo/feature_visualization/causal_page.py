"""The causal report as one HTML page that one can read in a minute; it works offline in any browser."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neurozoo.agents.frozen import FrozenModel, open_frozen
from neurozoo.errors import NeurozooError
from neurozoo.feature_visualization.causal import PARTS, TOP
from neurozoo.feature_visualization.causal_effects import NUMBERS, TEXTS
from neurozoo.feature_visualization.guided import Excitation, colours_explained, find_excitations
from neurozoo.feature_visualization.guided_page import box_of, pages_of
from neurozoo.feature_visualization.layers import find_layer
from neurozoo.feature_visualization.receptive_fields import ReceptiveField, receptive_field
from neurozoo.feature_visualization.recordings import open_recording
from neurozoo.files import write_text
from neurozoo.interventions.intervention import INPUT
from neurozoo.records.csv_tables import read_csv_table

LEVEL = 0.05  # of the corrected p-values below which a part counts
REMEDY = "Make it again: the rule causal."
SHEETS = ("synthetic", "patches", "weights")  # pictures of a layer's filters that the page links to


@dataclass(frozen=True)
class Shown:
    """A part of the network on the page, with what excited it most if it is one channel."""

    row: dict[str, Any]
    layer: str
    excitation: Excitation | None = None
    field: ReceptiveField | None = None


def write_causal_page(
    table: str | os.PathLike, frozen_folder: str | os.PathLike, rollout: str | os.PathLike, output: str | os.PathLike
) -> list[Shown]:
    """Shows which parts of a network matter, from the table of `measure_effects`, and returns those that are shown.

    The `.html` has all its pictures inside. Pictures of filters that exist in `filters/` beside it are linked.

    Raises:
        NeurozooError: A file is missing or damaged, or the rollout comes from another agent.
    """
    frozen = open_frozen(frozen_folder)
    effects = read_csv_table(table, numbers=NUMBERS, texts=TEXTS, remedy=REMEDY)
    if len(effects) < 2 or effects["kind"][0] != "none":
        raise NeurozooError(f"{table} should begin with the agent without interventions. {REMEDY}")
    rows = [_row(row) for row in effects.to_dict("records")]
    none, *others = rows
    parts = [row for row in others if row["kind"] in PARTS]
    pairs = [row for row in others if row["kind"] == "pair"]
    for pair in pairs:
        pair["relation"] = _relation(pair, [row for row in parts if row["name"] in pair["name"].split(" + ")])
    # What cannot be told from chance is not shown as a finding.
    top = [row for row in parts if row["matters"]][:TOP]
    shown = _with_pictures(frozen, rollout, top)
    layers = {name: [row for row in parts if row["layer"] == name] for name in dict.fromkeys(_layers(frozen, parts))}
    reach = max(
        (abs(row[end]) for row in parts for end in ("change", "low", "high") if row[end] is not None), default=0
    )
    page = (
        pages_of(frozen)
        .get_template("causal.html")
        .render(
            frozen=frozen,
            agent=none,
            shown=shown,
            parts=parts,
            matter=[row for row in parts if row["matters"]],
            silent=[row for row in parts if row["silent"]],
            is_silence_known=any(row["silent"] is not None for row in parts),
            layers={name: sorted(rows, key=_place) for name, rows in layers.items()},
            whole=[row for row in others if row["kind"] == "layer"],
            named=[row for row in others if row["kind"] == "named"],
            pairs=pairs,
            telling=[row for row in pairs if row["matters"]],
            reach=reach or 1.0,
            box_of=box_of,
            colours=colours_explained(frozen.shape),
            sheets={
                name: [kind for kind in SHEETS if (Path(output).parent / "filters" / f"{kind}_{name}.png").exists()]
                for name in layers
            },
            level=LEVEL,
            file=Path(table).name,
        )
    )
    write_text(output, page)
    return shown


def _row(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with None for what was not measured, and whether it differs from what would be without it."""
    plain = {key: None if isinstance(value, float) and np.isnan(value) else value for key, value in row.items()}
    corrected = plain["p_corrected"]
    name = str(plain["name"])
    return {**plain, "layer": name.split(" ")[0].rstrip(","), "matters": corrected is not None and corrected < LEVEL}


def _relation(pair: dict[str, Any], parts: Sequence[dict[str, Any]]) -> str:
    """Returns in words what the two parts of a pair are to each other, if the score falls without each of them."""
    if len(parts) < 2 or any(part["again"] is None or part["again"] >= 0 for part in parts):
        return "do not add up"
    if pair["excess"] < 0:
        return "replace each other"
    ends = [part["again_high"] for part in parts if part["again_high"] is not None]
    if pair["low"] is not None and len(ends) == 2 and pair["low"] > max(ends):
        return "balance each other"
    return "depend on each other"


def _place(row: dict[str, Any]) -> int:
    return int(row["name"].split(" ")[1].split("-")[0])


def _layers(frozen: FrozenModel, parts: Sequence[dict[str, Any]]) -> list[str]:
    known = {row["layer"] for row in parts}
    return [name for name in (INPUT, *(layer.name for layer in frozen.layers)) if name in known]


def _with_pictures(frozen: FrozenModel, rollout: str | os.PathLike, top: Sequence[dict[str, Any]]) -> list[Shown]:
    """Finds what excites single channels most in the recording, if the agent sees pictures."""
    found: dict[str, Shown] = {}
    has_pictures = (frozen.shape.height, frozen.shape.width) != (1, 1)
    with open_recording(frozen, rollout) as recording:
        for name in dict.fromkeys(row["layer"] for row in top if row["kind"] == "channel" and has_pictures):
            layer = find_layer(frozen, name)
            rows = [row for row in top if row["layer"] == name]
            excitations = find_excitations(frozen, layer, recording, [_place(row) for row in rows])
            field = receptive_field(frozen, layer)
            found |= {row["name"]: Shown(row, name, one, field) for row, one in zip(rows, excitations, strict=True)}
    return [found.get(row["name"]) or Shown(row, row["layer"]) for row in top]
