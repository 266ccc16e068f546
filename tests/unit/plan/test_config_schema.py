from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from neurozoo.algorithms.registry import ALGORITHMS
from neurozoo.algorithms.run_settings import Settings
from neurozoo.algorithms.spec import AlgorithmSpec
from neurozoo.errors import NeurozooError
from neurozoo.figures.learning_curves import FRAMES_AXES
from neurozoo.figures.style import COLOUR_BY, FORMATS
from neurozoo.plan.config_schema import config_schema, schema_text
from neurozoo.plan.configuration import check_config
from neurozoo.plan.planned_runs import run_settings
from neurozoo.plan.reference_pages import presets_page, settings_page
from neurozoo.records.curves import INTERVALS
from neurozoo.validation import Whole
from pydantic import Field
from pydantic.dataclasses import dataclass

PROJECT = Path(__file__).parents[3]
SCHEMA = config_schema()
EDITOR = Draft202012Validator(SCHEMA)
SWEEP = "experiments: {demo: {algo: ga, games: [pong], models: [large], sweep: {%s}}}"
DEMO = "experiments: {demo: {algo: ga, games: [pong], models: [large], overrides: {%s}}}"


@pytest.mark.parametrize("algo", ALGORITHMS)
def test_the_schema_lists_exactly_the_settings_that_exist_of_runs_and_of_experiments(algo):
    expected = {field.name for field in fields(ALGORITHMS[algo].settings)}
    choice = SCHEMA["properties"]["algorithms"]["properties"][algo]
    assert set(definition(choice["properties"]["overrides"])["properties"]) == expected
    (branch,) = (part for part in branches() if algo in part["if"]["properties"]["algo"]["enum"])
    assert set(definition(branch["then"]["properties"]["overrides"])["properties"]) == expected


def definition(reference: dict) -> dict:
    return SCHEMA["$defs"][reference["$ref"].removeprefix("#/$defs/")]


def branches() -> list[dict]:
    return SCHEMA["properties"]["experiments"]["additionalProperties"]["allOf"]


def test_the_schema_lists_exactly_what_a_figure_can_look_like():
    look = SCHEMA["properties"]["figures"]["properties"]["learning_curves"]["properties"]
    assert set(look["colour_by"]["enum"]) == set(COLOUR_BY)
    assert set(look["interval"]["enum"]) == set(INTERVALS)
    assert set(look["frames_axis"]["enum"]) == set(FRAMES_AXES)
    assert set(look["formats"]["items"]["enum"]) == set(FORMATS)


def test_every_mapping_of_the_schema_refuses_unknown_keys_and_every_key_is_described():
    def walk(schema: dict, place: str) -> None:
        if "object" in schema.get("type", ()):
            assert "additionalProperties" in schema, place
        for key, part in schema.get("properties", {}).items():
            assert part.get("description") or "$ref" in part, f"{place}.{key}"
            walk(part, f"{place}.{key}")
        if isinstance(schema.get("additionalProperties"), dict):
            walk(schema["additionalProperties"], f"{place}.NAME")

    walk(SCHEMA, "")
    for name, part in SCHEMA["$defs"].items():
        walk(part, name)


def test_the_schema_is_one_and_the_file_holds_it():
    Draft202012Validator.check_schema(SCHEMA)
    assert yaml.safe_load(schema_text()) == SCHEMA


@pytest.mark.parametrize("path", sorted((PROJECT / "config").glob("*.yaml")), ids=lambda path: path.stem)
def test_an_editor_finds_nothing_wrong_with_the_configurations_of_the_project(path):
    assert list(EDITOR.iter_errors(yaml.safe_load(path.read_text()))) == []


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "experiments: {}",
        "experiments: {a b: {algo: ga, games: [pong], models: [large]}}",
        DEMO % "popsize: 3",
        DEMO % "frames: 0",
        DEMO % "elite_rule: raceing",
        DEMO % "mutation_power: {initial: 0}",
        DEMO % "" + "\nmovie: {fsp: 30}",
        DEMO % "" + "\nstatistics: {confidence: 1}",
        DEMO % "" + "\ndistributed: 3",
        DEMO % "" + "\nalgorithms: {dqn: {overrides: {noop_steps: [1, 2, 3]}}}",
        "imports: {}",
        SWEEP % "mutation_powr: [0.1]",
        SWEEP % "mutation_power: []",
        SWEEP % "mutation_power: [0.1, 0]",
        SWEEP % "mutation_power: [0.1, 0.1]",
    ],
)
def test_an_editor_finds_mistakes(text):
    assert list(EDITOR.iter_errors(yaml.safe_load(text)))


def test_an_editor_finds_nothing_wrong_with_a_sweep():
    text = SWEEP % "mutation_power: [0.1, {type: constant, initial: 1}], elite_rule: [validated, carried]"
    assert not list(EDITOR.iter_errors(yaml.safe_load(text)))
    check_config(yaml.safe_load(text))


@dataclass(frozen=True, kw_only=True)
class ToySettings(Settings):
    evaluations: Whole = Field(100, ge=1, description="Budget in evaluations of levels.")
    seed: Whole = Field(0, ge=0, description="Seed of the experiment.")


@pytest.fixture
def toy():
    presets = {"demo": ToySettings(evaluations=5)}
    ALGORITHMS.register(
        AlgorithmSpec(
            name="toy", title="Toy", settings=ToySettings, presets=presets, open_session=None,
            result="archive",
        )
    )  # fmt: skip
    yield
    del ALGORITHMS["toy"]


def test_a_new_algorithm_appears_by_itself_in_checks_schema_and_reference(toy):
    text = DEMO.replace("algo: ga", "algo: toy")
    config = check_config(yaml.safe_load(text % "evaluations: 7.0"))
    names = {"game": "pong", "model": "large"}
    assert run_settings(config, algo="toy", run=1, **names) == {"evaluations": 7, "seed": 0}
    assert run_settings(config, algo="toy", run=2, **names) == {"evaluations": 5, "seed": 0}
    with pytest.raises(NeurozooError, match=r"demo\.overrides\.evaluations should be at least 1, but is 0"):
        check_config(yaml.safe_load(text % "evaluations: 0"))
    with pytest.raises(NeurozooError, match="toy has no setting 'frames'"):
        check_config(yaml.safe_load(text % "frames: 7"))
    editor = Draft202012Validator(config_schema())
    assert not list(editor.iter_errors(yaml.safe_load(text % "evaluations: 7")))
    assert list(editor.iter_errors(yaml.safe_load(text % "frames: 7")))
    assert "### `toy` (Toy)" in settings_page()
    assert "## `toy`: Toy" in presets_page()
