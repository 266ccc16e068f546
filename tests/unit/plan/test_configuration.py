import copy
import inspect
import itertools
from dataclasses import asdict, fields
from pathlib import Path

import pytest
import yaml
from neurozoo import configuration
from neurozoo.algorithms.settings import PRESETS, GaSettings
from neurozoo.configuration import (
    PlannedRun,
    check_config,
    classified_games,
    filmed_runs,
    filter_files,
    import_choices,
    imported_runs,
    planned_runs,
    run_settings,
    runs_of_game,
    runs_with_layer,
    runs_with_lean,
    runs_with_phases,
)
from neurozoo.errors import NeurozooError
from neurozoo.filters.attribution import draw_attribution
from neurozoo.filters.patches import draw_patches
from neurozoo.filters.products import PRODUCTS
from neurozoo.filters.synthetic import Ascent
from neurozoo.plots import COLOUR_BY, FORMATS, FRAMES_AXES, INTERVALS

PROJECT = Path(__file__).parents[2]
SCHEMA = yaml.safe_load((PROJECT / "workflow" / "schemas" / "config.schema.yaml").read_text())
DEMO = "experiments: {demo: {algo: ga, games: [pong], models: [large]}}\n"


def checked(text: str) -> dict:
    return check_config(yaml.safe_load(text), SCHEMA)


def experiment(**changes: object) -> dict:
    return {"algo": "ga", "games": ["pong"], "models": ["large"]} | changes


def test_what_is_left_out_gets_its_default():
    config = checked(DEMO + "rollout: {episodes: 3}")
    assert config["experiments"]["demo"] == experiment(preset="demo", runs=1, overrides={})
    assert (config["rollout"]["episodes"], config["rollout"]["max_steps"]) == (3, 2500)
    assert config["noise"]["size"] == 250_000_000
    assert config["algorithms"] == {name: {"preset": "demo", "overrides": {}} for name in PRESETS}


def test_checking_changes_neither_the_configuration_nor_the_schema():
    config, schema = yaml.safe_load(DEMO), copy.deepcopy(SCHEMA)
    check_config(config, schema)["algorithms"]["ga"]["overrides"]["seed"] = 1
    assert config == yaml.safe_load(DEMO)
    assert schema == SCHEMA


def test_a_whole_number_with_an_exponent_becomes_an_integer():
    config = checked("experiments: {demo: {algo: ga, games: [pong], models: [large], overrides: {frames: 6.0e+9}}}")
    frames = run_settings(config, algo="ga", game="pong", model="large", run=1)["frames"]
    assert frames == 6_000_000_000
    assert isinstance(frames, int)


@pytest.mark.parametrize(
    ("config", "sentences"),
    [
        # structure
        ("", ["The file should be a mapping of keys to values, but is empty."]),
        ("{}", ["the key 'experiments' is missing."]),
        (
            DEMO + "moive: {}",
            ["key 'moive' is unknown; did you mean 'movie'? Known: algorithms, comparisons, distributed,"],
        ),
        (
            DEMO + "movie: {fsp: 30}",
            ["movie: key 'fsp' is unknown; did you mean 'fps'? Known: fps, game, grids, layers, max_steps, overlay."],
        ),
        (DEMO + "movie: {fps: fast}", ["movie.fps should be a whole number, but is 'fast'."]),
        (DEMO + "movie: {fps: true}", ["movie.fps should be a whole number, but is True."]),
        (DEMO + "movie: {fps: 0}", ["movie.fps should be at least 1, but is 0."]),
        (DEMO + "statistics: {confidence: 95}", ["statistics.confidence should be below 1, but is 95."]),
        (
            DEMO + "figures: {learning_curves: {interval: maen}}",
            ["figures.learning_curves.interval: 'maen' is not allowed; did you mean 'mean'? Allowed: mean,"],
        ),
        ("experiments: {}", ["experiments should have at least 1 entry, but is empty."]),
        ("experiments: {demo: }", ["experiments.demo should be a mapping of keys to values, but is empty."]),
        (
            "experiments: {a b: {algo: ga, games: [pong], models: [large]}}",
            ["experiments: the name 'a b' should consist"],
        ),
        ({"games": []}, ["experiments.demo.games should have at least 1 entry, but is empty."]),
        ({"games": "pong"}, ["experiments.demo.games should be a list, but is 'pong'."]),
        ({"games": ["pong", 3]}, ["experiments.demo.games[1] should be text, but is 3."]),
        ({"games": ["pong", "pong"]}, ["experiments.demo.games should name everything once, but is ['pong', 'pong']."]),
        ({"runs": 0}, ["experiments.demo.runs should be at least 1, but is 0."]),
        ({"runs": [1, 0]}, ["experiments.demo.runs[1] should be at least 1, but is 0."]),
        ({"runs": "two"}, ["experiments.demo.runs should be a whole number or a list, but is 'two'."]),
        (
            {"overrides": {"popsize": 3}},
            ["experiments.demo.overrides: key 'popsize' is unknown; did you mean 'population_size'? Known:"],
        ),
        (
            {"overrides": {"frames": "6e9"}},
            ["experiments.demo.overrides.frames should be a whole number, but is '6e9'.", "write 6_000_000_000."],
        ),
        (
            {"overrides": {"mutation_power": "2e-3"}},
            ["a number or a mapping", "is '2e-3'. YAML reads 2e-3 as", "write 0.002."],
        ),
        ({"overrides": {"frames": "nan"}}, ["should be a whole number, but is 'nan'."]),
        ({"overrides": {"frames": 1.5}}, ["experiments.demo.overrides.frames should be a whole number, but is 1.5."]),
        # meaning
        ({"algo": "gaa"}, ["experiments.demo.algo: algorithm 'gaa' is unknown; did you mean 'ga'? Known: "]),
        (
            {"preset": "uber2081"},
            ["experiments.demo.preset: preset of ga 'uber2081' is unknown; did you mean 'uber2018'?"],
        ),
        (
            {"games": ["pong", "mspacman"]},
            ["experiments.demo.games[1]: game 'mspacman' is unknown; did you mean 'ms_pacman'? Known: adventure,"],
        ),
        ({"models": ["lage"]}, ["experiments.demo.models[0]: network 'lage' is unknown; did you mean 'large'?"]),
        (
            {"overrides": {"protocol": "uber2017"}},
            ["experiments.demo.overrides: protocol 'uber2017' is unknown; did you mean 'uber2018'?"],
        ),
        (
            {"overrides": {"engine": "bached"}},
            ["experiments.demo.overrides: engine 'bached' is unknown; did you mean 'batched'? Known: batched, native."],
        ),
        (
            {"games": ["gym.CartPole-v1"], "models": ["simple"], "overrides": {"engine": "batched"}},
            ["demo.games[0]: The batched engine does not play Gymnasium's 'gym.CartPole-v1'. Set engine to native."],
        ),
        (
            {"overrides": {"mutation_power": {"type": "linar", "initial": 1, "final": 2, "length": 3}}},
            ["experiments.demo.overrides: schedule type 'linar' is unknown; did you mean 'linear'?"],
        ),
        (
            {"overrides": {"selection_threshold": 10_000}},
            ["experiments.demo.overrides: selection_threshold should be at most population_size"],
        ),
        (DEMO + "algorithms: {rs: {preset: dmeo}}", ["algorithms.rs.preset: preset of rs 'dmeo' is unknown;"]),
        (
            DEMO + "metrics: {columns: [Iteration, PopulationEpRewMx]}",
            ["metrics.columns[1]: field 'PopulationEpRewMx' is unknown; did you mean 'PopulationEpRewMax'?"],
        ),
        (
            DEMO + "generations: {experiments: [dmeo]}",
            ["generations.experiments[0]: experiment 'dmeo' is unknown;"],
        ),
        (
            DEMO + "figures: {learning_curves: {references: {files: {simple_dqn: {pnog: pong.csv}}}}}",
            ["figures.learning_curves.references.files.simple_dqn: game 'pnog' is unknown; did you mean 'pong'?"],
        ),
        (DEMO + "filters: {experiments: [dmeo]}", ["filters.experiments[0]: experiment 'dmeo' is unknown;"]),
        (DEMO + "filters: {layers: [conv9]}", ["filters.layers[0]: layer 'conv9' is unknown; did you mean 'conv"]),
        (DEMO + "filters: {products: [weight]}", ["filters.products[0]: product 'weight' is unknown;"]),
        (
            DEMO + "test: {protocols: [machado]}",
            ["test.protocols[0]: protocol 'machado' is unknown; did you mean 'mach"],
        ),
        (DEMO + "zoo: {keep_tags: [human, 1X]}", ["zoo.keep_tags[1]: A tag is initial", "but '1X' came."]),
        (DEMO + "rollout: {min_steps: 3000}", ["rollout.min_steps should be at most max_steps, 2500, but is 3000."]),
        (DEMO + "rollout: {action_noise: 2}", ["rollout.action_noise should be at most 1, but is 2."]),
        (
            DEMO + "movie: {layers: [conv9]}",
            [
                "movie.layers[0]: layer of the planned networks 'conv9' is unknown;",
                "Known: conv1, conv2, conv3, fc, out",
            ],
        ),
        (DEMO + "movie: {grids: [pogn]}", ["movie.grids[0]: planned game 'pogn' is unknown; did you mean 'pong'?"]),
        (DEMO + "movie: {game: 1}", ["movie.game should be true or false, but is 1."]),
        (DEMO + "comparisons: {games: [pogn]}", ["comparisons.games[0]: planned game 'pogn' is unknown; did you mean"]),
        (
            DEMO + "comparisons: {seed: 5000000000}",
            ["comparisons.seed should be at most 4294967295, but is 5000000000"],
        ),
        (
            DEMO + "rollout: {streamlined: true}\nfilters: {experiments: [demo]}",
            ["rollout.streamlined should be false where filters.experiments asks for patches, synthetic, inversion,"],
        ),
        (
            DEMO + "rollout: {streamlined: true}\ncomparisons: {games: [pong]}",
            ["rollout.streamlined should be false where comparisons.games names games"],
        ),
        (
            DEMO + "rollout: {parameter_noise: 0.1}\nfilters: {experiments: [demo]}",
            ["rollout.parameter_noise should be 0 where filters.experiments asks for patches, synthetic, inversion,"],
        ),
        (
            "experiments: {demo: {algo: ga, games: [pong, hard_maze], models: [simple]}}\nrollout: {action_noise: 0.1}",
            ["rollout.action_noise should be 0, but is 0.1: 'hard_maze' obeys all outputs"],
        ),
        (
            "experiments: {demo: {algo: ga, games: [pong, river_crossing], models: [small]}}\n"
            "rollout: {sticky_probability: 0.25}",
            ["rollout.sticky_probability should be empty, but is 0.25: 'river_crossing' has no emulator"],
        ),
        (DEMO + "comparisons: {keys: [rom]}", ["comparisons.keys[0]: 'rom' is not allowed; did you mean 'ram'?"]),
        (DEMO + "generations: {every: 0}", ["generations.every should be at least 1, but is 0."]),
        ("imports: {}", ["imports should have at least 1 entry, but is empty."]),
        ("imports: {a: {game: pong}}", ["imports.a: the key 'model' is missing. Network that it was evolved for"]),
        ("imports: {a: {game: pong, model: small}}", ["imports.a should have either file or genome, but has neither."]),
        (
            "imports: {a: {game: pong, model: small, file: x, genome: [1]}}",
            ["imports.a should have either file or genome, but has both."],
        ),
        ("imports: {a: {game: pnog, model: small, file: x}}", ["imports.a.game: game 'pnog' is unknown; did you mean"]),
        ("imports: {a: {game: pong, model: smal, file: x}}", ["imports.a.model: network 'smal' is unknown; did you"]),
        (
            "imports: {a: {game: pong, model: small, file: x, start_state: '2018'}}",
            ["imports.a: The start state of 2018 is not known for 'pong'"],
        ),
        (
            "imports: {a: {game: pong, model: small, file: x, start_state: 2018}}",
            ["imports.a.start_state should be text or empty, but is 2018."],
        ),
        (
            "imports: {a: {game: pong, model: small, file: x}, b: {game: pong, model: Model, genome: [1]}}",
            ["imports.a and imports.b both make the run 1 of one game and network"],
        ),
        # 8,224 + 32,832 + 36,928 + (7,744 + 1) x 512 + (512 + 1) x 18 weights and biases
        (DEMO + "noise: {size: 4052658}", ["noise.size should be above the 4,052,658 parameters of network 'large'"]),
    ],
)
def test_a_slip_is_answered_with_its_place_what_is_allowed_and_the_nearest_name(config, sentences):
    config = {"experiments": {"demo": experiment(**config)}} if isinstance(config, dict) else yaml.safe_load(config)
    with pytest.raises(NeurozooError) as caught:
        check_config(config, SCHEMA, source="mine.yaml")
    assert str(caught.value).startswith("mine.yaml has one problem:\n  ")
    for sentence in sentences:
        assert sentence in str(caught.value)


def test_all_slips_are_listed_at_once():
    wrong = experiment(games=["pnog"], models=["lage"], preset="dmeo")
    with pytest.raises(NeurozooError, match="has 4 problems") as caught:
        check_config({"experiments": {"one": wrong, "two": experiment(algo="g")}}, SCHEMA)
    assert len(str(caught.value).splitlines()) == 5


def test_runs_are_listed_in_the_order_of_the_file_and_each_once():
    config = check_config(
        {
            "experiments": {
                "one": experiment(games=["pong", "frostbite"], models=["large"], runs=2),
                "two": experiment(games=["frostbite"], models=["small", "LargeModel"], runs=[2, 7]),
            }
        },
        SCHEMA,
    )
    assert [(run.game, run.model, run.run) for run in planned_runs(config)] == [
        ("pong", "large", 1),
        ("pong", "large", 2),
        ("frostbite", "large", 1),
        ("frostbite", "large", 2),
        ("frostbite", "small", 2),
        ("frostbite", "small", 7),
        ("frostbite", "large", 7),
    ]
    assert planned_runs(config)[0] == PlannedRun("ga", "pong", "large", 1)


def test_two_experiments_may_not_mean_different_things_by_one_run():
    experiments = {
        "one": experiment(runs=3),
        "two": experiment(
            games=["frostbite", "pong"], models=["LargeModel"], runs=[3], overrides={"frames": 77, "seed": 5}
        ),
    }
    with pytest.raises(
        NeurozooError, match=r"experiments\.one and experiments\.two both ask for ga/pong/large/3, but wi"
    ) as e:
        check_config({"experiments": experiments}, SCHEMA)
    assert "with another frames, seed." in str(e.value)
    experiments["two"]["runs"] = [4]
    check_config({"experiments": experiments}, SCHEMA)


def test_a_run_has_the_settings_of_its_experiment_and_any_other_run_those_of_its_algorithm():
    config = check_config(
        {
            "experiments": {"one": experiment(preset="uber2018", runs=[2], overrides={"frames": 1000})},
            "algorithms": {"ga": {"overrides": {"frames": 2000}}},
        },
        SCHEMA,
    )
    inside = run_settings(config, algo="ga", game="pong", model="large", run="2")
    outside = run_settings(config, algo="ga", game="pong", model="large", run="3")
    assert (inside["frames"], inside["population_size"]) == (1000, 1000)
    assert (outside["frames"], outside["population_size"]) == (2000, PRESETS["ga"]["demo"].population_size)
    assert run_settings(config, algo="rs", game="pong", model="large", run=1)["selection_threshold"] == 0
    assert set(inside) == {field.name for field in fields(GaSettings)}


def test_a_run_belongs_to_an_experiment_exactly_if_that_lists_it():
    config = checked(
        """
experiments:
  numbers: {algo: ga, games: [pong, ms_pacman], models: [LargeModel, small], runs: [2, 7], overrides: {seed: 5}}
  count: {algo: rs, games: [pong], models: [small], runs: 3, overrides: {seed: 5}}
"""
    )
    listed = planned_runs(config)
    assert len(listed) == 2 * 2 * 2 + 3
    for algo, game, model, run in itertools.product(
        ("ga", "rs"), ("pong", "ms_pacman", "alien"), ("large", "small"), range(9)
    ):
        seed = run_settings(config, algo=algo, game=game, model=model, run=run)["seed"]
        assert (seed == 5) == (PlannedRun(algo, game, model, run) in listed)


def test_finding_a_run_s_settings_costs_the_same_however_many_runs_are_planned(monkeypatch):
    calls = 0
    counted = configuration.get_network

    def get_network(name):
        nonlocal calls
        calls += 1
        return counted(name)

    monkeypatch.setattr(configuration, "get_network", get_network)
    costs = []
    for runs in (2, 200):
        text = f"experiments: {{demo: {{algo: ga, games: [pong, ms_pacman], models: [large], runs: {runs}}}}}"
        config, calls = checked(text), 0
        run_settings(config, algo="ga", game="pong", model="large", run=1)
        costs.append(calls)
    assert costs[0] == costs[1] > 0


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ({"algo": "gaa"}, "algorithm 'gaa' is unknown; did you mean 'ga'?"),
        ({"game": "pnog"}, "game 'pnog' is unknown; did you mean 'pong'?"),
        ({"model": "LargeModel"}, "network 'LargeModel' is unknown. Known: cells,"),
    ],
)
def test_a_run_with_a_wrong_name_has_no_settings(names, sentence):
    names = {"algo": "ga", "game": "pong", "model": "large", "run": 1} | names
    with pytest.raises(NeurozooError) as caught:
        run_settings(checked(DEMO), **names)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("algo", PRESETS)
def test_the_schema_lists_exactly_the_settings_that_exist_of_runs_and_of_experiments(algo):
    expected = {field.name for field in fields(PRESETS[algo]["demo"])}
    choice = definition(SCHEMA["properties"]["algorithms"]["properties"][algo])
    assert set(definition(choice["properties"]["overrides"])["properties"]) == expected
    branches = [part for part in SCHEMA["$defs"]["experiment"]["allOf"] if algo in algos_of(part)]
    assert len(branches) == 1
    assert set(definition(branches[0]["then"]["properties"]["overrides"])["properties"]) == expected


def test_the_schema_lists_exactly_the_algorithms_that_exist():
    assert set(SCHEMA["properties"]["algorithms"]["properties"]) == set(PRESETS)
    assert {algo for part in SCHEMA["$defs"]["experiment"]["allOf"] for algo in algos_of(part)} == set(PRESETS)


def definition(reference: dict) -> dict:
    return SCHEMA["$defs"][reference["$ref"].removeprefix("#/$defs/")]


def algos_of(part: dict) -> list[str]:
    return part["if"]["properties"]["algo"]["enum"]


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
            assert "description" in part or "$ref" in part, f"{place}.{key}"
            walk(part, f"{place}.{key}")

    walk(SCHEMA, "")
    for name, part in SCHEMA["$defs"].items():
        walk(part, name)


@pytest.mark.parametrize(
    "path", [PROJECT / "config.yaml", *sorted((PROJECT / "config").glob("*.yaml"))], ids=lambda path: path.stem
)
def test_the_configurations_of_the_project_are_right(path):
    config = check_config(yaml.safe_load(path.read_text()), SCHEMA)
    assert planned_runs(config) or imported_runs(config)


def test_config_yaml_spells_out_every_key_with_its_default():
    """Whoever copies the file sees all there is to set."""

    def keys(value: object, place: str = "") -> set[str]:
        if not isinstance(value, dict):
            return {place}
        return {key for name, part in value.items() for key in keys(part, f"{place}.{name}")} | {place}

    written = yaml.safe_load((PROJECT / "config.yaml").read_text())
    assert keys(written) == keys(check_config(written, SCHEMA))


# ---- genomes from elsewhere


def test_imports_need_no_experiments_and_become_runs_of_their_own():
    first = "a: {game: pong, model: Model, genome: [1, [2, 0.1]]}"
    config = checked(f"imports: {{{first}, b: {{game: pong, model: small, file: x, run: 2}}}}")
    assert planned_runs(config) == []
    assert imported_runs(config) == [PlannedRun("imported", "pong", "small", run) for run in (1, 2)]
    choices = import_choices(config, game="pong", model="small", run="1")
    assert (choices["file"], choices["source"]) == (None, "[1, [2, 0.1]]")
    choices = import_choices(config, game="pong", model="small", run="2")
    assert (choices["file"], choices["source"], choices["format"]) == ("x", "x", "auto")
    with pytest.raises(NeurozooError, match="imported/pong/small/3; they make: pong/small/1, pong/small/2"):
        import_choices(config, game="pong", model="small", run="3")


def test_runs_that_learn_in_epochs_have_phases():
    config = checked(
        "experiments: {a: {algo: dqn, games: [pong], models: [small]}, b: {algo: ga, games: [pong], models: [large]}}"
    )
    assert [(run.algo, run.model) for run in runs_with_phases(config)] == [("dqn", "small")]


def test_filters_are_shown_of_the_experiments_that_ask_for_it_as_far_as_they_have_a_meaning():
    assert filter_files(checked(DEMO)) == []
    text = """
experiments:
  atari: {algo: ga, games: [pong], models: [small]}
  river: {algo: ga, games: [river_crossing], models: [small], overrides: {protocol: river_faithful}}
  maze: {algo: ga, games: [hard_maze], models: [simple], overrides: {protocol: hard_maze}}
  other: {algo: rs, games: [pong], models: [small]}
filters: {experiments: [atari, river, maze], layers: [conv1], products: [weights, attribution, lean]}
"""
    config = checked(text)
    atari, river = (PlannedRun("ga", game, "small", 1) for game in ("pong", "river_crossing"))
    pictures = ("filters/weights_conv1.png", "filters/attribution.png")
    assert filter_files(config) == [
        *((atari, file) for file in (*pictures, "filters/lean.csv")),
        *((river, file) for file in pictures),
    ]
    assert runs_with_lean(config) == [atari, PlannedRun("rs", "pong", "small", 1)]


def test_settings_of_filters_are_those_of_the_functions():
    wanted = checked(DEMO)["filters"]
    assert set(wanted["products"]) == set(PRODUCTS)
    ascent = {field.name for field in fields(Ascent)}
    assert ascent | {"objective"} == set(wanted["synthetic"])
    assert set(wanted["inversion"]) <= ascent | {"observations"}
    for section, function in (("patches", draw_patches), ("attribution", draw_attribution)):
        defaults = {name: value.default for name, value in inspect.signature(function).parameters.items()}
        assert {key: defaults[key] for key in wanted[section]} == wanted[section]
    assert asdict(Ascent()) == {key: wanted["synthetic"][key] for key in ascent}


def test_layers_are_filmed_of_the_networks_that_have_them_and_grids_show_all_runs_of_a_game():
    config = checked(
        DEMO + "imports: {a: {game: pong, model: small, genome: [1]}}\nmovie: {layers: [conv3, fc], grids: [pong]}"
    )
    large, small = PlannedRun("ga", "pong", "large", 1), PlannedRun("imported", "pong", "small", 1)
    assert runs_with_layer(config, "conv3") == [large]
    assert runs_with_layer(config, "fc") == runs_of_game(config, "pong") == [large, small]
    with pytest.raises(NeurozooError, match="planned game 'frostbite' is unknown"):
        runs_of_game(config, "frostbite")


def test_generations_are_filmed_of_the_experiments_that_ask_for_it():
    assert filmed_runs(checked(DEMO)) == []
    config = checked(DEMO + "generations: {experiments: [demo]}")
    assert filmed_runs(config) == planned_runs(config) == [PlannedRun("ga", "pong", "large", 1)]


def test_a_dask_cluster_is_read_and_a_slip_in_it_is_found():
    assert checked(DEMO)["distributed"] is None
    assert checked(DEMO + "distributed: local workers=2")["distributed"] == "local workers=2"
    with pytest.raises(NeurozooError, match="distributed: key 'worker' is unknown; did you mean 'workers'"):
        checked(DEMO + "distributed: {cluster: slurm, worker: 3}")


@pytest.mark.parametrize(
    ("changes", "games"),
    [
        ({}, ["pong"]),
        ({"by": "model"}, ["frostbite"]),
        ({"by": "run"}, ["frostbite", "pong", "seaquest"]),
        ({"classify": False}, []),
    ],
)
def test_games_whose_runs_are_all_alike_are_not_classified(changes, games):
    config = checked(
        "comparisons: {games: [frostbite, pong, seaquest, asterix]}\n"
        "experiments:\n"
        "  a: {algo: ga, games: [frostbite], models: [small, LargeModel]}\n"
        "  b: {algo: ga, games: [pong, asterix], models: [large]}\n"
        "  c: {algo: es, games: [pong], models: [large]}\n"
        "  d: {algo: ga, games: [seaquest], models: [large], runs: 2}\n"
    )
    config["comparisons"] |= changes
    assert classified_games(config) == games


def test_noise_and_rollouts_of_scores_stand_beside_what_needs_no_rollout():
    others = "\nfilters: {experiments: [demo], products: [weights, lean]}\ncomparisons: {games: [pong]}"
    assert checked(DEMO + "rollout: {parameter_noise: 0.1, action_noise: 0.1, sticky_probability: 0.1}" + others)
    assert checked(DEMO + "rollout: {streamlined: true}" + others.partition("\ncomparisons")[0])
