import dataclasses
from typing import Annotated, Literal

import pytest
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.neuroevolution.settings import GaSettings
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.run_settings import Settings
from neurozoo.algorithms.settings import resolve_settings
from neurozoo.errors import NeurozooError
from neurozoo.validation import Number, Pair, Whole, either
from pydantic import Field, Tag
from pydantic.dataclasses import dataclass


def test_random_starts_are_the_protocols_unless_others_are_chosen():
    assert DqnSettings(protocol="simple_dqn", windows="whole").noop_steps == (5, 31)
    assert resolve_settings("dqn", preset="simple_dqn").noop_steps == (5, 31)
    assert DqnSettings(noop_steps=(0, 0)) == DqnSettings()
    with pytest.raises(NeurozooError, match=r"\[5, 31\], of the protocol 'simple_dqn'.* or noop_steps to \[0, 0\]"):
        DqnSettings(protocol="simple_dqn")
    assert DqnSettings(protocol="simple_dqn", noop_steps=(0, 0)).noop_steps == (0, 0)


@dataclass(frozen=True, kw_only=True)
class Example(Settings):
    count: Whole = Field(3, ge=1, description="How many.")
    share: Number = Field(0.5, ge=0, lt=1, description="Which part.")
    limit: Whole | None = Field(None, ge=0, description="Where it ends.")
    rule: Literal["first", "last"] = Field("first", description="Which of them.")
    place: Literal["here", "there"] | None = Field(None, description="Where.")
    range: Pair[Annotated[Whole, Field(ge=0)]] | None = Field(None, description="From where to where.")
    flag: bool = Field(False, strict=True, description="Whether.")
    mixed: Annotated[
        Annotated[Whole, Field(ge=1), Tag("<integer>")] | Annotated[str, Tag("<string>")], either("integer", "string")
    ] = Field(5, description="A number or a word.")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"count": 2.0}, "count should be a whole number, but is 2.0."),
        ({"count": True}, "count should be a whole number, but is True."),
        ({"count": None}, "count should be a whole number, but is empty."),
        ({"count": 0}, "count should be at least 1, but is 0."),
        ({"share": "1e-3"}, "share should be a number, but is '1e-3'. YAML reads 1e-3 as text; write 0.001."),
        ({"share": True}, "share should be a number, but is True."),
        ({"share": float("nan")}, "share should be a number, but is nan."),
        ({"share": 1}, "share should be below 1, but is 1."),
        ({"limit": "x"}, "limit should be a whole number or empty, but is 'x'."),
        ({"limit": -1}, "limit should be at least 0, but is -1."),
        ({"rule": "lst"}, "rule: 'lst' is not allowed; did you mean 'last'? Allowed: first, last."),
        ({"place": "her"}, "place: 'her' is not allowed; did you mean 'here'? Allowed: here, there, empty."),
        ({"range": [1]}, "range should be [least, most] or empty, but is [1]."),
        ({"range": [2, 1]}, "range should be [least, most] or empty, but is [2, 1]."),
        ({"range": [1, True]}, "range should be [least, most] or empty, but is [1, True]."),
        ({"range": [-1, 1]}, "range[0] should be at least 0, but is -1."),
        ({"flag": 1}, "flag should be true or false, but is 1."),
        ({"mixed": 0}, "mixed should be at least 1, but is 0."),
        ({"mixed": True}, "mixed should be a whole number or text, but is True."),
        ({"mixed": [1]}, "mixed should be a whole number or text, but is [1]."),
        ({"cuont": 1}, "key 'cuont' is unknown; did you mean 'count'? Known: count, flag, limit, mixed, place,"),
        ({"share": 2, "count": 0}, "count should be at least 1, but is 0. share should be below 1, but is 2."),
    ],
)
def test_a_wrong_value_is_explained(values, sentence):
    with pytest.raises(NeurozooError) as caught:
        Example(**values)
    assert sentence in str(caught.value)


def test_numbers_stay_as_they_were_given_because_snakemake_compares_their_text():
    settings = Example(share=0, range=[1, 2], mixed=1)
    assert repr((settings.share, settings.range, settings.mixed)) == "(0, (1, 2), 1)"
    power = {"final": 2, "initial": 1, "type": "linear", "length": 3}
    assert repr(GaSettings(mutation_power=power).mutation_power) == repr(power)


def test_a_float_stands_for_a_whole_number_only_where_people_write_it():
    settings = Example().changed({"count": 6.0e9, "limit": 2.0, "mixed": 7.0}, from_yaml=True)
    assert repr((settings.count, settings.limit, settings.mixed)) == "(6000000000, 2, 7)"
    with pytest.raises(NeurozooError, match=r"count should be a whole number, but is 2\.5"):
        Example().changed({"count": 2.5}, from_yaml=True)
    with pytest.raises(NeurozooError, match=r"count should be a whole number, but is 6000000000\.0"):
        Example().changed({"count": 6.0e9})


def test_the_schema_has_types_bounds_defaults_and_descriptions():
    assert Example.schema() == {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "count": {"type": "integer", "minimum": 1, "default": 3, "description": "How many."},
            "share": {
                "type": "number", "minimum": 0, "exclusiveMaximum": 1, "default": 0.5, "description": "Which part.",
            },
            "limit": {"type": ["integer", "null"], "minimum": 0, "default": None, "description": "Where it ends."},
            "rule": {
                "type": "string", "enum": ["first", "last"], "default": "first", "description": "Which of them.",
            },
            "place": {
                "type": ["string", "null"], "enum": ["here", "there", None], "default": None, "description": "Where.",
            },
            "range": {
                "type": ["array", "null"], "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 2,
                "default": None, "description": "From where to where.",
            },
            "flag": {"type": "boolean", "default": False, "description": "Whether."},
            "mixed": {
                "type": ["integer", "string"], "minimum": 1, "default": 5, "description": "A number or a word.",
            },
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_setting_of_every_algorithm_has_a_description_and_presets_are_of_its_class(name):
    spec = ALGORITHMS[name]
    assert [field.name for field in dataclasses.fields(spec.settings)] == list(spec.settings.schema()["properties"])
    assert all(part["description"] for part in spec.settings.schema()["properties"].values())
    assert {type(preset) for preset in spec.presets.values()} == {spec.settings}
