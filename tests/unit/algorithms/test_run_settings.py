import dataclasses
import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from neurozoo.algorithms.dqn.settings import DqnSettings
from neurozoo.algorithms.neuroevolution.settings import EsSettings, GaSettings
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.run_settings import Settings
from neurozoo.algorithms.settings import renaming_notices, resolve_settings
from neurozoo.errors import NeurozooError
from neurozoo.validation import Number, Pair, Whole, either
from pydantic import Field, Tag
from pydantic.dataclasses import dataclass

# What Snakemake had on record of each preset before settings were renamed: tests/data/recorded_settings.json.
RECORDED = json.loads((Path(__file__).parents[2] / "data" / "recorded_settings.json").read_text())
FORMER = {"worlds": 4, "random_steps": 50, "clip_error": 0.5}
PRESENT = {"num_envs": 4, "learning_starts": 50, "huber_delta": 0.5}


@pytest.mark.parametrize("name", RECORDED)
def test_no_finished_run_is_trained_again_because_settings_were_renamed_or_added(name):
    algo, preset = name.split("/")
    settings = resolve_settings(algo, preset=preset, overrides=ALGORITHMS[algo].first_presets.get(preset))
    assert repr(settings.as_first_recorded()) == RECORDED[name]
    added = {name: value for name, value in vars(settings).items() if name in settings.ADDED}
    assert resolve_settings(algo, preset=preset, overrides=settings.as_first_recorded() | added) == settings


def test_an_added_setting_is_recorded_as_soon_as_it_differs_from_what_was_true_before():
    before, changed = (EsSettings(tied_ranks=ties).as_first_recorded() for ties in ("order", "average"))
    assert changed == before | {"tied_ranks": "average"}
    assert "tied_ranks" not in before
    assert EsSettings.as_recorded({"seed": 3}) == {**EsSettings.ADDED, "seed": 3}


def test_what_presets_said_at_first_are_settings_that_they_now_say_otherwise():
    for spec in ALGORITHMS.values():
        for preset, values in spec.first_presets.items():
            assert all(getattr(spec.presets[preset], name) != value for name, value in values.items())


@pytest.mark.parametrize(
    ("protocol", "recorded", "noop_steps"),
    [
        ("simple_dqn", [5, 31], (5, 31)),
        ("simple_dqn", None, (0, 0)),  # the protocol had no random starts then
        ("machado2018", [5, 31], (5, 31)),
        ("machado2018", None, None),
    ],
)
def test_random_starts_of_a_run_of_before_are_those_with_which_it_was_trained(protocol, recorded, noop_steps):
    found = DqnSettings.as_recorded({"protocol": protocol, "noop_steps": recorded, "windows": "whole"})
    settings = DqnSettings(**found)
    assert settings.noop_steps == noop_steps
    again = DqnSettings.as_recorded(json.loads(json.dumps(dataclasses.asdict(settings))))
    assert DqnSettings(**again) == settings
    assert settings.as_first_recorded()["noop_steps"] == (recorded and tuple(recorded))


def test_random_starts_are_the_protocols_unless_others_are_chosen():
    assert DqnSettings(protocol="simple_dqn", windows="whole").noop_steps == (5, 31)
    assert resolve_settings("dqn", preset="simple_dqn").noop_steps == (5, 31)
    assert DqnSettings(noop_steps=(0, 0)) == DqnSettings()
    with pytest.raises(NeurozooError, match=r"\[5, 31\], of the protocol 'simple_dqn'.* or noop_steps to \[0, 0\]"):
        DqnSettings(protocol="simple_dqn")
    assert DqnSettings(protocol="simple_dqn", noop_steps=(0, 0)).noop_steps == (0, 0)


def test_former_names_mean_the_same_settings():
    old, new = (resolve_settings("dqn", preset="nature", overrides=values) for values in (FORMER, PRESENT))
    assert old == new
    assert (new.num_envs, new.learning_starts, new.huber_delta) == (4, 50, 0.5)


def test_only_former_names_are_replaced_and_the_order_is_kept():
    values = {"algo": "dqn", "target_steps": 7, "seed": 1, "priority_steps": 9}
    assert list(DqnSettings.renamed(values).items()) == [
        ("algo", "dqn"), ("target_update_period", 7), ("seed", 1), ("importance_steps", 9),
    ]  # fmt: skip


def test_each_former_name_gets_a_sentence_with_the_present_one():
    assert renaming_notices("dqn", {"worlds": 4, "num_envs": 4, "seed": 1}) == [
        "worlds is now called num_envs; please rename it. The next release will not know the old name."
    ]
    assert renaming_notices("ga_ns", {"nearest": 4}) == [
        "nearest is now called num_neighbours; please rename it. The next release will not know the old name."
    ]
    assert renaming_notices("ga", {"nearest": 4}) == []


def test_two_names_of_one_setting_are_refused():
    with pytest.raises(NeurozooError, match=r"worlds and num_envs are the same setting.*: leave out worlds"):
        resolve_settings("dqn", preset="nature", overrides={"worlds": 4, "num_envs": 4})


def test_former_names_are_those_of_no_setting_and_present_names_are_settings():
    for spec in ALGORITHMS.values():
        names = {field.name for field in dataclasses.fields(spec.settings)}
        assert not names & set(spec.settings.RENAMED)
        assert names >= set(spec.settings.RENAMED.values())


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
